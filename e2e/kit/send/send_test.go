package send

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

var (
	pods        = kschema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodes       = kschema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	deployments = kschema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

func TestEachOperationGoesToItsEndpoint(t *testing.T) {
	named := map[string]any{"metadata": map[string]any{"name": "a", "uid": "u", "resourceVersion": "7"}}
	for _, tc := range []struct {
		name, method, path, body string
		request                  harness.Request
	}{
		{"a create goes to the collection, with its options", "POST", "/api/v1/namespaces/n/pods?fieldManager=m", `{"metadata":{"name":"a","uid":"u"}}`,
			harness.Request{Operation: admission.Create, Resource: pods, Namespace: "n", Name: "a", Object: named, Options: map[string]any{"kind": "CreateOptions", "fieldManager": "m"}}},
		{"a create of a subresource goes to the object", "POST", "/api/v1/namespaces/n/pods/a/eviction?dryRun=All", `{"metadata":{"name":"a","uid":"u"}}`,
			harness.Request{Operation: admission.Create, Resource: pods, Subresource: "eviction", Namespace: "n", Name: "a", Object: named, DryRun: true}},
		{"an update keeps the resourceVersion only", "PUT", "/apis/apps/v1/namespaces/n/deployments/a/scale", `{"metadata":{"name":"a","resourceVersion":"7"}}`,
			harness.Request{Operation: admission.Update, Resource: deployments, Subresource: "scale", Namespace: "n", Name: "a", Object: named}},
		{"a delete has its options in the body", "DELETE", "/api/v1/nodes/a", `{"apiVersion":"v1","gracePeriodSeconds":0,"kind":"DeleteOptions"}`,
			harness.Request{Operation: admission.Delete, Resource: nodes, Name: "a", OldObject: named, Options: map[string]any{"gracePeriodSeconds": int64(0)}}},
		{"a delete of a collection selects the one object", "DELETE", "/api/v1/namespaces/n/pods?fieldSelector=metadata.name%3Da", `{"apiVersion":"v1","kind":"DeleteOptions"}`,
			harness.Request{Operation: admission.Delete, Resource: pods, Namespace: "n", Collection: true, OldObject: named}},
		{"an exec has its options in the query", "POST", "/api/v1/namespaces/n/pods/a/exec?command=sh&command=-c&stdin=true", "",
			harness.Request{Operation: admission.Connect, Resource: pods, Subresource: "exec", Namespace: "n", Name: "a", Object: map[string]any{
				"kind": "PodExecOptions", "command": []any{"sh", "-c"}, "stdin": true}}},
		{"a parameter that is null is not there", "POST", "/api/v1/namespaces/n/pods/a/exec?stdin=true", "",
			harness.Request{Operation: admission.Connect, Resource: pods, Subresource: "exec", Namespace: "n", Name: "a", Object: map[string]any{
				"kind": "PodExecOptions", "command": nil, "stdin": true}}},
		{"a proxy has its path in the path", "POST", "/api/v1/nodes/a/proxy/run/x", "",
			harness.Request{Operation: admission.Connect, Resource: nodes, Subresource: "proxy", Name: "a", Object: map[string]any{"path": "/run/x"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := newCall(schema.BuiltIn(schema.Newest), tc.request)
			if err != nil {
				t.Fatal(err)
			}
			if c.method != tc.method || c.path() != tc.path || string(c.body) != tc.body {
				t.Errorf("got %s %s %s", c.method, c.path(), c.body)
			}
		})
	}
}

func TestADryRunOfConnectIsUnsendable(t *testing.T) {
	_, err := newCall(schema.BuiltIn(schema.Newest), harness.Request{Operation: admission.Connect, Resource: pods, Subresource: "exec", Name: "a", DryRun: true})
	var unsendable *Unsendable
	if !errors.As(err, &unsendable) {
		t.Fatalf("got %v", err)
	}
}

func TestWarningsAreReadWithQuotesAndCommas(t *testing.T) {
	h := http.Header{"Warning": {`299 - "first, with a \"quote\""`, `299 - "second"`}}
	if got := warnings(h); !slices.Equal(got, []string{`first, with a "quote"`, "second"}) {
		t.Fatalf("got %q", got)
	}
}
