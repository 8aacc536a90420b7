package lint

import (
	"cmp"
	"context"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// Outcome is what became of an expression. The greater, the worse.
type Outcome int

const (
	// Proved: no request can make the expression fail.
	Proved Outcome = iota
	// Unproved: neither that nor a request that makes it fail was found.
	Unproved
	// Broken: a request makes the expression fail.
	Broken
)

// Report is what lint says of a policy.
type Report struct {
	Findings []Finding
	// Outcomes are those of the expressions, by field. Variables have none: what reads them has their
	// errors. Nor have messages that can fail: the server then takes the message that is fixed text.
	Outcomes map[string]Outcome
}

// Policy applies all rules to a policy of a set. It is safe for concurrent use. The error is that the
// set has no such policy, or that of the context.
func Policy(ctx context.Context, set *harness.Set, policy string, o Options) (Report, error) {
	if o.Resources == nil {
		o.Resources = schema.BuiltIn(schema.Newest)
	}
	proofs, err := Total(set, policy, o)
	if err != nil {
		return Report{}, err
	}
	in := &input{ctx: ctx, set: set, def: set.Policy(policy), options: o, proofs: proofs, searches: map[Case]*search{}}
	r := Report{Outcomes: map[string]Outcome{}}
	for _, rule := range allRules {
		for _, f := range rule.policy(in) {
			f.Rule, f.Policy = rule.Name, policy
			r.Findings = append(r.Findings, f)
		}
	}
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	order := map[string]int{}
	for i, p := range proofs {
		order[p.Field] = i
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(order[a.Field], order[b.Field]) })
	for _, p := range proofs {
		if outcome, counts := in.outcome(p, r.Findings); counts {
			r.Outcomes[p.Field] = outcome
		}
	}
	return r, nil
}

// input is what the rules look at. It serves one policy and is not safe for concurrent use.
type input struct {
	ctx      context.Context
	set      *harness.Set
	def      *admissionv1.ValidatingAdmissionPolicy
	options  Options
	proofs   []Proof
	searches map[Case]*search
}

func isVariable(field string) bool { return strings.HasPrefix(field, "variables[") }
func isMessage(field string) bool  { return strings.HasSuffix(field, ".messageExpression") }

// outcome tells whether an expression counts, and as what.
func (in *input) outcome(p Proof, findings []Finding) (Outcome, bool) {
	switch {
	case p.Err != nil:
		return Broken, true
	case isVariable(p.Field), isMessage(p.Field) && !p.Proved():
		return 0, false
	case p.Proved():
		return Proved, true
	}
	for _, f := range findings {
		if f.Rule == totalRule.Name && f.of == p.Field && f.Severity == Error {
			return Broken, true
		}
	}
	return Unproved, true
}
