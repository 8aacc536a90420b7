package parity

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/e2e/kit/world"
)

// outgoing is the request as a client sends it.
//
// An update is what a client makes of the stored object: it reads it, with all that plugins have
// added to it, changes what the fixture changes (defaults included: fields that the fixture leaves
// out are left out), and sends that. And a ServiceAccount that is
// impersonated with groups gets only those, while one that authenticates has its own in any case.
func (j *Judge) outgoing(ctx context.Context, written, completed harness.Request) (harness.Request, error) {
	r := written
	if _, _, err := serviceaccount.SplitUsername(r.User.Name); err == nil && len(r.User.Groups) > 0 {
		r.User.Groups = completed.User.Groups
	}
	if r.Operation != admission.Update || !world.Whole(r.Subresource) {
		return r, nil
	}
	namespace := r.Namespace
	if r.Resource == namespaces {
		namespace = ""
	}
	stored, err := j.world.Get(ctx, r.Resource, namespace, r.Name)
	if err != nil {
		return r, fmt.Errorf("the object to update: %w", err)
	}
	before, after := r.OldObject, r.Object
	if r.Subresource == "" {
		before, after = completed.OldObject, completed.Object
	}
	changed := change(stored.Object, own(before), own(after))
	object, ok := changed.(map[string]any)
	if !ok {
		return r, fmt.Errorf("the update is not an object")
	}
	(&unstructured.Unstructured{Object: object}).SetResourceVersion(stored.GetResourceVersion())
	r.Object = object
	return r, nil
}

// own is an object without what the server says of it.
func own(o map[string]any) map[string]any {
	o = runtime.DeepCopyJSON(o)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o, "metadata", field)
	}
	return o
}

// change makes the change from before to after on another value: what both agree on stays as it
// is there, and elements that only it has at the end of a list stay.
func change(value, before, after any) any {
	if reflect.DeepEqual(before, after) && value != nil {
		return value
	}
	if a, ok := after.(map[string]any); ok {
		return changeMap(value, before, a)
	}
	if a, ok := after.([]any); ok {
		return changeList(value, before, a)
	}
	return after
}

func changeMap(value, before any, after map[string]any) any {
	v, _ := value.(map[string]any)
	b, _ := before.(map[string]any)
	out := maps.Clone(v)
	if out == nil {
		out = map[string]any{}
	}
	for key := range b {
		if _, kept := after[key]; !kept {
			delete(out, key)
		}
	}
	for key := range after {
		out[key] = change(v[key], b[key], after[key])
	}
	return out
}

func changeList(value, before any, after []any) any {
	v, _ := value.([]any)
	b, _ := before.([]any)
	out := []any{}
	for i := range after {
		var vi, bi any
		if i < len(v) && i < len(b) {
			vi, bi = v[i], b[i]
		}
		out = append(out, change(vi, bi, after[i]))
	}
	if len(v) > len(b) {
		out = append(out, v[len(b):]...)
	}
	return out
}
