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

// Outcome is what the policy is to make of a request.
type Outcome uint8

const (
	// Fails: the evaluation of an expression ends in an error.
	Fails Outcome = iota
	// Judged: the policy looks at the request, as all match conditions are true.
	Judged
	// Allows: it looks at it, and all validations are true.
	Allows
	// Denies: it looks at it, and a validation is false, which is no error.
	Denies
)

// Target is what a request is wanted for.
type Target struct {
	Outcome Outcome
	// Expression that fails, or the validation that is false, by its field as in harness.Expression.
	// Empty for Denies: any validation.
	Expression string
	// Field and Node are where the error of Fails comes from: the expression itself, or a variable
	// that it reads. No field and no node: any of them.
	Field string
	Node  int64
	// When are facts that hold besides. That other validations are true tells which one denies alone.
	When Condition
	// AllowedBy is a set of policies that is to allow the request; nil: whatever others say. With
	// Denies, and the set of an older version, it asks what a change newly refuses.
	AllowedBy *harness.Set
	// Hints are conditions under which the outcome is expected, each on its own. They say where to
	// look first, and need not hold.
	Hints []Condition
}

// Witness is a request with the wanted outcome.
type Witness struct {
	// Request is complete: what validating policies see.
	Request harness.Request
	Cluster harness.Cluster
	Policy  string
	// Expression and Field are those of the target, Node the one that failed, and Error what the
	// evaluator says of the expression; of Denies, Expression is the validation that is false.
	Expression, Field string
	Node              int64
	Error             string
	// Verdict is what the API server's evaluator makes of the request under this policy alone.
	Verdict harness.Verdict

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
}

func (o *Options) setDefaults() {
	if o.Resources == nil {
		o.Resources = schema.BuiltIn(schema.Newest)
	}
	if o.Steps == 0 {
		o.Steps = 3000
	}
}
