package harness

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Request is one request as the admission chain of the API server holds it when validating
// policies run: objects are decoded, defaulted and mutated. Requests written by people are
// brought to that state by Complete first.
//
// Objects are in their JSON form, numbers as int64 or float64. A nil object is CEL's null.
// A Request is read only once it is given to the harness: it may be evaluated many times and
// concurrently.
type Request struct {
	Operation admission.Operation
	// Resource and Subresource name the endpoint that the client called, Kind the type of the
	// object that it sent there: Scale for deployments/scale, PodExecOptions for pods/exec.
	Resource    schema.GroupVersionResource
	Subresource string
	Kind        schema.GroupVersionKind
	// Namespace is empty for cluster-scoped resources. A request for a Namespace carries the
	// namespace's own name (apiserver pkg/endpoints/handlers/create.go).
	Namespace string
	// Name is empty on a delete of a collection. Of a create with generateName, validating
	// policies see the generated one.
	Name string
	// Collection: the request is one object's part of a delete of a collection, which has no name.
	// Complete takes the name from the object otherwise.
	Collection bool
	// Object is nil on DELETE, OldObject on CREATE and CONNECT.
	Object    map[string]any
	OldObject map[string]any
	// Options is the CreateOptions, UpdateOptions or DeleteOptions of the request, nil on CONNECT.
	Options map[string]any
	User    user.DefaultInfo
	DryRun  bool
	// Converted holds Object and OldObject in further versions, for policies that match through
	// another version than the client used. A policy that needs one which is neither here nor
	// known to be equal is undecided.
	Converted map[schema.GroupVersionKind]Converted
}

// Converted is a request's objects in another version of their kind.
type Converted struct {
	Object    map[string]any
	OldObject map[string]any
}
