package differ_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/e2e/kit/differ"
)

func pod() harness.Request {
	return harness.Request{
		Operation: "CREATE", Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Name: "a-x7k2p",
		User: user.DefaultInfo{Name: "u", Groups: []string{"b", "a"}},
		Object: map[string]any{
			"metadata": map[string]any{"name": "a-x7k2p", "uid": "1", "at": "2026-01-02T03:04:05Z", "labels": map[string]any{"owner": "uid-1"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "c"}}},
		},
	}
}

func TestEachDifferenceHasItsCauseOrNone(t *testing.T) {
	for _, tc := range []struct {
		name  string
		edit  func(r *harness.Request, meta, spec map[string]any)
		path  string // of the one difference; empty: none
		cause string // part of it
	}{
		{"the order of groups", func(r *harness.Request, _, _ map[string]any) { r.User.Groups = []string{"a", "b"} }, "", ""},
		{"a drawn uid", func(_ *harness.Request, m, _ map[string]any) {
			m["uid"], m["labels"] = "2", map[string]any{"owner": "uid-2"}
		}, "object.metadata.labels.owner object.metadata.uid", "drawn"},
		{"a drawn name", func(r *harness.Request, m, _ map[string]any) { m["name"], r.Name = "a-zzzzz", "a-zzzzz" }, "name object.metadata.name", "drawn"},
		{"the time of the request", func(_ *harness.Request, m, _ map[string]any) { m["at"] = "2026-01-02T03:04:06Z" }, "object.metadata.at", "drawn"},
		{"another time", func(_ *harness.Request, m, _ map[string]any) { m["at"] = "2026-01-02T04:04:05Z" }, "object.metadata.at", ""},
		{"a plugin's mounts", func(_ *harness.Request, _, s map[string]any) {
			s["containers"].([]any)[0].(map[string]any)["volumeMounts"] = []any{"token"}
		}, "object.spec.containers[0].volumeMounts", "ServiceAccount"},
		{"a lost label", func(_ *harness.Request, m, _ map[string]any) { delete(m, "labels") }, "object.metadata.labels", ""},
		{"a default that the harness does not know", func(_ *harness.Request, _, s map[string]any) { s["dnsPolicy"] = "ClusterFirst" }, "object.spec.dnsPolicy", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			recorded := pod()
			recorded.Object = runtime.DeepCopyJSON(recorded.Object)
			tc.edit(&recorded, recorded.Object["metadata"].(map[string]any), recorded.Object["spec"].(map[string]any))
			var paths []string
			for _, d := range differ.Requests(pod(), recorded) {
				paths = append(paths, d.Path)
				if (tc.cause == "") != (d.Cause == "") || !strings.Contains(d.Cause, tc.cause) {
					t.Errorf("%s has the cause %q", d, d.Cause)
				}
			}
			if got := strings.Join(paths, " "); got != tc.path {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestATallyCountsRequestsAndPlaces(t *testing.T) {
	tally := differ.NewTally()
	tally.Add([]differ.Difference{{Path: "a[0]", Cause: "x"}, {Path: "a[1]", Cause: "x"}, {Path: "b"}})
	tally.Add([]differ.Difference{{Path: "c", Cause: "x"}})
	var out strings.Builder
	tally.Print(&out)
	if tally.Unexplained() != 1 || !strings.Contains(out.String(), "x            2         3       a[], c") {
		t.Errorf("%d unexplained in\n%s", tally.Unexplained(), &out)
	}
}
