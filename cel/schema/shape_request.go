package schema

import (
	"maps"
	"reflect"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Table knows custom kinds; nil is the one of the newest version.
	Table *Table
}

// RequestShape is what the variable request can be (apiserver pkg/admission/plugin/cel/condition.go,
// CreateAdmissionRequest). A key that no such request has is not among its fields.
func RequestShape(r RequestCase) *Shape {
	typed := place{reflect.TypeFor[admissionv1.AdmissionRequest](), nil, Raw}.shape()
	fields := maps.Clone(typed.fields())
	// Objects are variables of their own.
	for _, f := range []string{"object", "oldObject"} {
		fields[f] = Field{Shape: &Shape{Kinds: Null}, Always: true}
	}
	fields["options"] = Field{Shape: r.options(), Always: true}
	nonEmpty := &Shape{Kinds: String, NonEmpty: true}
	for _, f := range []string{"subResource", "requestSubResource"} {
		delete(fields, f)
		if r.Subresource != "" {
			fields[f] = Field{Shape: nonEmpty, Always: true}
		}
	}
	for _, f := range []string{"requestKind", "requestResource", "dryRun"} {
		fields[f] = Field{Shape: fields[f].Shape, Always: true}
	}
	fields["operation"] = Field{Shape: nonEmpty, Always: true}
	fields["name"] = Field{Shape: nonEmpty, Always: r.named()}
	isNamespace := r.Kind.Group == "" && r.Kind.Kind == "Namespace"
	if r.Namespaced || isNamespace {
		// A request for a namespace has its name, unless that is still to be generated (apiserver
		// pkg/endpoints/handlers/create.go).
		fields["namespace"] = Field{Shape: nonEmpty, Always: r.Namespaced || r.Operation != admission.Create}
	} else {
		delete(fields, "namespace")
	}
	return record("AdmissionRequest", fields)
}

// named tells whether the request always has a name. A create without one gets it from the object
// (apiserver pkg/registry/rest/create.go, AdmissionToValidateObjectFunc), which has one if it is to
// be stored. The deletes of a collection have none (pkg/endpoints/handlers/delete.go).
func (r RequestCase) named() bool {
	switch {
	case r.Operation == admission.Delete:
		return false
	case r.Operation != admission.Create || r.Subresource != "":
		return true
	}
	t := r.Table
	if t == nil {
		t = BuiltIn(Newest)
	}
	if t.custom[r.Kind.GroupKind()] != nil {
		return true
	}
	endpoint, known := anywhere(r.Kind)
	return known && endpoint.Subresource == "" && endpoint.Serves("get")
}

// options are those of the operation, null on CONNECT.
func (r RequestCase) options() *Shape {
	var typed reflect.Type
	switch r.Operation {
	case admission.Create:
		typed = reflect.TypeFor[metav1.CreateOptions]()
	case admission.Update:
		typed = reflect.TypeFor[metav1.UpdateOptions]()
	case admission.Delete:
		typed = reflect.TypeFor[metav1.DeleteOptions]()
	case admission.Connect:
		return &Shape{Kinds: Null}
	default:
		return dynamic("options", Map|Null)
	}
	return withKind(place{typed, nil, Raw}.shape())
}

// NamespaceShape is what namespaceObject can be, where it is not null (apiserver
// pkg/admission/plugin/cel/condition.go, CreateNamespaceObject): a namespace as the server stores it,
// without its kind, its owners and its managed fields.
func NamespaceShape(a Assume) *Shape {
	kind := corev1.SchemeGroupVersion.WithKind("Namespace")
	s := *builtInShape(kind, a)
	of := s.fields
	s.fields = sync.OnceValue(func() map[string]Field {
		fields := maps.Clone(of())
		delete(fields, "apiVersion")
		delete(fields, "kind")
		meta := *fields["metadata"].Shape
		all := meta.fields
		meta.fields = sync.OnceValue(func() map[string]Field {
			kept := maps.Clone(all())
			for _, f := range []string{"namespace", "ownerReferences", "managedFields", "selfLink"} {
				delete(kept, f)
			}
			return kept
		})
		fields["metadata"] = Field{Shape: &meta, Always: true}
		return fields
	})
	return &s
}

// OptionsShape is what object can be on CONNECT to a resource's subresource ("pods/exec").
func OptionsShape(subresource string) *Shape {
	kind, ok := map[string]string{
		"pods/exec":        "PodExecOptions",
		"pods/attach":      "PodAttachOptions",
		"pods/portforward": "PodPortForwardOptions",
		"pods/proxy":       "PodProxyOptions",
		"services/proxy":   "ServiceProxyOptions",
		"nodes/proxy":      "NodeProxyOptions",
	}[subresource]
	if !ok {
		return dynamic(subresource, Map)
	}
	return builtInShape(corev1.SchemeGroupVersion.WithKind(kind), Server)
}
