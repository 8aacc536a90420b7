package foreign

import (
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

// A guarded expression is proved and one without a guard is broken; what lint cannot tell stays rare.
func TestForeignPoliciesAreProvedOrBroken(t *testing.T) {
	all := read(t)
	if len(all) < leastPolicies {
		t.Errorf("%d policies, expected at least %d", len(all), leastPolicies)
	}
	set := compiled(t, all)
	counts := map[lint.Outcome]int{}
	expressions := 0
	for _, p := range all {
		r, err := lint.Policy(t.Context(), set, p.Name, lint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for field, outcome := range r.Outcomes {
			expressions++
			counts[outcome]++
			if field != "validations[0]" {
				continue
			}
			text := fmt.Sprint(p.Spec.Variables, p.Spec.Validations)
			switch {
			case p.Guarded && outcome == lint.Broken:
				t.Errorf("%s is guarded and broken: %s", p.Name, text)
			case !p.Guarded && outcome == lint.Proved:
				t.Errorf("%s is not guarded and proved: %s", p.Name, text)
			case outcome == lint.Unproved:
				t.Logf("%s is unproved: %s", p.Name, text)
			}
		}
	}
	t.Logf("%d policies, %d expressions: %d proved, %d broken, %d unproved",
		len(all), expressions, counts[lint.Proved], counts[lint.Broken], counts[lint.Unproved])
	if counts[lint.Unproved]*100 > expressions*mostUnproved {
		t.Errorf("more than %d percent are unproved", mostUnproved)
	}
}

// BenchmarkForeignPolicies is linear in their number: the time for each stays the same.
func BenchmarkForeignPolicies(b *testing.B) {
	all := read(b)
	for _, n := range []int{125, 250, 500} {
		// Every k-th, so that each part has the styles of the whole.
		var part []Policy
		for i := range n {
			part = append(part, all[i*len(all)/n])
		}
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			for b.Loop() {
				set := compiled(b, part)
				for _, p := range part {
					if _, err := lint.Policy(b.Context(), set, p.Name, lint.Options{}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "policies/s")
		})
	}
}
