package main

import (
	"encoding/json"
	"fmt"
	"sync"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	aggregation "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/lifecycle/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

// scheme is the API server's own, with the kinds of its two delegates: definitions of custom
// resources and API services.
var scheme = legacyscheme.Scheme

func init() {
	extensions.Install(scheme)
	aggregation.Install(scheme)
}

// decoder reads JSON as the API server reads a request's body: into the client's version, API
// defaults filled, and on to the internal version.
var decoder = sync.OnceValue(func() runtime.Decoder {
	return serializer.NewCodecFactory(scheme).UniversalDecoder()
})

// received is an object of one kind as the server works with it after decoding.
func received(kind schema.GroupVersionKind, obj map[string]any) (runtime.Object, error) {
	body, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	object, _, err := decoder().Decode(body, &kind, nil)
	return object, err
}

// encoded is the JSON form of an internal object in one version, as admission policies see it.
func encoded(object runtime.Object, kind schema.GroupVersionKind) (map[string]any, error) {
	typed, err := scheme.ConvertToVersion(object, kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	if got := typed.GetObjectKind().GroupVersionKind(); got != kind {
		return nil, fmt.Errorf("%s was converted to %s", kind, got)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
}

// defaulted is what a policy sees of an object that a client sent: decoded, defaulted, brought to
// the internal version and back.
func defaulted(kind schema.GroupVersionKind, obj map[string]any) (map[string]any, error) {
	object, err := received(kind, obj)
	if err != nil {
		return nil, err
	}
	return encoded(object, kind)
}
