package policies_test

import (
	"testing"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

// ruleSet is the compiled rule set of a profile.
func ruleSet(t testing.TB, x profile.Profile) *harness.Set {
	t.Helper()
	m, err := policies.Render(x, policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return compiled(t, m)
}

// TestNoRequestMakesAnExpressionFail is the proof that the rule set never refuses a request by
// accident: every expression of every policy is followed through every request that it can match.
func TestNoRequestMakesAnExpressionFail(t *testing.T) {
	for _, x := range profile.Builtin() {
		set, proved := ruleSet(t, x), 0
		for _, name := range set.Policies() {
			proofs, err := lint.Total(set, name, lint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range proofs {
				if p.Err != nil {
					t.Errorf("%s: %s: %s: %v", x.Name, name, p.Field, p.Err)
				}
				if p.Proved() {
					proved++
				}
				for _, o := range p.Open {
					t.Errorf("%s: %s: %s (%s): %s: %s, at %s in %s", x.Name, name, p.Field, p.Name, o.Case, o.Why, o.Source, o.Field)
				}
			}
		}
		t.Logf("%s: %d expressions proved", x.Name, proved)
	}
}

func BenchmarkProof(b *testing.B) {
	set := ruleSet(b, profile.Builtin()[0])
	expressions, paths, most := 0, 0, 0
	for b.Loop() {
		expressions, paths = 0, 0
		for _, name := range set.Policies() {
			proofs, err := lint.Total(set, name, lint.Options{})
			if err != nil {
				b.Fatal(err)
			}
			for _, p := range proofs {
				expressions++
				paths += p.Paths
				most = max(most, p.Paths)
			}
		}
	}
	b.ReportMetric(float64(expressions)*float64(b.N)/b.Elapsed().Seconds(), "expressions/s")
	b.ReportMetric(float64(paths)/float64(expressions), "paths/expression")
	b.ReportMetric(float64(most), "most-paths")
}
