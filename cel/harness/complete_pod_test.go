package harness_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
)

func TestAPodsSubresourcesTakeTheirPartOfAnUpdate(t *testing.T) {
	const old = `{metadata: {name: web, generation: 3, labels: {app: web}}, status: {phase: Running, qosClass: Burstable},
	  spec: {containers: [{name: web, image: "a:1", resources: {requests: {cpu: "1"}}}]}}`
	for _, tc := range []struct {
		name, subresource, update string
		path                      []string
		want                      any
	}{
		{"a status that leaves out its class keeps it", "status", `{status: {phase: Failed}}`, []string{"status", "qosClass"}, "Burstable"},
		{"a status changes what it says", "status", `{status: {phase: Failed}}`, []string{"status", "phase"}, "Failed"},
		{"a resize keeps the status", "resize", `{spec: {containers: [{name: web, image: "a:1"}]}}`, []string{"status", "phase"}, "Running"},
		{"a resize keeps labels", "resize", `{metadata: {labels: {app: db}}, spec: {containers: [{name: web, image: "a:1"}]}}`, []string{"metadata", "labels", "app"}, "web"},
		{"a resize is a generation", "resize", `{spec: {containers: [{name: web, image: "a:1", resources: {requests: {cpu: "2"}}}]}}`, []string{"metadata", "generation"}, int64(4)},
		{"a resize to the same is none", "resize", `{spec: {containers: [{name: web, image: "a:2", resources: {requests: {cpu: "1"}}}]}}`, []string{"metadata", "generation"}, int64(3)},
		{"a resize that renames is left for the server to refuse", "resize", `{spec: {containers: [{name: app, image: "a:2"}]}}`, []string{"status", "phase"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := harness.Request{
				Operation: admission.Update, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Subresource: tc.subresource,
				Object: object(t, tc.update), OldObject: object(t, old),
			}
			if err := harness.Complete(&r, harness.Cluster{}, time.Now()); err != nil {
				t.Fatal(err)
			}
			if got, _, err := unstructured.NestedFieldNoCopy(r.Object, tc.path...); err != nil || got != tc.want {
				t.Errorf("%v is %v, expected %v (%v)", tc.path, got, tc.want, err)
			}
		})
	}
}
