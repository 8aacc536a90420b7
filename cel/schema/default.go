package schema

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Default brings an object of one kind to what the API server holds after decoding it: fields
// that are not part of the kind are dropped, values are in their canonical form, and API defaults
// are filled. It changes obj in place; obj is in its JSON form, with numbers as int64 or float64.
//
// An object that the server could not decode is left unchanged, and the error says where its
// value has a wrong type. A kind that the table does not know is left unchanged.
func Default(t *Table, kind schema.GroupVersionKind, obj map[string]any) error {
	if k, ok := t.custom[kind.GroupKind()]; ok {
		v, ok := k.version(kind.Version)
		if !ok {
			return nil
		}
		return defaultCustom(v.schema, obj)
	}
	return defaultBuiltIn(t, kind, obj)
}

// PrepareForCreate makes the changes that the server makes to a new object after its defaults and
// before validating admission sees it (apiserver pkg/registry/generic/registry/store.go, create):
// addresses of services, the first generation, a fresh status, fields that a client cannot set or
// whose feature gate is off. It changes obj in place; obj has been through Default, has its name,
// uid and creationTimestamp, and has been mutated by admission. Pass the very object that Default
// filled, not a copy: a job's labels and its template's are one map then, as they are on the
// server.
//
// What cannot be known is assumed: the addresses and ports that a server allocates to a service
// are fixed values, on a cluster with IPv4 only. The requester that the server writes into a
// CertificateSigningRequest is not filled in, see SetRequester.
func PrepareForCreate(t *Table, kind schema.GroupVersionKind, obj map[string]any) error {
	if k, ok := t.custom[kind.GroupKind()]; ok {
		if v, ok := k.version(kind.Version); ok {
			prepareCustom(v, obj)
		}
		return nil
	}
	typed := newTyped(kind)
	if typed == nil {
		kindCreations()[kind].apply(t.minor, obj)
		return nil
	}
	if err := decode(obj, typed); err != nil {
		return fmt.Errorf("not a valid %s: %w", kind.Kind, err)
	}
	if job, ok := typed.(*batchv1.Job); ok && labelsShared(obj) {
		job.Labels = job.Spec.Template.Labels
	}
	prepareValues(typed, t.minor)
	c, err := encode(typed, kind)
	if err != nil {
		return fmt.Errorf("not a valid %s: %w", kind.Kind, err)
	}
	kindCreations()[kind].apply(t.minor, c)
	replace(obj, c)
	return nil
}

// prepareCustom: apiextensions-apiserver pkg/registry/customresource/strategy.go.
func prepareCustom(v customVersion, obj map[string]any) {
	if v.status {
		delete(obj, "status")
	}
	setGeneration(obj)
}

// SetRequester writes who made the request into a new CertificateSigningRequest, as the server
// does in PrepareForCreate (kubernetes pkg/registry/certificates/certificates/strategy.go). It
// leaves objects of other kinds as they are.
func SetRequester(kind schema.GroupVersionKind, obj map[string]any, u user.Info) {
	spec, ok := obj["spec"].(map[string]any)
	if !ok || kind.GroupKind() != (schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}) {
		return
	}
	for _, f := range []string{"username", "uid", "groups", "extra"} {
		delete(spec, f)
	}
	if u.GetName() != "" {
		spec["username"] = u.GetName()
	}
	if u.GetUID() != "" {
		spec["uid"] = u.GetUID()
	}
	if len(u.GetGroups()) > 0 {
		spec["groups"] = anyList(u.GetGroups())
	}
	if len(u.GetExtra()) > 0 {
		extra := map[string]any{}
		for k, v := range u.GetExtra() {
			extra[k] = anyList(v)
		}
		spec["extra"] = extra
	}
}

func anyList(s []string) []any {
	out := make([]any, len(s))
	for i := range s {
		out[i] = s[i]
	}
	return out
}

func defaultBuiltIn(t *Table, kind schema.GroupVersionKind, obj map[string]any) error {
	table := kindDefaults()[kind]
	typed := newTyped(kind)
	if typed == nil {
		if table != nil {
			table.apply(t.minor, obj)
		}
		return nil
	}
	if err := decode(obj, typed); err != nil {
		return fmt.Errorf("not a valid %s: %w", kind.Kind, err)
	}
	fillValues(typed, t.minor)
	c, err := encode(typed, kind)
	if err != nil {
		return fmt.Errorf("not a valid %s: %w", kind.Kind, err)
	}
	if table != nil {
		table.apply(t.minor, c)
	}
	shareLabels(typed, c)
	replace(obj, c)
	return nil
}

// replace gives dst the content of src.
func replace(dst, src map[string]any) {
	clear(dst)
	for k, v := range src {
		dst[k] = v
	}
}

// copyJSON copies an object, or says why it is not one of JSON's values.
func copyJSON(obj map[string]any) (c map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not a JSON object: %v", r)
		}
	}()
	return runtime.DeepCopyJSON(obj), nil
}
