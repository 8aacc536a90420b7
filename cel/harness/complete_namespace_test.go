package harness_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
)

func TestARequestForANamespaceHasItsName(t *testing.T) {
	for _, tc := range []struct {
		name      string
		operation admission.Operation
		named     string // the request's own name
		metadata  string
		want      string
	}{
		{"of a new one", admission.Create, "", `{metadata: {name: a}}`, "a"},
		{"unless that is still to be generated", admission.Create, "", `{metadata: {generateName: a-}}`, ""},
		{"that the path tells", admission.Delete, "a", `{metadata: {labels: {a: b}}}`, "a"},
		{"of each of a collection", admission.Delete, "", `{metadata: {name: a}}`, "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := harness.Request{Operation: tc.operation, Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Name: tc.named}
			if tc.operation == admission.Create {
				r.Object = object(t, tc.metadata)
			} else {
				r.OldObject = object(t, tc.metadata)
				r.Collection = tc.named == ""
			}
			if err := harness.Complete(&r, harness.Cluster{}, time.Now()); err != nil {
				t.Fatal(err)
			}
			if r.Namespace != tc.want {
				t.Errorf("the namespace is %q, expected %q", r.Namespace, tc.want)
			}
		})
	}
}
