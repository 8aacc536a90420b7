package proof

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/schema"
)

// Skeleton is an object that a search for witnesses begins with.
type Skeleton struct {
	Kind kschema.GroupVersionKind
	// Form counts the skeletons of a kind.
	Form   int
	Object map[string]any
}

// ReadSkeletons reads the skeletons of cel/witness.
func ReadSkeletons(file string) ([]Skeleton, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var entries []struct {
		Kinds  []string         `json:"kinds"`
		Object map[string]any   `json:"object"`
		Others []map[string]any `json:"others"`
	}
	if err := yaml.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []Skeleton
	for _, e := range entries {
		for _, kind := range e.Kinds {
			i := strings.LastIndexByte(kind, '/')
			gvk := kschema.FromAPIVersionAndKind(kind[:i], kind[i+1:])
			for form, o := range append([]map[string]any{e.Object}, e.Others...) {
				all = append(all, Skeleton{gvk, form, runtime.DeepCopyJSON(integers(o))})
			}
		}
	}
	return all, nil
}

// ReadObjects reads the objects of a file of many documents.
func ReadObjects(file string) ([]*unstructured.Unstructured, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []*unstructured.Unstructured
	for d := kyaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		object := map[string]any{}
		if err := d.Decode(&object); err != nil {
			if len(all) == 0 || err.Error() != "EOF" {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			return all, nil
		}
		all = append(all, &unstructured.Unstructured{Object: integers(object)})
	}
}

// integers has int64 where the decoder reads whole numbers as floats.
func integers(o map[string]any) map[string]any {
	out, _ := integer(o).(map[string]any)
	return out
}

func integer(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = integer(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = integer(v[k])
		}
	}
	return v
}

// endpointOf is where objects of a kind are created: the resource itself, or the subresource that takes
// them, with the resource that it belongs to.
func endpointOf(t *schema.Table, kind kschema.GroupVersionKind) (schema.Resource, bool) {
	if r, ok := t.ForKind(kind); ok && r.Subresource == "" && r.Serves("create") {
		return r, true
	}
	for _, r := range t.Resources() {
		if r.Kind == kind && r.Subresource != "" && (r.Serves("create") || r.Serves("update")) {
			return r, true
		}
	}
	return schema.Resource{}, false
}

// Named is the skeleton as an object of a namespace.
func (k Skeleton) Named(namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(k.Object)}
	o.SetGroupVersionKind(k.Kind)
	o.SetName("web")
	o.SetNamespace(namespace)
	switch k.Kind.Kind { // kinds whose names follow from what they describe
	case "CustomResourceDefinition":
		o.SetName("webs.example.com")
	case "APIService":
		o.SetName("v1.example.com")
	}
	if r, ok := builtIn.ForKind(k.Kind); ok && !r.Namespaced {
		o.SetNamespace("")
	}
	return o
}
