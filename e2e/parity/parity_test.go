package parity_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/e2e/kit/pair"
	"hangar.io/holdshort/e2e/kit/scratch"
	"hangar.io/holdshort/e2e/kit/world"
	"hangar.io/holdshort/e2e/parity"
	"hangar.io/holdshort/policies/profile"
)

// policyEnv, unless empty, is the one policy whose cases are run. The count is then not demanded.
const policyEnv = "POLICY"

// leastRequests is how many distinct requests the section has to have.
const leastRequests = 250

func TestParity(t *testing.T) {
	ctx, begin := t.Context(), time.Now()
	suites := suites(t)
	servers, err := pair.Start(ctx, scratch.Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Close()
	if err := parity.Define(ctx, world.New(servers.Dynamic), suites...); err != nil {
		t.Fatal(err)
	}
	if err := servers.Policies(ctx); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("parity: three API servers ready after %v\n", time.Since(begin).Round(time.Second))
	judge, report := parity.NewJudge(servers), parity.NewReport()
	for _, s := range suites {
		if err := judge.Run(ctx, s, report); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range report.Failed() {
		t.Errorf("%s:%d: %s", r.Case.File, r.Case.Line, r.Case.Name)
		for _, fault := range r.Faults {
			t.Log("  " + fault)
		}
	}
	report.Print(os.Stdout)
	one := os.Getenv(policyEnv) != "" // then the corpus may be empty, and there are fewer requests
	if !one {
		t.Run("an injected wrong text fails", func(t *testing.T) { injected(t, judge, suites[0]) })
	}
	fmt.Printf("parity: took %v\n", time.Since(begin).Round(time.Second))
	if passed, all := report.Counts(); passed != all || (all < leastRequests && !one) {
		t.Errorf("parity: %d/%d, expected all of at least %d distinct requests", passed, all, leastRequests)
	}
}

// injected judges a policy whose texts differ between server and harness.
func injected(t *testing.T, judge *parity.Judge, suite *parity.Suite) {
	wrong, err := suite.Tampered("reasons")
	if err != nil {
		t.Fatal(err)
	}
	report := parity.NewReport()
	if err := judge.Run(t.Context(), wrong, report); err != nil {
		t.Fatal(err)
	}
	denials := 0
	for _, c := range wrong.Groups[0].Cases {
		if c.Expect.Outcome == fixture.Deny {
			denials++
		}
	}
	if passed, all := report.Counts(); denials == 0 || passed != all-denials {
		t.Errorf("%d of %d requests pass, although %d are refused with another text", passed, all, denials)
	}
}

// suites are the corpus and the rule set on each tier.
func suites(t *testing.T) []*parity.Suite {
	t.Helper()
	now := time.Now()
	corpus, err := parity.Corpus(now)
	if err != nil {
		t.Fatal(err)
	}
	all := []*parity.Suite{corpus}
	for _, x := range profile.Builtin() {
		s, err := parity.RuleSet(x, now)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if only := os.Getenv(policyEnv); only != "" {
		for _, s := range all {
			s.Groups = slices.DeleteFunc(s.Groups, func(g parity.Group) bool { return g.Policy != only })
		}
	}
	return all
}
