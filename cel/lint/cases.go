package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/schema"
)

// Case is one form of the requests that a policy matches.
type Case struct {
	Operation   admission.Operation
	Resource    kschema.GroupVersionResource
	Subresource string
	// Kind of the object; empty: of any kind, with any fields.
	Kind       kschema.GroupVersionKind
	Namespaced bool
	// AnyResource: the rule has a star, and the case stands for all resources that have no case.
	AnyResource bool
}

// String is the case as in "CREATE pods/ephemeralcontainers".
func (c Case) String() string {
	if c.AnyResource {
		if c.Subresource != "" {
			return string(c.Operation) + " of any resource/" + c.Subresource
		}
		return string(c.Operation) + " of any resource"
	}
	name := c.Resource.Resource
	if c.Resource.Group != "" {
		name += "." + c.Resource.Group
	}
	if c.Subresource != "" {
		plural, group, _ := strings.Cut(name, ".")
		name = strings.TrimSuffix(plural+"."+group, ".") + "/" + c.Subresource
	}
	return fmt.Sprintf("%s %s (%s)", c.Operation, name, c.Resource.Version)
}

// connects are the subresources whose requests are connections.
var connects = map[string]bool{"exec": true, "attach": true, "portforward": true, "proxy": true}

// casesOf are the requests that the constraints of a policy match.
func casesOf(m *admissionv1.MatchResources, t *schema.Table) []Case {
	var out []Case
	if m == nil {
		return nil
	}
	for _, r := range m.ResourceRules {
		for _, op := range operationsOf(r.Operations) {
			for _, group := range r.APIGroups {
				for _, version := range r.APIVersions {
					for _, resource := range r.Resources {
						out = append(out, casesOfRule(t, op, group, version, resource, r.Scope)...)
					}
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Case) int {
		return cmp.Or(cmp.Compare(a.Resource.String(), b.Resource.String()), cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Operation, b.Operation))
	})
	return slices.Compact(out)
}

func operationsOf(list []admissionv1.OperationType) []admission.Operation {
	var out []admission.Operation
	for _, o := range list {
		if o == admissionv1.OperationAll {
			return []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect}
		}
		out = append(out, admission.Operation(o))
	}
	return out
}

func casesOfRule(t *schema.Table, op admission.Operation, group, version, resource string, scope *admissionv1.ScopeType) []Case {
	name, subresource, _ := strings.Cut(resource, "/")
	inScope := func(namespaced bool) bool {
		return scope == nil || *scope == admissionv1.AllScopes || namespaced == (*scope == admissionv1.NamespacedScope)
	}
	if group == "*" || name == "*" {
		subresources := []string{subresource}
		if subresource == "*" { // resources are among what */* matches
			subresources = []string{"", "*"}
		}
		var out []Case
		for _, namespaced := range []bool{true, false} {
			for _, sub := range subresources {
				if inScope(namespaced) {
					out = append(out, Case{Operation: op, Subresource: sub, AnyResource: true, Namespaced: namespaced})
				}
			}
		}
		return out
	}
	var out []Case
	for _, r := range t.Resources() {
		if r.GVR.Group != group || r.GVR.Resource != name || version != "*" && r.GVR.Version != version || !inScope(r.Namespaced) {
			continue
		}
		if r.Subresource != subresource && !(subresource == "*" && r.Subresource != "") || (op == admission.Connect) != connects[r.Subresource] {
			continue
		}
		if !serves(op, r) {
			continue
		}
		out = append(out, Case{Operation: op, Resource: r.GVR, Subresource: r.Subresource, Kind: r.Kind, Namespaced: r.Namespaced})
	}
	if len(out) == 0 && !known(t, group, name) {
		// A resource that nothing describes: an object of any form.
		gvr := kschema.GroupVersionResource{Group: group, Version: version, Resource: name}
		for _, namespaced := range []bool{true, false} {
			if inScope(namespaced) {
				out = append(out, Case{Operation: op, Resource: gvr, Subresource: subresource, Namespaced: namespaced})
			}
		}
	}
	return out
}

// serves tells whether a resource has requests of an operation.
func serves(op admission.Operation, r schema.Resource) bool {
	switch op {
	case admission.Create:
		return r.Serves("create")
	case admission.Update:
		return r.Serves("update") || r.Serves("patch")
	case admission.Delete:
		return r.Serves("delete") || r.Serves("deletecollection")
	}
	return true
}

func known(t *schema.Table, group, name string) bool {
	return slices.ContainsFunc(t.Resources(), func(r schema.Resource) bool { return r.GVR.Group == group && r.GVR.Resource == name })
}
