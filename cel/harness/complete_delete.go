package harness

import (
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// deletion fills what the registries put into the options of a delete before policies see them. On
// the deletion of a collection policies see the client's options: each object gets a copy (apiserver
// pkg/registry/generic/registry/store.go, DeleteCollection).
func (r *Request) deletion() {
	if r.Operation != admission.Delete || r.Subresource != "" || r.Collection || r.OldObject == nil {
		return
	}
	switch r.Resource.GroupResource() {
	case podResource:
		r.gracePeriod()
	case namespaceResource.GroupResource(), definitionResource:
		r.pin()
	}
}

var (
	podResource        = schema.GroupResource{Resource: "pods"}
	definitionResource = schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}
)

// gracePeriod is the pod's own unless the client gives one, and none for a pod that no node runs
// (kubernetes pkg/registry/core/pod/strategy.go, CheckGracefulDelete). A pod that is being deleted
// already is left alone: what happens then depends on how far its deletion is.
func (r *Request) gracePeriod() {
	if metadata(r.OldObject)["deletionTimestamp"] != nil {
		return
	}
	spec, _ := r.OldObject["spec"].(map[string]any)
	status, _ := r.OldObject["status"].(map[string]any)
	period, given := r.Options["gracePeriodSeconds"].(int64)
	if !given {
		period, _ = spec["terminationGracePeriodSeconds"].(int64)
	}
	node, _ := spec["nodeName"].(string)
	if node == "" || status["phase"] == "Failed" || status["phase"] == "Succeeded" {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	r.Options["gracePeriodSeconds"] = period
}

// pin makes the uid of the object a precondition (kubernetes
// pkg/registry/core/namespace/storage/storage.go and apiextensions-apiserver
// pkg/registry/customresourcedefinition/etcd.go, Delete).
func (r *Request) pin() {
	preconditions, _ := r.Options["preconditions"].(map[string]any)
	preconditions = maps.Clone(preconditions)
	if preconditions == nil {
		preconditions = map[string]any{}
	}
	if preconditions["uid"] == nil {
		preconditions["uid"] = metadata(r.OldObject)["uid"]
	}
	r.Options["preconditions"] = preconditions
}
