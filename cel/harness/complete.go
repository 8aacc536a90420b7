package harness

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	holdschema "hangar.io/holdshort/cel/schema"
)

// Complete brings a request as a person writes it to the state in which validating policies see it
// on a server: API defaults, what the registry fills before admission, implied groups. Requests
// that were recorded on a server are complete already. It replaces r's objects by completed copies
// and does not modify what they pointed to. Values that the server draws at random (uid, the
// suffix of a generated name) are derived from the request, so that results repeat.
//
// Mutating plugins and webhooks of a cluster are not imitated: they differ from cluster to cluster.
func Complete(r *Request, c Cluster, now time.Time) error {
	t := c.resources()
	if err := r.completeEndpoint(t); err != nil {
		return err
	}
	r.completeUser()
	r.completeOptions()
	// A request for a namespace has its name, unless that is still to be generated (apiserver
	// pkg/endpoints/handlers/create.go).
	if r.Resource == namespaceResource && r.Namespace == "" {
		r.Namespace = cmp.Or(r.Name, objectName(r.Object, r.OldObject))
	}
	r.Object, r.OldObject = copyObject(r.Object), copyObject(r.OldObject)
	if r.Object != nil {
		if err := r.completeObject(t, now); err != nil {
			return fmt.Errorf("object: %w", err)
		}
	}
	if r.OldObject != nil {
		if err := r.completeOldObject(t, now); err != nil {
			return fmt.Errorf("oldObject: %w", err)
		}
	}
	r.deletion()
	if r.Operation == admission.Update && r.Object != nil && r.OldObject != nil {
		r.update(t)
	}
	return nil
}

// completeEndpoint fills kind, name and namespace from the resource and the objects.
func (r *Request) completeEndpoint(t *holdschema.Table) error {
	if endpoint, ok := t.Lookup(r.Resource, r.Subresource); ok {
		if r.Kind.Empty() {
			r.Kind = endpoint.Kind
		}
	}
	if r.Kind.Empty() {
		return fmt.Errorf("%s is not a known resource; give its CustomResourceDefinition, or kind and apiVersion", resourceName(r.Resource, r.Subresource))
	}
	if r.Name == "" && !r.Collection {
		r.Name = objectName(r.Object, r.OldObject)
	}
	return nil
}

// completeUser adds the groups that authentication implies: serviceaccount.MakeGroupNames, and
// system:authenticated or system:unauthenticated (apiserver pkg/authentication/group). Extra keys
// are in lower case (pkg/authentication/request/headerrequest and impersonation).
func (r *Request) completeUser() {
	groups := slices.Clone(r.User.Groups)
	add := func(g string) {
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	if namespace, _, err := serviceaccount.SplitUsername(r.User.Name); err == nil {
		for _, g := range serviceaccount.MakeGroupNames(namespace) {
			add(g)
		}
	}
	if r.User.Name == user.Anonymous {
		add(user.AllUnauthenticated)
	} else {
		add(user.AllAuthenticated)
	}
	r.User.Groups = groups
	if r.User.Extra != nil {
		extra := make(map[string][]string, len(r.User.Extra))
		for k, v := range r.User.Extra {
			extra[strings.ToLower(k)] = v
		}
		r.User.Extra = extra
	}
}

// completeOptions makes the options that a client without any sends.
func (r *Request) completeOptions() {
	kind := optionsKind(*r)
	if kind.Kind == "" {
		return // CONNECT has none
	}
	r.Options = maps.Clone(r.Options)
	if r.Options == nil {
		r.Options = map[string]any{}
	}
	r.Options["apiVersion"], r.Options["kind"] = kind.GroupVersion().String(), kind.Kind
	if r.DryRun && r.Options["dryRun"] == nil {
		r.Options["dryRun"] = []any{"All"}
	}
}

// completeObject makes the object what validating policies see.
func (r *Request) completeObject(t *holdschema.Table, now time.Time) error {
	r.identify(r.Object)
	if r.Operation != admission.Create || !r.storesObject(t) {
		return holdschema.Default(t, r.Kind, r.Object)
	}
	r.born(r.Object, now)
	if err := holdschema.Create(t, r.Kind, r.Object); err != nil {
		return err
	}
	holdschema.SetRequester(r.Kind, r.Object, &r.User)
	// A generated name is the request's too by the time that policies validate (apiserver
	// pkg/registry/rest/create.go, AdmissionToValidateObjectFunc).
	if r.Name == "" {
		r.Name = objectName(r.Object)
	}
	return nil
}

// identify sets what the decoder and the handler set: kind, namespace, name.
func (r *Request) identify(o map[string]any) {
	o["apiVersion"], o["kind"] = r.Kind.GroupVersion().String(), r.Kind.Kind
	if r.Operation == admission.Connect {
		return
	}
	m := metadata(o)
	if r.Namespace != "" && r.Resource != namespaceResource && m["namespace"] == nil {
		m["namespace"] = r.Namespace
	}
	if r.Name != "" && m["name"] == nil && m["generateName"] == nil {
		m["name"] = r.Name
	}
}

// storesObject reports whether a create stores the object it carries: subresources such as
// pods/eviction and the connect verbs do not.
func (r *Request) storesObject(t *holdschema.Table) bool {
	if r.Subresource != "" {
		// A token request is not stored either, but gets the account's uid and a time
		// (kubernetes pkg/registry/core/serviceaccount/storage/token.go, Create).
		return r.Subresource == "token" && r.Resource.Resource == "serviceaccounts"
	}
	endpoint, ok := t.Lookup(r.Resource, r.Subresource)
	return !ok || slices.Contains(endpoint.Verbs, "get")
}

// born fills what rest.BeforeCreate (apiserver pkg/registry/rest/create.go) gives a new object.
func (r *Request) born(o map[string]any, now time.Time) {
	m := metadata(o)
	if prefix, ok := m["generateName"].(string); ok && m["name"] == nil {
		m["name"] = prefix + "x7k2p"
	}
	if m["uid"] == nil {
		m["uid"] = r.uid(m)
	}
	if m["creationTimestamp"] == nil {
		m["creationTimestamp"] = now.UTC().Format(time.RFC3339)
	}
}

// completeOldObject fills what an object that has been stored has, and leaves what it says of
// itself.
func (r *Request) completeOldObject(t *holdschema.Table, now time.Time) error {
	o := r.OldObject
	r.identify(o)
	fresh := copyObject(o)
	r.born(fresh, now)
	if err := holdschema.Create(t, r.Kind, fresh); err != nil {
		return err
	}
	if err := holdschema.Default(t, r.Kind, o); err != nil {
		return err
	}
	m, born := metadata(o), metadata(fresh)
	for _, field := range []string{"name", "uid", "creationTimestamp", "generation"} {
		if v, ok := born[field]; ok && m[field] == nil {
			m[field] = v
		}
	}
	for _, field := range []string{"spec", "status"} {
		if v, ok := fresh[field].(map[string]any); ok {
			has, _ := o[field].(map[string]any)
			o[field] = fill(has, v)
		}
	}
	return nil
}

// fill adds to an object what another has besides.
func fill(o, from map[string]any) map[string]any {
	if o == nil {
		o = map[string]any{}
	}
	for k, v := range from {
		inner, isMap := v.(map[string]any)
		has, hasMap := o[k].(map[string]any)
		switch {
		case o[k] == nil:
			o[k] = v
		case isMap && hasMap:
			fill(has, inner)
		}
	}
	return o
}

// uid has the form of a random UUID (RFC 9562 section 5.4) and is the same for the same object.
func (r *Request) uid(m map[string]any) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s/%v/%v", r.Resource, m["namespace"], m["name"]))
	h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// update carries over from the old object what an update cannot change
// (apiserver pkg/registry/rest/update.go, BeforeUpdate, and the resources' strategies).
func (r *Request) update(t *holdschema.Table) {
	m, old := metadata(r.Object), metadata(r.OldObject)
	for _, field := range []string{"uid", "creationTimestamp", "resourceVersion", "generation", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		if v, ok := old[field]; ok && m[field] == nil {
			m[field] = v
		}
	}
	_, hasStatus := t.Lookup(r.Resource, "status")
	switch r.Subresource {
	case "":
		if hasStatus {
			carry(r.Object, r.OldObject, "status")
		}
		if r.Resource == namespaceResource {
			// A namespace's spec is its finalizers, which have a subresource of their own
			// (kubernetes pkg/registry/core/namespace/strategy.go, PrepareForUpdate).
			carry(r.Object, r.OldObject, "spec")
		}
		if g, ok := old["generation"].(int64); ok && !reflect.DeepEqual(r.Object["spec"], r.OldObject["spec"]) {
			m["generation"] = g + 1
		}
	case "status":
		carry(r.Object, r.OldObject, "spec")
		r.updatePodStatus()
	case "ephemeralcontainers":
		r.updateEphemeralContainers()
	case "resize":
		r.resizePod()
	}
}

func carry(to, from map[string]any, field string) {
	delete(to, field)
	if v, ok := from[field]; ok {
		to[field] = runtime.DeepCopyJSONValue(v)
	}
}

// metadata returns the metadata of o, which gets one if it has none. What is no map stays, for the
// decoder to refuse.
func metadata(o map[string]any) map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		if o["metadata"] == nil {
			o["metadata"] = m
		}
	}
	return m
}

// objectName is the name that the server takes from the object when the path has none
// (apiserver pkg/endpoints/handlers/create.go).
func objectName(objects ...map[string]any) string {
	for _, o := range objects {
		if m, ok := o["metadata"].(map[string]any); ok {
			if name, ok := m["name"].(string); ok {
				return name
			}
		}
	}
	return ""
}

func copyObject(o map[string]any) map[string]any {
	if o == nil {
		return nil
	}
	return runtime.DeepCopyJSON(o)
}

func resourceName(gvr schema.GroupVersionResource, subresource string) string {
	return strings.TrimSuffix(strings.TrimSuffix(gvr.Resource+"/"+subresource, "/")+"."+gvr.Group, ".")
}
