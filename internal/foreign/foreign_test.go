package foreign

import (
	"flag"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
)

const (
	leastPolicies = 500
	// mostUnproved of the expressions, in percent.
	mostUnproved = 5
)

func compiled(t testing.TB, policies []Policy) *harness.Set {
	t.Helper()
	var all []*admissionv1.ValidatingAdmissionPolicy
	for _, p := range policies {
		all = append(all, p.ValidatingAdmissionPolicy)
	}
	set, err := harness.Compile(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range set.Problems() {
		t.Error(p)
	}
	return set
}

func read(t testing.TB) []Policy {
	t.Helper()
	all, err := Policies()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var whole = flag.Bool("whole", false, "look at all policies, not at every fourth")

// TestForeignPoliciesAreProvedOrBroken: a guarded expression is not broken, one without a guard is not
// proved, and what lint cannot tell is rare.
func TestForeignPoliciesAreProvedOrBroken(t *testing.T) {
	all := read(t)
	if len(all) < leastPolicies {
		t.Errorf("%d policies, expected at least %d", len(all), leastPolicies)
	}
	if !*whole {
		all = part(all, len(all)/4)
	}
	byName := map[string]Policy{}
	for _, p := range all {
		byName[p.Name] = p
	}
	var tally lint.Tally
	for r, err := range lint.Run(t.Context(), compiled(t, all), lint.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		tally.Add(r)
		if r.Policy == "" {
			continue
		}
		p, outcome := byName[r.Policy], r.Outcomes["validations[0]"]
		switch text := fmt.Sprint(p.Spec.Variables, p.Spec.Validations[0].Expression); {
		case p.Guarded && outcome == lint.Broken:
			t.Errorf("%s is guarded and broken: %s", p.Name, text)
		case !p.Guarded && outcome == lint.Proved:
			t.Errorf("%s is not guarded and proved: %s", p.Name, text)
		case outcome == lint.Unproved:
			t.Logf("%s is unproved: %s", p.Name, text)
		}
	}
	n := tally.Counts()
	t.Logf("%d policies, %d expressions: %d proved, %d broken, %d unproved", len(all), n.Expressions, n.Proved, n.Broken, n.Unproved)
	if n.Unproved*100 > n.Expressions*mostUnproved || n.Proved == 0 || n.Broken == 0 {
		t.Errorf("none is proved or broken, or more than %d percent are neither", mostUnproved)
	}
}

// part is n of the policies, taken evenly, so that it has the styles of the whole.
func part(all []Policy, n int) []Policy {
	var some []Policy
	for i := range n {
		some = append(some, all[i*len(all)/n])
	}
	return some
}

// BenchmarkForeignPolicies compiles and lints policies, searches and guards included. It is linear in
// their number: the time for each stays the same.
func BenchmarkForeignPolicies(b *testing.B) {
	all := read(b)
	for _, n := range []int{125, 250, 500} {
		some := part(all, n)
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			for b.Loop() {
				for _, err := range lint.Run(b.Context(), compiled(b, some), lint.Options{}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(n*b.N), "ms/policy")
		})
	}
}
