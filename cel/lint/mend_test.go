package lint

import (
	"context"
	"os"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// corpusStep is the step in which the cases of the corpus are taken: all of them take a minute.
func corpusStep() int {
	if os.Getenv("HOLDSHORT_SOAK") != "" {
		return 1
	}
	return 4
}

// TestMendingTheCorpus: of the expressions that can fail, those that read what is absent get a guard
// that is proved; what else goes wrong (a conversion of any text, a method that the value does not have)
// mostly has none. No request of the corpus that was refused is admitted after it, unless its error was
// one of a match condition: then the validations decide. A plain request that fails nowhere is decided as
// it was.
func TestMendingTheCorpus(t *testing.T) {
	all, mended, absent, present := 0, 0, 0, 0
	for i, c := range corpus(t, "wrong.yaml") {
		if i%corpusStep() != 0 {
			continue
		}
		set := c.set(t)
		before := c.proof(t, set)
		after := c.mended(t, set)
		done := c.proof(t, after).Proved()
		all++
		if done {
			mended++
		}
		if absentOnly(before) && !isMessage(c.at()) && !strings.HasPrefix(c.at(), "auditAnnotations[") {
			absent++
			if done {
				present++
			} else {
				t.Logf("%s: no fix of %s", c.Name, before.Text)
			}
		}
		if plain := prepared(t, c, corpusRequest{}); len(failures(set, plain, t)) == 0 && decision(set, plain) != decision(after, plain) {
			t.Errorf("%s: a request that does not fail is decided otherwise with %s", c.Name, c.proof(t, after).Text)
		}
		for i, r := range c.Requests {
			p := prepared(t, c, r)
			was, is := decision(set, p), decision(after, p)
			if !strings.HasPrefix(c.at(), "matchConditions[") && was == "refused" && is != "refused" {
				t.Errorf("%s, request %d: %s, and %s with %s", c.Name, i, was, is, c.proof(t, after).Text)
			}
		}
	}
	t.Logf("%d of %d expressions are mended, %d of the %d that read what may be absent", mended, all, present, absent)
	if corpusStep() == 1 && (mended < 154 || present < 129) {
		t.Error("expected at least 154 and 129")
	}
	if 10*present < 9*absent {
		t.Errorf("%d of %d expressions that read what may be absent are mended, expected nine of ten", present, absent)
	}
}

// absentOnly tells whether every error of an expression is that something is not there.
func absentOnly(p Proof) bool {
	for _, o := range p.Open {
		if !strings.Contains(o.Why, "may not have") && !strings.Contains(o.Why, "can be null") {
			return false
		}
	}
	return true
}

// mended is the set of the case's policy with the guards that it gets.
func (c corpusCase) mended(t *testing.T, set *harness.Set) *harness.Set {
	t.Helper()
	o := Options{Resources: corpusResources()}
	if c.Raw {
		o.Assume = schema.Raw
	}
	m, err := Mend(context.Background(), set, "case", o)
	if err != nil {
		t.Fatal(err)
	}
	after, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{m.Policy}, set.Bindings("case"))
	if err != nil {
		t.Fatal(err)
	}
	return after
}

// decision is what becomes of a request.
func decision(set *harness.Set, p *harness.Prepared) string {
	switch set.Evaluate(context.Background(), p, harness.Options{}).Decision {
	case harness.Allowed:
		return "admitted"
	case harness.Denied:
		return "refused"
	}
	return "undecided"
}
