package policies_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
	holdschema "hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/policies/profile"
)

// TestTheListIsExact asks for one deletion under a list with one entry.
func TestTheListIsExact(t *testing.T) {
	deletion := func(identity, resource string, namespaces ...string) profile.Allowance {
		return profile.Allowance{Identity: identity, Operations: []string{"DELETE"}, Resources: []string{resource}, Namespaces: namespaces}
	}
	for name, c := range map[string]struct {
		entry   profile.Allowance
		by      string // writer, reader or a user of the group
		asked   string // resource[.group] [namespace]
		allowed bool
	}{
		"what is on the list":                             {deletion("writer", "pods", "app-*"), "writer", "pods app-sky", true},
		"the one of two namespaces":                       {deletion("writer", "pods", "a", "b"), "writer", "pods b", true},
		"the pattern with nothing for the star":           {deletion("writer", "pods", "app-*"), "writer", "pods app-", true},
		"another namespace":                               {deletion("writer", "pods", "app-*"), "writer", "pods apps", false},
		"a namespace that ends like it":                   {deletion("writer", "pods", "app-*"), "writer", "pods my-app-sky", false},
		"another resource":                                {deletion("writer", "pods", "app-*"), "writer", "podtemplates app-sky", false},
		"the resource of a group":                         {deletion("writer", "deployments.apps", "app-*"), "writer", "deployments.apps app-sky", true},
		"the group is part of the resource":               {deletion("writer", "events", "app-*"), "writer", "events.events.k8s.io app-sky", false},
		"a subresource is not the resource":               {deletion("writer", "pods/eviction", "app-*"), "writer", "pods app-sky", false},
		"the reader's list is not the writer's":           {deletion("reader", "pods", "app-*"), "writer", "pods app-sky", false},
		"the writer's list is not the reader's":           {deletion("writer", "pods", "app-*"), "reader", "pods app-sky", false},
		"the reader's list":                               {deletion("reader", "pods", "app-*"), "reader", "pods app-sky", true},
		"the group's list":                                {deletion("group", "pods", "app-*"), "somebody", "pods app-sky", true},
		"the group's list is for the writer in it too":    {deletion("group", "pods", "app-*"), "writer", "pods app-sky", true},
		"the writer's list is not the group's":            {deletion("writer", "pods", "app-*"), "somebody", "pods app-sky", false},
		"a cluster-scoped resource":                       {deletion("writer", "nodes"), "writer", "nodes", true},
		"a cluster-scoped resource in any namespace":      {deletion("writer", "nodes", "*"), "writer", "nodes", false},
		"a namespaced resource without namespaces":        {deletion("writer", "pods"), "writer", "pods app-sky", false},
		"a namespace is a cluster-scoped resource":        {deletion("writer", "namespaces"), "writer", "namespaces app-sky", true},
		"a namespace is in no namespace":                  {deletion("writer", "namespaces", "app-*"), "writer", "namespaces app-sky", false},
		"a deletion is neither a creation nor an update":  {profile.Allowance{Identity: "writer", Operations: []string{"CREATE", "UPDATE"}, Resources: []string{"pods"}, Namespaces: []string{"*"}}, "writer", "pods app-sky", false},
		"several operations on several resources are all": {profile.Allowance{Identity: "writer", Operations: []string{"CREATE", "DELETE"}, Resources: []string{"secrets", "pods"}, Namespaces: []string{"*"}}, "writer", "pods app-sky", true},
	} {
		p := profile.Builtin()[0]
		p.ClosedWorld.Allow = []profile.Allowance{c.entry}
		who, err := p.User(c.by)
		if err != nil {
			who = user.DefaultInfo{Name: c.by, Groups: []string{p.Federation.Group}}
		}
		set := compiled(t, render(t, p)).Only("writer-closed-world")
		if v := set.Evaluate(t.Context(), deleting(t, c.asked, who), harness.Options{}); (v.Decision == harness.Allowed) != c.allowed {
			t.Errorf("%s: %v", name, v.Decision)
		}
	}
}

// TestOneAccountMayDoWhatWriterAndReaderMay has one ServiceAccount for both.
func TestOneAccountMayDoWhatWriterAndReaderMay(t *testing.T) {
	p := profile.Builtin()[1]
	p.Identities.Reader = p.Identities.Writer
	p.ClosedWorld.Allow = []profile.Allowance{
		{Identity: "writer", Operations: []string{"DELETE"}, Resources: []string{"pods"}, Namespaces: []string{"app-*"}},
		{Identity: "reader", Operations: []string{"DELETE"}, Resources: []string{"leases.coordination.k8s.io"}, Namespaces: []string{"tower"}},
	}
	set := compiled(t, render(t, p)).Only("writer-closed-world")
	who := user.DefaultInfo{Name: p.Identities.Writer.Username()}
	for asked, allowed := range map[string]bool{"pods app-sky": true, "leases.coordination.k8s.io tower": true, "pods tower": false, "leases.coordination.k8s.io app-sky": false} {
		if v := set.Evaluate(t.Context(), deleting(t, asked, who), harness.Options{}); (v.Decision == harness.Allowed) != allowed {
			t.Errorf("%s: %v", asked, v.Decision)
		}
	}
}

// deleting is the deletion of an object called x: "pods app-sky".
func deleting(t *testing.T, asked string, who user.DefaultInfo) *harness.Prepared {
	t.Helper()
	resource, namespace, _ := strings.Cut(asked, " ")
	plural, group, _ := strings.Cut(resource, ".")
	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
	endpoint, ok := holdschema.BuiltIn(holdschema.Newest).Lookup(gvr, "")
	if !ok {
		t.Fatalf("%s is no resource", gvr)
	}
	apiVersion, kind := endpoint.Kind.ToAPIVersionAndKind()
	name := "x"
	if plural == "namespaces" {
		name = namespace // a request for a namespace is in it (apiserver pkg/endpoints/request/requestinfo.go)
	}
	prepared, err := harness.Prepare(harness.Request{
		Operation: admission.Delete, Resource: gvr, Kind: endpoint.Kind, Namespace: namespace, Name: name, User: who,
		OldObject: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}},
	}, harness.Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}
