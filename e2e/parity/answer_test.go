package parity

import (
	"strings"
	"testing"

	"hangar.io/holdshort/cel/harness"
)

func TestAnswersAreEqualOnlyIfEveryPartIs(t *testing.T) {
	verdict := harness.Verdict{
		Decision: harness.Denied,
		Denials: []harness.Denial{
			{Policy: "a", Code: 422, Reason: "Invalid", Text: "pods \"job-x7k2p\" is forbidden: first"},
			{Policy: "b", Code: 403, Reason: "Forbidden", Text: "second"},
		},
		Warnings:         []string{"w2", "w1"},
		AuditAnnotations: map[string]string{"p/k": "v"},
	}
	mask := masks(harness.Request{Object: map[string]any{"metadata": map[string]any{"generateName": "job-"}}})
	server := func(edit func(*Answer)) Answer {
		a := Answer{
			Decision:    harness.Denied,
			Refusals:    []Refusal{{422, "Invalid", mask.text("pods \"job-zzzzz\" is forbidden: first")}},
			Warnings:    []string{"w1", "w2"},
			Annotations: map[string]string{"p/k": "v"},
		}
		edit(&a)
		return a
	}
	for _, tc := range []struct {
		name string
		edit func(*Answer)
		want string // part of the difference; empty: equal
	}{
		{"the same denial, another generated name", func(*Answer) {}, ""},
		{"the other denial", func(a *Answer) { a.Refusals = []Refusal{{403, "Forbidden", "second"}} }, ""},
		{"another text", func(a *Answer) { a.Refusals[0].Message = "first" }, "refusal"},
		{"another code", func(a *Answer) { a.Refusals[0].Code = 403 }, "refusal"},
		{"another reason", func(a *Answer) { a.Refusals[0].Reason = "Forbidden" }, "refusal"},
		{"another decision", func(a *Answer) { *a = Answer{Decision: harness.Allowed} }, "decision"},
		{"a warning less", func(a *Answer) { a.Warnings = a.Warnings[:1] }, "warnings"},
		{"an annotation more", func(a *Answer) { a.Annotations["p/l"] = "" }, "annotations"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(server(tc.edit).differences(ofVerdict(verdict, mask)), "; ")
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestUndecidedIsNeverEqualToAServersAnswer(t *testing.T) {
	undecided := ofVerdict(harness.Verdict{Decision: harness.Undecided, Undecided: []harness.Gap{{Policy: "p", Need: "params"}}}, nil)
	for _, a := range []Answer{{Decision: harness.Allowed}, {Decision: harness.Denied}} {
		if got := a.differences(undecided); len(got) != 1 || !strings.Contains(got[0], "p needs params") {
			t.Errorf("%s: %q", a, got)
		}
	}
}

func TestTheOrderOfAuditedFailuresDoesNotCount(t *testing.T) {
	a := canonical(failureKey, `[{"policy":"a","message":"x"},{"policy":"b","message":"y"}]`)
	b := canonical(failureKey, `[{"message":"y","policy":"b"},{"message":"x","policy":"a"}]`)
	if a != b || canonical(failureKey, `[{"policy":"a","message":"z"}]`) == a {
		t.Errorf("%s, %s", a, b)
	}
	if canonical("p/k", "b, a") != canonical("p/k", "a, b") || canonical("p/k", "a") == canonical("p/k", "b") {
		t.Error("the values of several params have no order, but have to be the same")
	}
}
