package policies_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/cel/mutate"
	"hangar.io/holdshort/policies/profile"
)

// TestNoMutantThatACaseKillsIsEquivalent holds the proof of equivalence against the cases: what a case
// tells from the policy is not the same.
func TestNoMutantThatACaseKillsIsEquivalent(t *testing.T) {
	names := []string{"breakglass-rolebinding", "service-proxy", "token-request", "writer-closed-world"}
	for _, x := range profile.Builtin() {
		set, killed := ruleSet(t, x), 0
		if os.Getenv("HOLDSHORT_SOAK") != "" {
			names = set.Policies()
		}
		for _, name := range names {
			if set.Policy(name) == nil {
				continue // not on this tier
			}
			file, err := fixture.LoadFile(filepath.Join("testdata", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			all, err := file.Resolve(fixture.Inputs{Now: time.Now(), Users: x.User, Profile: x.Value})
			if err != nil {
				t.Fatal(err)
			}
			var cases []fixture.Case
			for _, c := range all {
				if c.In(string(x.Tier)) {
					cases = append(cases, c)
				}
			}
			judge := mutate.NewJudge(t.Context(), set, name, cases)
			mutants, err := mutate.Of(set, name)
			if err != nil {
				t.Fatal(err)
			}
			var sets []*harness.Set
			var known []mutate.Mutant
			for _, m := range mutants {
				kills, err := judge.Kills(t.Context(), m)
				if err != nil {
					t.Fatal(err)
				}
				if !kills {
					continue
				}
				other, err := m.Set()
				if err != nil {
					t.Fatal(err)
				}
				sets, known, killed = append(sets, other), append(known, m), killed+1
			}
			proved, err := lint.Equivalent(set, name, sets, lint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range known {
				if proved[i] {
					t.Errorf("%s: %s: %s: a case kills %q in place of %q, and it is called equivalent", x.Name, name, m.Place(), m.After, m.Before)
				}
			}
		}
		t.Logf("%s: none of %d killed mutants is called equivalent", x.Name, killed)
		if killed < 100 {
			t.Errorf("%s: only %d mutants are killed", x.Name, killed)
		}
	}
}
