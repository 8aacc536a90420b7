package harness

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

func TestADeleteIsCompletedAsTheRegistriesDo(t *testing.T) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	pod := func(spec, status map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "a"}, "spec": spec, "status": status}
	}
	for _, tc := range []struct {
		name    string
		request Request
		option  string
		want    any
	}{
		{"a running pod has its own grace period", Request{Resource: pods, OldObject: pod(map[string]any{"nodeName": "n"}, nil)}, "gracePeriodSeconds", int64(30)},
		{"a client's period counts", Request{Resource: pods, OldObject: pod(map[string]any{"nodeName": "n"}, nil), Options: map[string]any{"gracePeriodSeconds": int64(5)}}, "gracePeriodSeconds", int64(5)},
		{"a pod without a node has a period of 0", Request{Resource: pods, OldObject: pod(nil, nil)}, "gracePeriodSeconds", int64(0)},
		{"a pod that has ended has a period of 0", Request{Resource: pods, OldObject: pod(map[string]any{"nodeName": "n"}, map[string]any{"phase": "Failed"})}, "gracePeriodSeconds", int64(0)},
		{"a pod of a collection has none", Request{Resource: pods, Collection: true, OldObject: pod(map[string]any{"nodeName": "n"}, nil)}, "gracePeriodSeconds", nil},
		{"a namespace is pinned to its uid", Request{Resource: namespaceResource, OldObject: map[string]any{"metadata": map[string]any{"name": "a", "uid": "u"}}}, "preconditions", map[string]any{"uid": "u"}},
		{"a node is not", Request{Resource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, OldObject: map[string]any{"metadata": map[string]any{"name": "a", "uid": "u"}}}, "preconditions", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := tc.request
			r.Operation = admission.Delete
			if err := Complete(&r, Cluster{}, time.Now()); err != nil {
				t.Fatal(err)
			}
			if got := r.Options[tc.option]; fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("got %v, expected %v", got, tc.want)
			}
		})
	}
}

func TestAStoredObjectHasWhatItDoesNotSay(t *testing.T) {
	r := Request{
		Operation: admission.Delete, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		OldObject: map[string]any{"metadata": map[string]any{"name": "a"}, "status": map[string]any{"podIP": "192.0.2.1"}},
	}
	if err := Complete(&r, Cluster{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	status, _ := r.OldObject["status"].(map[string]any)
	if status["phase"] != "Pending" || status["podIP"] != "192.0.2.1" {
		t.Errorf("got %v", status)
	}
}
