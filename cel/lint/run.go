package lint

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"hangar.io/holdshort/cel/harness"
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

// Report is what lint says of a policy and its bindings, or of what belongs to no policy of a set.
type Report struct {
	// Policy is empty for what belongs to no policy.
	Policy   string
	Findings []Finding
	// Outcomes are those of the expressions, by field. Variables have none: what reads them has their
	// errors. Nor have messages that can fail: the server then takes the message that is fixed text.
	Outcomes map[string]Outcome
}

// Run applies all rules to a set. It yields a report for each policy, in the order of their names, and
// last one of what belongs to none. Policies are looked at in parallel; the reports are the same
// however many processors there are. An error is that of the context or of a policy, and ends the run.
func Run(ctx context.Context, set *harness.Set, o Options) iter.Seq2[Report, error] {
	o.setDefaults()
	names := set.Policies()
	return func(yield func(Report, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // ends what nobody waits for
		type result struct {
			report Report
			err    error
		}
		results := make([]chan result, len(names))
		for i := range results {
			results[i] = make(chan result, 1)
		}
		var next atomic.Int64
		for range min(runtime.GOMAXPROCS(0), len(names)) {
			go func() {
				for i := next.Add(1) - 1; i < int64(len(names)) && ctx.Err() == nil; i = next.Add(1) - 1 {
					r, err := Policy(ctx, set, names[i], o)
					results[i] <- result{r, err}
				}
			}()
		}
		for _, c := range results {
			select {
			case r := <-c:
				if !yield(r.report, r.err) || r.err != nil {
					return
				}
			case <-ctx.Done():
				yield(Report{}, ctx.Err())
				return
			}
		}
		yield(rest(setInput{ctx, set, o}), ctx.Err())
	}
}

// rest is the report of what belongs to no policy.
func rest(in setInput) Report {
	var r Report
	for _, rule := range allRules {
		if rule.rest != nil {
			r.add(rule, rule.rest(in))
		}
	}
	var accepted []*suppression
	for _, b := range in.set.Stray() {
		accepted = append(accepted, annotated(b.Spec.PolicyName, b.Name, b.Annotations)...)
	}
	r.suppress(accepted)
	return r
}

// Policy applies the rules about policies to one of a set. It is safe for concurrent use. The error is
// that the set has no such policy, or that of the context.
func Policy(ctx context.Context, set *harness.Set, policy string, o Options) (Report, error) {
	o.setDefaults()
	in, err := newInput(setInput{ctx, set, o}, policy)
	if err != nil {
		return Report{}, err
	}
	r := Report{Policy: policy, Outcomes: map[string]Outcome{}}
	for _, rule := range allRules {
		if rule.policy != nil {
			r.add(rule, rule.policy(in))
		}
	}
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	r.suppress(in.suppressions())
	order := map[string]int{}
	for i, p := range in.proofs {
		order[p.Field] = i + 1
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Binding, b.Binding), cmp.Compare(order[a.Field], order[b.Field]))
	})
	for _, p := range in.proofs {
		if outcome, counts := outcomeOf(p, r.Findings); counts {
			r.Outcomes[p.Field] = outcome
		}
	}
	return r, nil
}

func (r *Report) add(rule *Rule, found []Finding) {
	for _, f := range found {
		f.Rule, f.Policy = rule.Name, cmp.Or(f.Policy, r.Policy)
		r.Findings = append(r.Findings, f)
	}
}

func isVariable(field string) bool { return strings.HasPrefix(field, "variables[") }
func isMessage(field string) bool  { return strings.HasSuffix(field, ".messageExpression") }

// outcomeOf tells whether an expression counts, and as what.
func outcomeOf(p Proof, findings []Finding) (Outcome, bool) {
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

// Counts count expressions.
type Counts struct {
	Expressions, Proved, Broken, Unproved int
}

// Tally counts expressions, each once: by its worst outcome over all reports on policies of a name, such
// as those that one rule set has on several profiles. The zero value counts none.
type Tally struct {
	worst map[[2]string]Outcome // by policy and field
}

// Add counts the expressions of a report.
func (t *Tally) Add(r Report) {
	if t.worst == nil {
		t.worst = map[[2]string]Outcome{}
	}
	for field, o := range r.Outcomes {
		key := [2]string{r.Policy, field}
		t.worst[key] = max(t.worst[key], o)
	}
}

// Counts are those of all reports so far.
func (t *Tally) Counts() Counts {
	var c Counts
	for _, o := range t.worst {
		c.Expressions++
		switch o {
		case Proved:
			c.Proved++
		case Unproved:
			c.Unproved++
		case Broken:
			c.Broken++
		}
	}
	return c
}
