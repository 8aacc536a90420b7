package schema

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// RequestCase is what is known of a request by the rule that it matches.
type RequestCase struct {
	Operation   admission.Operation
	Subresource string
	Namespaced  bool
	// Kind of the object that the client sent: Scale for deployments/scale.
	Kind schema.GroupVersionKind
}

// RequestShape is what the variable request can be. A key that no such request has is not among
// its fields.
func RequestShape(r RequestCase) *Shape {
	return dynamic("AdmissionRequest")
}

// NamespaceShape is what namespaceObject can be, where it is not null.
func NamespaceShape(a Assume) *Shape {
	return dynamic("Namespace")
}

// OptionsShape is what object can be on CONNECT to a resource's subresource ("pods/exec").
func OptionsShape(subresource string) *Shape {
	return dynamic(subresource)
}
