package request

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// review is an AdmissionReview with these fields of its request instead of the usual ones; a
// field set to null is absent.
func review(t testing.TB, fields string) string {
	t.Helper()
	request := map[string]json.RawMessage{}
	for _, text := range []string{`{
		"uid": "u1", "operation": "CREATE", "name": "p", "namespace": "ns", "dryRun": false,
		"kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
		"userInfo": {"username": "alice", "uid": "7", "groups": ["devs"], "extra": {"k": ["v"]}},
		"object": ` + podJSON + `, "oldObject": null, "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}}`, fields} {
		if err := json.Unmarshal([]byte(text), &request); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range request {
		if string(v) == "null" {
			delete(request, k)
		}
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReviewsAreTakenAsTheyAre(t *testing.T) {
	const options = ` options={"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"}`
	for _, c := range []struct{ name, fields, want string }{
		{"a create", `{}`, `CREATE v1/pods Pod ns/p object=` + podJSON + options + ` by alice completed`},
		{"a create with a generated name", `{"name": null}`, `CREATE v1/pods Pod ns/p object=` + podJSON + options + ` by alice completed`},
		{"a dry run", `{"dryRun": true}`, `CREATE v1/pods Pod ns/p object=` + podJSON + options + ` by alice dry completed`},
		{"an update of a subresource", `{"operation": "UPDATE", "subResource": "status", "oldObject": ` + podJSON + `, "options": null}`, `UPDATE v1/pods/status Pod ns/p object=` + podJSON + ` old=` + podJSON + ` by alice completed`},
		{"a delete", `{"operation": "DELETE", "object": null, "oldObject": ` + podJSON + `, "options": null}`, `DELETE v1/pods Pod ns/p old=` + podJSON + ` by alice completed`},
		{"a part of a deletecollection", `{"operation": "DELETE", "name": null, "object": null, "oldObject": ` + podJSON + `, "options": null}`, `DELETE v1/pods Pod ns/ old=` + podJSON + ` by alice collection completed`},
		{"a connect", `{"operation": "CONNECT", "subResource": "exec", "kind": {"group": "", "version": "v1", "kind": "PodExecOptions"}, "options": null,
			"object": {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]}}`, `CONNECT v1/pods/exec PodExecOptions ns/p object={"apiVersion":"v1","command":["sh"],"kind":"PodExecOptions"} by alice completed`},
		{"a request in the version that it was sent in", `{"requestKind": {"group": "", "version": "v1", "kind": "Pod"}, "requestResource": {"group": "", "version": "v1", "resource": "pods"}}`,
			`CREATE v1/pods Pod ns/p object=` + podJSON + options + ` by alice completed`},
		{"a resource nobody defined", `{"resource": {"group": "x.io", "version": "v1", "resource": "widgets"}, "kind": {"group": "x.io", "version": "v1", "kind": "Widget"}, "object": {"a": 1.5, "b": 12345678901234567}}`,
			`CREATE x.io/v1/widgets Widget ns/p object={"a":1.5,"b":12345678901234567}` + options + ` by alice completed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Decode(read(t, review(t, c.fields)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := line(d); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			admissible(t, d)
			if d.Form != FormReview || d.ID != "u1" || !strings.HasPrefix(d.Request.User.UID+d.Request.User.Groups[0]+d.Request.User.Extra["k"][0], "7devsv") {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestAConvertedReviewIsTheClientsRequest(t *testing.T) {
	fields := `{"name": "h", "kind": {"group": "autoscaling", "version": "v2", "kind": "HorizontalPodAutoscaler"}, "resource": {"group": "autoscaling", "version": "v2", "resource": "horizontalpodautoscalers"},
		"requestKind": {"group": "autoscaling", "version": "v1", "kind": "HorizontalPodAutoscaler"}, "requestResource": {"group": "autoscaling", "version": "v1", "resource": "horizontalpodautoscalers"},
		"object": {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}}`
	doc := read(t, review(t, fields))
	wantError(t, review(t, fields), Options{}, "conversion: in.yaml:1: request.requestKind: the client sent autoscaling/v1 HorizontalPodAutoscaler, the review holds the object as autoscaling/v2 HorizontalPodAutoscaler"+
		" (record the review with a webhook whose rules name autoscaling/v1, or use matchPolicy Exact)")
	d, _ := Decode(doc, Options{})
	v2 := schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	if d.Request.Kind.Version != "v1" || d.Request.Resource.Version != "v1" || d.Request.Object != nil || d.Request.Converted[v2].Object["apiVersion"] != "autoscaling/v2" {
		t.Errorf("%+v", d.Request)
	}
}

func TestBrokenReviewsSayWhy(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"no request", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"x","allowed":true}}`, "in.yaml:1: request: expected the request of the AdmissionReview (a review that holds a response only cannot be evaluated)"},
		{"an old version", `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{}}`, "in.yaml:1: apiVersion: expected admission.k8s.io/v1, found admission.k8s.io/v1beta1 (the fields of v1beta1 are the same: change the version)"},
		{"an unknown field", review(t, `{"subresource": "exec"}`), "in.yaml:1: request.subresource: AdmissionReview has no field of this name (check the spelling and the indentation; names are case-sensitive)"},
		{"an unknown operation", review(t, `{"operation": "PATCH"}`), `in.yaml:1: request.operation: expected CREATE, UPDATE, DELETE or CONNECT, found "PATCH"`},
		{"no object", review(t, `{"object": null}`), "in.yaml:1: request.object: expected the object: the operation is CREATE"},
		{"no old object", review(t, `{"operation": "UPDATE"}`), "in.yaml:1: request.oldObject: expected the object before the update"},
		{"nothing deleted", review(t, `{"operation": "DELETE"}`), "in.yaml:1: request.oldObject: expected the object that is deleted"},
		{"an object that is text", review(t, `{"object": "x"}`), "in.yaml:1: request.object: expected an object"},
		{"no resource", review(t, `{"resource": null}`), "in.yaml:1: request.resource.resource: expected the plural name of a resource, such as pods"},
		{"no version", review(t, `{"resource": {"resource": "pods"}}`), "in.yaml:1: request.resource.version: expected the version of the resource, such as v1"},
		{"no kind", review(t, `{"kind": null}`), "in.yaml:1: request.kind: expected kind and version of the object"},
		{"groups that are text", review(t, `{"userInfo": {"username": "a", "groups": "b"}}`), "in.yaml:1: request.userInfo.groups: expected a list, found text"},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.in, Options{}, c.want) })
	}
}
