package policies_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies/profile"
)

// TestWithoutACatalogNoRunIsStarted fills in nothing where the Profile names nothing.
func TestWithoutACatalogNoRunIsStarted(t *testing.T) {
	for name, c := range map[string]struct {
		pipeline profile.Pipeline
		refused  string
	}{
		"both":       {profile.Pipeline{Catalog: "catalog", ServiceAccount: "runner"}, ""},
		"no catalog": {profile.Pipeline{ServiceAccount: "runner"}, "pipeline-ref"},
		"no account": {profile.Pipeline{Catalog: "catalog"}, "service-account"},
	} {
		p := profile.Builtin()[0]
		p.Pipeline = c.pipeline
		params := []any{}
		for k, v := range map[string]string{"kind": "pipeline", "name": "build", "namespace": p.Pipeline.Catalog} {
			params = append(params, map[string]any{"name": k, "value": v})
		}
		prepared, err := harness.Prepare(harness.Request{
			Operation: admission.Create, Resource: schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "pipelineruns"},
			Kind: schema.GroupVersionKind{Group: "tekton.dev", Version: "v1", Kind: "PipelineRun"}, Namespace: "app-sky-cicd", Name: "run",
			Object: map[string]any{"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": map[string]any{"name": "run"}, "spec": map[string]any{
				"pipelineRef":     map[string]any{"resolver": "cluster", "params": params},
				"taskRunTemplate": map[string]any{"serviceAccountName": p.Pipeline.ServiceAccount},
			}},
			User: user.DefaultInfo{Name: p.Identities.Pipeline.Username()},
		}, harness.Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		v := compiled(t, render(t, p)).Only("pipelinerun-shape").Evaluate(t.Context(), prepared, harness.Options{})
		var refused string
		for _, d := range v.Denials {
			refused += d.Validation
		}
		if refused != c.refused || v.Decision == harness.Undecided {
			t.Errorf("%s: %v, refused by %q", name, v.Decision, refused)
		}
	}
}
