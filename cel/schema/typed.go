package schema

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// newTyped is an empty object of a kind of the API libraries, nil for other kinds: those that the
// newest version no longer has.
func newTyped(kind schema.GroupVersionKind) any {
	if kind == apiServiceKind {
		return &apiService{}
	}
	if kind == apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition") {
		return &apiextensionsv1.CustomResourceDefinition{}
	}
	typed, err := clientscheme.Scheme.New(kind)
	if err != nil {
		return nil
	}
	return typed
}

// decode reads an object into its Go type as the server does: what the type has no field for is
// dropped, a value of a wrong form is an error.
func decode(obj map[string]any, into any) (err error) {
	// The converter panics on values that are none of JSON's.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not a JSON object: %v", r)
		}
	}()
	return runtime.DefaultUnstructuredConverter.FromUnstructured(obj, into)
}

// encode is the JSON form of an object, as admission policies see it (apiserver
// pkg/admission/plugin/cel/condition.go, ConvertObjectToUnstructured).
func encode(typed any, kind schema.GroupVersionKind) (map[string]any, error) {
	obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	obj["apiVersion"], obj["kind"] = kind.ToAPIVersionAndKind()
	return obj, nil
}
