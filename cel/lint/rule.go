package lint

import (
	"slices"

	"hangar.io/holdshort/cel/witness"
)

// Rule is one kind of fault that lint looks for. A rule is one file, which says what it finds, why that
// matters, and shows a policy with the fault and one without it. They are its test and its documentation.
type Rule struct {
	// Name is words with hyphens, as findings and suppressions write it.
	Name string
	// Summary is a sentence that says what a finding means.
	Summary string
	// Why is why it matters and what to do, in paragraphs.
	Why string
	// Severity is that of the rule's worst finding.
	Severity Severity
	// Bad are policies in YAML that have the fault in different forms; Good is the first of them mended.
	Bad  []string
	Good string

	// policy finds the fault in one policy and its bindings; rest in what belongs to no policy. Most
	// rules have one of them; that about suppressions has none, because it needs what the others found.
	policy func(*input) []Finding
	rest   func(setInput) []Finding
}

// allRules are the rules, sorted by name: a new one stands here and in its file.
var allRules = []*Rule{
	compileRule,
	idleSuppressionRule,
	messageCanErrorRule,
	totalRule,
	unknownPolicyRule,
}

// Rules are all rules, sorted by name.
func Rules() []*Rule { return slices.Clone(allRules) }

// Severity says what a finding does to the exit status of a check.
type Severity string

const (
	// Error is for what is wrong: there is a request that shows it, or a server refuses it.
	Error Severity = "error"
	// Warning is for what may be wrong.
	Warning Severity = "warning"
)

// Finding is one fault.
type Finding struct {
	Rule     string
	Severity Severity
	Policy   string
	// Binding is set where the fault is in a binding to the policy.
	Binding string
	// Field is what is wrong, as in harness.Expression: validations[0]; or the path below spec of what
	// is no expression; or an annotation: metadata.annotations.NAME. Name is the name that the field has, and Text the expression that stands there.
	Field, Name, Text string
	// Start and End are the part of Text that is wrong, in characters. Both 0: the whole.
	Start, End int
	Message    string
	// Hint says how to mend it, and Fix is a change that does; nil if none is known.
	Hint string
	Fix  *Fix
	// Case is the form of requests that it is about; nil: all.
	Case *Case
	// Witness is a request that shows it, or nil.
	Witness *witness.Witness
	// Suppression is set if the policy accepts the finding. An expression that it breaks is still broken.
	Suppression *Suppression

	of string // the expression that fails, if that is another which reads Field
}
