package schema

import (
	"fmt"

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
	return t.change(kind, obj, false)
}

// Create brings an object of one kind to what validating admission sees when the object is new:
// what Default does, and the changes that the server's registry makes before validation (apiserver
// pkg/registry/generic/registry/store.go, create): addresses of services, the first generation, a
// fresh status, fields that a client cannot set or whose feature gate is off. It changes obj in
// place, as Default does; obj has its name, uid and creationTimestamp.
//
// What cannot be known is assumed: the addresses and ports that a server allocates to a service
// are fixed values, on a cluster with IPv4 only. The requester that the server writes into a
// CertificateSigningRequest is not filled in, see SetRequester.
func Create(t *Table, kind schema.GroupVersionKind, obj map[string]any) error {
	return t.change(kind, obj, true)
}

// change is Default, and Create if the object is new.
//
// Changes that depend on values are made on the Go type, those that do not on the JSON form. The
// server makes the former of a new object after all defaults; here they come before the defaults
// that do not depend on values, of which none of them reads any. So one decoding is enough.
func (t *Table) change(kind schema.GroupVersionKind, obj map[string]any, isNew bool) error {
	if k, ok := t.custom[kind.GroupKind()]; ok {
		v, ok := k.version(kind.Version)
		if !ok {
			return nil
		}
		if err := defaultCustom(v.schema, obj); err != nil || !isNew {
			return err
		}
		prepareCustom(v, obj)
		return nil
	}
	typed := newTyped(kind)
	if typed == nil {
		t.fill(kind, obj, isNew)
		return nil
	}
	if err := decode(obj, typed); err != nil {
		return fmt.Errorf("not a valid %s: %w", kind.Kind, err)
	}
	fillValues(typed, t.minor)
	if isNew {
		prepareValues(typed, t.minor)
	}
	c, err := encode(typed, kind)
	if err != nil {
		return fmt.Errorf("not a valid %s: %w", kind.Kind, err)
	}
	t.fill(kind, c, isNew)
	replace(obj, c)
	return nil
}

// fill makes the changes of the generated tables.
func (t *Table) fill(kind schema.GroupVersionKind, obj map[string]any, isNew bool) {
	if defaults := kindDefaults()[kind]; defaults != nil {
		defaults.apply(t.minor, obj)
	}
	if isNew {
		kindCreations()[kind].apply(t.minor, obj)
	}
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
