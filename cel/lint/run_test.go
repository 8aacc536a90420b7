package lint_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
)

// manyPolicies are a set in which every third policy has an error, and one binding is of no policy.
func manyPolicies(t *testing.T) *harness.Set {
	t.Helper()
	var all []*admissionv1.ValidatingAdmissionPolicy
	for i := range 12 {
		expression := "has(object.spec.hostNetwork)"
		if i%3 == 0 {
			expression = "object.spec.hostNetwork == true"
		}
		p := &admissionv1.ValidatingAdmissionPolicy{}
		text := fmt.Sprintf(`
metadata: {name: p%02d}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: %s}]`, i, expression)
		if err := yaml.Unmarshal([]byte(text), p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	stray := &admissionv1.ValidatingAdmissionPolicyBinding{}
	stray.Name, stray.Spec.PolicyName = "stray", "p99"
	set, err := harness.Compile(all, []*admissionv1.ValidatingAdmissionPolicyBinding{stray})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func reports(t *testing.T, set *harness.Set) []lint.Report {
	t.Helper()
	var all []lint.Report
	for r, err := range lint.Run(context.Background(), set, lint.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// TestARunIsTheSameOnAnyNumberOfProcessors: its reports are in the order of the policies, and that of
// what belongs to none comes last.
func TestARunIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	set := manyPolicies(t)
	parallel := reports(t, set)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	single := reports(t, set)
	if len(parallel) != 13 {
		t.Fatalf("%d reports", len(parallel))
	}
	var tally lint.Tally
	for i, r := range parallel {
		want := ""
		if i < 12 {
			want = fmt.Sprintf("p%02d", i)
		}
		if r.Policy != want {
			t.Errorf("report %d is of policy %q and not %q", i, r.Policy, want)
		}
		if len(r.Findings) != len(single[i].Findings) || !reflect.DeepEqual(r.Outcomes, single[i].Outcomes) {
			t.Errorf("report %d differs: %v and %v", i, r, single[i])
		}
		for k, f := range r.Findings {
			other := single[i].Findings[k]
			if f.Message != other.Message || f.Witness != nil && f.Witness.Error != other.Witness.Error {
				t.Errorf("finding %d of report %d differs", k, i)
			}
		}
		tally.Add(r)
		tally.Add(single[i])
	}
	if rest := parallel[12].Findings; len(rest) != 1 || rest[0].Binding != "stray" || rest[0].Policy != "p99" {
		t.Errorf("the binding of no policy: %v", rest)
	}
	if c := tally.Counts(); c != (lint.Counts{Expressions: 12, Proved: 8, Broken: 4}) {
		t.Errorf("the counts are %+v", c)
	}
}

func TestATallyCountsAnExpressionByItsWorstOutcome(t *testing.T) {
	var tally lint.Tally
	for _, o := range []lint.Outcome{lint.Proved, lint.Broken, lint.Unproved} {
		tally.Add(lint.Report{Policy: "p", Outcomes: map[string]lint.Outcome{"validations[0]": o, "validations[1]": lint.Proved}})
	}
	if c := tally.Counts(); c != (lint.Counts{Expressions: 2, Proved: 1, Broken: 1}) {
		t.Errorf("the counts are %+v", c)
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	set := manyPolicies(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	for _, err := range lint.Run(ctx, set, lint.Options{}) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("it ends with %v", last)
	}
	for r, err := range lint.Run(context.Background(), set, lint.Options{}) {
		if err != nil || r.Policy != "p00" {
			t.Errorf("%v, %v", r, err)
		}
		break // whoever stops early waits for nothing
	}
}
