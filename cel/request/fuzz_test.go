package request

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/manifest"
)

// fuzz feeds text through the reader to Decode: no input may panic, and what is accepted has an
// operation and the objects that belong to it.
func fuzz(t *testing.T, data []byte, o Options) {
	for doc, err := range manifest.Parse("in", strings.NewReader(string(data)), manifest.Limits{Documents: 10, FileBytes: 1 << 16}) {
		if err != nil {
			continue
		}
		_ = Misfit(doc)
		d, err := Decode(doc, o)
		if err != nil || d.Skipped != "" {
			continue
		}
		r := d.Request
		switch r.Operation {
		case "CREATE":
			if r.Object == nil || r.OldObject != nil && d.Form != FormReview {
				t.Errorf("%q: CREATE with object %v, old %v", data, r.Object, r.OldObject)
			}
		case "UPDATE":
			if r.Object == nil || r.OldObject == nil {
				t.Errorf("%q: UPDATE with object %v, old %v", data, r.Object, r.OldObject)
			}
		case "DELETE":
			if r.OldObject == nil {
				t.Errorf("%q: DELETE without an object", data)
			}
		case "CONNECT":
		default:
			t.Errorf("%q: operation %q", data, r.Operation)
		}
		if r.Resource.Resource == "" || r.Kind.Kind == "" {
			t.Errorf("%q: no endpoint: %+v", data, r)
		}
	}
}

func FuzzAdmissionReview(f *testing.F) {
	f.Add([]byte(review(f, `{}`)))
	f.Add([]byte(review(f, `{"operation": "UPDATE", "oldObject": {"a": 1}, "requestKind": {"version": "v2", "kind": "Pod"}}`)))
	f.Add([]byte(review(f, `{"operation": "CONNECT", "object": null, "dryRun": true}`)))
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, data, Options{}) })
}

func FuzzEvent(f *testing.F) {
	old := readP(f, oldPod)
	f.Add([]byte(eventText(f, `{}`)))
	f.Add([]byte(eventText(f, `{"verb": "patch", "responseStatus": {"code": 200}}`)))
	f.Add([]byte(eventText(f, `{"verb": "delete", "requestObject": {"dryRun": ["All"]}}`)))
	f.Add([]byte(eventText(f, `{"verb": "get", "objectRef": {"resource": "pods", "namespace": "ns", "name": "p", "apiVersion": "v1", "subresource": "exec"}, "requestURI": "/api/v1/namespaces/ns/pods/p/exec?command=ls"}`)))
	f.Add([]byte(eventText(f, `{"verb": "get", "objectRef": {"resource": "nodes", "name": "n", "apiVersion": "v1", "subresource": "proxy"}, "requestURI": "/api/v1/nodes/n/proxy/x/"}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzz(t, data, Options{})
		fuzz(t, data, Options{Old: old})
	})
}

func FuzzManifest(f *testing.F) {
	old, options := readP(f, oldPod), readP(f, "{}\n")
	for _, text := range []string{pod, deployment, oldPod, "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: d}\n"} {
		for _, op := range []string{"", "CREATE", "UPDATE", "DELETE", "CONNECT"} {
			f.Add([]byte(text), op, "")
			f.Add([]byte(text), op, "exec")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, operation, subresource string) {
		fuzz(t, data, Options{Operation: admission.Operation(operation), Subresource: subresource, Old: old})
		fuzz(t, data, Options{Operation: admission.Operation(operation), Subresource: subresource, Options: options})
	})
}
