package harness

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Decision is what becomes of a request. The zero value is Denied.
type Decision int

const (
	// Denied: the API server refuses the request.
	Denied Decision = iota
	// Allowed: no policy stands in the way.
	Allowed
	// Undecided: the answer depends on something the harness was not told, see
	// Verdict.Undecided. It is never to be treated as Allowed.
	Undecided
)

// Verdict is the API server's answer to a request under a set of policies.
type Verdict struct {
	Decision Decision
	// Code, Reason and Message are those of the API server's Status: 0 and empty if allowed.
	// When several validations deny, the server's choice among them is random
	// (apiserver pkg/admission/plugin/policy/generic/policy_source.go ranges over a map);
	// here it is the first of Denials.
	Code    int32
	Reason  metav1.StatusReason
	Message string
	// Denials is every denial, sorted by policy, binding, param and validation.
	Denials []Denial
	// Ignored is what failed to evaluate and was let pass because failurePolicy is Ignore, in the
	// order of Denials.
	Ignored []Denial
	// Undecided says what is missing, sorted; empty unless a policy could not be judged.
	Undecided []Gap
	// Warnings and AuditAnnotations are what the server would return and log.
	Warnings         []string
	AuditAnnotations map[string]string
	// Trace has one entry a policy, binding and param, in Denials' order. Nil unless asked for.
	Trace []PolicyTrace
}

// Possible returns the denials that a server may name. Among policies, bindings and params its
// choice is random; of one of these it always names the first that denies.
func (v Verdict) Possible() []Denial {
	var all []Denial
	for i, d := range v.Denials {
		if i == 0 || d.Policy != v.Denials[i-1].Policy || d.Binding != v.Denials[i-1].Binding || d.Param != v.Denials[i-1].Param {
			all = append(all, d)
		}
	}
	return all
}

// Denial is one reason for a refusal.
type Denial struct {
	Policy  string
	Binding string // empty: the policy itself is broken
	Param   string // namespace/name of the param, if any
	// Validation is the name of the failing validation (see Names), else its index in
	// brackets, "validations[3]"; "matchConditions", "auditAnnotations[0]" or "configuration"
	// when that is where it failed.
	Validation string
	Index      int // of the validation, -1 elsewhere
	Code       int32
	Reason     metav1.StatusReason
	// Message is what the policy says; Text the whole message of the API server's answer.
	Message string
	Text    string
	// Error: refused because an expression could not be evaluated, not because it was false.
	Error bool
}

// Gap is something a verdict depends on that the harness was not told.
type Gap struct {
	Policy  string
	Binding string
	// Need is one of "conversion", "params", "authorizer", "namespace", "kind".
	Need string
	// Detail names what is missing and how to supply it.
	Detail string
}

// PolicyTrace tells how a policy came to its result.
type PolicyTrace struct {
	Policy  string
	Binding string
	Param   string // as in Denial
	// Applied: the match constraints of policy and binding hold and no match condition is false;
	// one that fails to evaluate refuses under failurePolicy Fail. Otherwise Skipped says why not.
	Applied bool
	Skipped *Skip
	// Expressions are the evaluated expressions in the order of their evaluation.
	Expressions []Expression
}

// Skip is why a policy did not apply.
type Skip struct {
	// By is one of "excluded" (no policy sees this resource), "rule", "operation", "scope",
	// "resourceName", "excludeResourceRules", "namespaceSelector", "objectSelector",
	// "matchCondition", "params" (none found, and the binding says Allow), "binding" (none
	// refers to the policy).
	By string
	// Name of the match condition that is false.
	Name string
	// InBinding: the binding's matchResources decided, not the policy's matchConstraints.
	InBinding bool
	Detail    string // one sentence for a person
}

// Expression is the evaluation of one expression.
type Expression struct {
	// Field is where it stands: "matchConditions[0]", "variables[1]", "validations[0]",
	// "validations[0].messageExpression", "auditAnnotations[0].valueExpression".
	Field string
	Name  string // of a match condition, variable, validation or audit annotation key
	Text  string
	// Value is in JSON form, valid if Error is empty.
	Value any
	Error string
	// Node is the id of the node that failed, in the AST of Checked; 0 if there is no error, or if it
	// is none of a node: running out of cost.
	Node int64
	// Decisive is the smallest sub-expression that made the result what it is: the one that
	// failed, or the false operand. Empty where the whole expression decides.
	Decisive string
	// Cost in CEL cost units, and the limit that one evaluation has.
	Cost, Limit uint64
}
