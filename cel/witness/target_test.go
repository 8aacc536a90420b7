package witness_test

import (
	"context"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/cel/witness"
)

// policySet is a policy p on the creation of pods.
func policySet(t *testing.T, condition string, validations ...string) *harness.Set {
	t.Helper()
	p := &admissionv1.ValidatingAdmissionPolicy{}
	p.Name = "p"
	p.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		},
	}}}
	if condition != "" {
		p.Spec.MatchConditions = []admissionv1.MatchCondition{{Name: "c", Expression: condition}}
	}
	for _, v := range validations {
		p.Spec.Validations = append(p.Spec.Validations, admissionv1.Validation{Expression: v})
	}
	b := &admissionv1.ValidatingAdmissionPolicyBinding{}
	b.Name, b.Spec.PolicyName, b.Spec.ValidationActions = "b", "p", []admissionv1.ValidationAction{admissionv1.Deny}
	set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, []*admissionv1.ValidatingAdmissionPolicyBinding{b})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// find searches among the creations of pods.
func find(t *testing.T, set *harness.Set, target witness.Target) (*witness.Witness, error) {
	t.Helper()
	r, ok := schema.BuiltIn(schema.Newest).ForResource("pods")
	if !ok {
		t.Fatal("no pods")
	}
	s, err := witness.New(set, "p", witness.Case{Operation: admission.Create, Resource: r.GVR, Kind: r.Kind, Namespaced: true}, witness.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Find(context.Background(), target)
}

// judge is what a set says to a witness.
func judge(t *testing.T, set *harness.Set, w *witness.Witness) harness.Verdict {
	t.Helper()
	p, err := harness.Prepare(w.Request, w.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	return set.Evaluate(context.Background(), p, harness.Options{})
}

const (
	isTower  = `has(request.userInfo.username) && request.userInfo.username == 'tower'`
	hasOwner = `has(object.metadata.labels) && 'owner' in object.metadata.labels`
	noNode   = `!has(object.spec.hostNetwork)`
)

func TestARequestThatIsDenied(t *testing.T) {
	set := policySet(t, isTower, hasOwner, noNode)
	for _, x := range []struct {
		name, validation string
		when             witness.Condition
		denials          string
	}{
		{"by any validation", "", nil, ""},
		{"by one validation", "validations[1]", nil, "validations[1]"},
		{"by one validation alone", "validations[1]", witness.Condition{{Path: "validations[0]", Is: witness.True}}, "validations[1]"},
	} {
		t.Run(x.name, func(t *testing.T) {
			w, err := find(t, set, witness.Target{Outcome: witness.Denies, Expression: x.validation, When: x.when})
			if err != nil || w == nil {
				t.Fatalf("no request: %v", err)
			}
			v := judge(t, set, w)
			var names []string
			for _, d := range v.Denials {
				names = append(names, d.Validation)
				if d.Error {
					t.Errorf("an error: %s", d.Text)
				}
			}
			if got := strings.Join(names, " "); v.Decision != harness.Denied || !strings.Contains(got, x.denials) || x.when != nil && got != x.denials {
				t.Errorf("%v by %q, expected %q", v.Decision, got, x.denials)
			}
		})
	}
}

func TestARequestThatIsAllowed(t *testing.T) {
	set := policySet(t, isTower, hasOwner, noNode)
	w, err := find(t, set, witness.Target{Outcome: witness.Allows})
	if err != nil || w == nil {
		t.Fatalf("no request: %v", err)
	}
	labels, _ := w.Request.Object["metadata"].(map[string]any)["labels"].(map[string]any)
	if v := judge(t, set, w); v.Decision != harness.Allowed || w.Request.User.Name != "tower" || labels["owner"] == nil {
		t.Errorf("%v of %v %v", v.Decision, w.Request.User, w.Request.Object)
	}
}

func TestARequestThatIsJudged(t *testing.T) {
	w, err := find(t, policySet(t, isTower, "false"), witness.Target{Outcome: witness.Judged})
	if err != nil || w == nil || w.Request.User.Name != "tower" {
		t.Errorf("%v: %v", w, err)
	}
	w, err = find(t, policySet(t, "request.operation == 'UPDATE'", "false"), witness.Target{Outcome: witness.Judged})
	if err != nil || w != nil {
		t.Errorf("a request of a policy that judges none: %v, %v", w, err)
	}
}

func TestARequestThatAnotherSetAllows(t *testing.T) {
	older, newer := policySet(t, "", hasOwner), policySet(t, "", hasOwner, noNode)
	w, err := find(t, newer, witness.Target{Outcome: witness.Denies, AllowedBy: older})
	if err != nil || w == nil {
		t.Fatalf("no request: %v", err)
	}
	if a, b := judge(t, older, w), judge(t, newer, w); a.Decision != harness.Allowed || b.Decision != harness.Denied {
		t.Errorf("%v and %v", a.Decision, b.Decision)
	}
	w, err = find(t, older, witness.Target{Outcome: witness.Denies, AllowedBy: newer})
	if err != nil || w != nil {
		t.Errorf("a request that only the older set refuses: %v, %v", w, err)
	}
}

func TestFactsHold(t *testing.T) {
	set := policySet(t, "", "true")
	for _, f := range []witness.Fact{
		{Path: "object.spec.hostNetwork", Is: witness.Present},
		{Path: "object.spec.hostNetwork", Is: witness.Absent},
		{Path: "object.spec.hostPID", Is: witness.EqualTo, Value: true},
		{Path: "object.metadata.labels['app']", Is: witness.EqualTo, Value: "web"},
		{Path: "object.metadata.labels", Is: witness.Contains, Value: "app"},
		{Path: "object.metadata.labels", Is: witness.Lacks, Value: "app"},
		{Path: "object.metadata.name", Is: witness.DifferentFrom, Value: "web"},
		{Path: "object.spec.volumes", Is: witness.SizeAtLeast, Value: int64(2)},
		{Path: "object.spec.containers", Is: witness.SizeAtMost, Value: int64(1)},
		{Path: "object.spec.activeDeadlineSeconds", Is: witness.AtLeast, Value: int64(600)},
		{Path: "object.spec.activeDeadlineSeconds", Is: witness.AtMost, Value: int64(5)},
		{Path: "object.spec.containers[0].securityContext", Is: witness.Present},
		{Path: "object.spec.containers[*].image", Is: witness.OfKind, Value: schema.String},
		{Path: "request.userInfo.groups", Is: witness.Contains, Value: "debuggers"},
		{Path: "oldObject", Is: witness.Null},
	} {
		t.Run(f.String(), func(t *testing.T) {
			w, err := find(t, set, witness.Target{Outcome: witness.Allows, When: witness.Condition{f}})
			if err != nil || w == nil {
				t.Errorf("no request: %v", err)
			}
		})
	}
	for _, f := range []witness.Fact{
		{Path: "object", Is: witness.Null},
		{Path: "object.spec.containers", Is: witness.Absent},
		{Path: "object.spec.containers[*].image", Is: witness.OfKind, Value: schema.Int},
		{Path: "validations[0]", Is: witness.False},
	} {
		t.Run("never: "+f.String(), func(t *testing.T) {
			w, err := find(t, set, witness.Target{Outcome: witness.Judged, When: witness.Condition{f}})
			if err != nil || w != nil {
				t.Errorf("a request: %v, %v", w, err)
			}
		})
	}
}

func TestATargetThatDoesNotExist(t *testing.T) {
	set := policySet(t, "", "true")
	for _, x := range []witness.Target{
		{},
		{Outcome: witness.Denies, Expression: "validations[7]"},
		{Outcome: witness.Allows, When: witness.Condition{{Path: "validations[7]", Is: witness.True}}},
		{Outcome: witness.Allows, When: witness.Condition{{Path: "object.spec.hostNetwork", Is: witness.EqualTo, Value: struct{}{}}}},
		{Outcome: witness.Allows, When: witness.Condition{{Path: "request.nothing", Is: witness.Present}}},
	} {
		if w, err := find(t, set, x); err == nil {
			t.Errorf("%+v: no error, but %v", x, w)
		}
	}
}
