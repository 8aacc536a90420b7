package witness

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// Case is a form of requests.
type Case struct {
	Operation admission.Operation
	// Resource may be empty: then a few common ones stand for all.
	Resource    kschema.GroupVersionResource
	Subresource string
	// Kind of the object; empty: that of the resource, or one made up if nothing describes it.
	Kind       kschema.GroupVersionKind
	Namespaced bool
}

// Target is the outcome that a request is wanted for: that a node fails.
type Target struct {
	// Expression that fails, by its field as in harness.Expression.
	Expression string
	// Field and Node are where the error comes from: the expression itself, or a variable that it
	// reads. No field and no node: any of them.
	Field string
	Node  int64
}

// Is is what a fact says of the value at a path.
type Is uint8

// What facts can say.
const (
	Absent Is = iota
	Present
	Null
	// EqualTo the fact's Value.
	EqualTo
	// True and False are for a path to an expression: its field, as in harness.Expression.
	True
	False
)

// Fact is something that holds of the wanted request.
type Fact struct {
	// Path is a chain of fields as CEL writes it: object.spec.hostNetwork, request.userInfo.username,
	// object.metadata.labels['app'], object.spec.containers[0].image. For True and False it is the
	// field of an expression: matchConditions[0].
	Path  string
	Is    Is
	Value any // in JSON form
}

// Condition is facts that hold at once. A search takes them as hints on where to look.
type Condition []Fact

// Witness is a request with the wanted outcome.
type Witness struct {
	// Request is complete: what validating policies see.
	Request harness.Request
	Cluster harness.Cluster
	Policy  string
	// Expression and Field are those of the target, Node the one that failed, and Error what the
	// evaluator says of the expression.
	Expression, Field string
	Node              int64
	Error             string

	sent      world // as a client sends it
	kase      Case
	raw       bool
	binding   *admissionv1.ValidatingAdmissionPolicyBinding // made up, nil if the set has one
	resources *schema.Table
}

// Options of a search. The zero value is a search for built-in kinds on a server.
type Options struct {
	// Resources tells of kinds; nil: the built-in ones.
	Resources *schema.Table
	Assume    schema.Assume
	// Steps bounds the requests that are tried for one target; 0: 3000.
	Steps int
	// Seed of the random choices.
	Seed uint64
	// Hints are conditions under which the outcome is expected, each on its own.
	Hints []Condition
}

func (o *Options) setDefaults() {
	if o.Resources == nil {
		o.Resources = schema.BuiltIn(schema.Newest)
	}
	if o.Steps == 0 {
		o.Steps = 3000
	}
}
