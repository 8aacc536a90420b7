package harness_test

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
)

func TestWhatTheServerRefusesToStoreIsAProblem(t *testing.T) {
	good := func() (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
		s := set(t, policy(pods, "  matchConditions: [{name: m, expression: \"true\"}]\n  validations: [{expression: \"true\"}]"))
		return s.Policy("p"), s.Bindings("p")[0]
	}
	type P = *admissionv1.ValidatingAdmissionPolicy
	type B = *admissionv1.ValidatingAdmissionPolicyBinding
	word := func(s string) *metav1.StatusReason { r := metav1.StatusReason(s); return &r }
	for _, c := range []struct {
		name, field string
		change      func(P, B)
	}{
		{"an action in lower case", "validationActions[0]", func(_ P, b B) { b.Spec.ValidationActions = []admissionv1.ValidationAction{"deny"} }},
		{"no action", "validationActions", func(_ P, b B) { b.Spec.ValidationActions = nil }},
		{"Deny with Warn", "validationActions", func(_ P, b B) { b.Spec.ValidationActions = []admissionv1.ValidationAction{"Deny", "Warn"} }},
		{"a param reference without an action", "paramRef.parameterNotFoundAction", func(_ P, b B) { b.Spec.ParamRef = &admissionv1.ParamRef{Name: "x"} }},
		{"a param reference without name and selector", "paramRef", func(_ P, b B) {
			deny := admissionv1.DenyAction
			b.Spec.ParamRef = &admissionv1.ParamRef{ParameterNotFoundAction: &deny}
		}},
		{"an operation in lower case", "matchConstraints.resourceRules[0].operations[0]", func(p P, _ B) {
			p.Spec.MatchConstraints.ResourceRules[0].Operations = []admissionv1.OperationType{"create"}
		}},
		{"a star beside another operation", "matchConstraints.resourceRules[0].operations", func(p P, _ B) {
			p.Spec.MatchConstraints.ResourceRules[0].Operations = []admissionv1.OperationType{"*", "CREATE"}
		}},
		{"no resources", "matchConstraints.resourceRules[0].resources", func(p P, _ B) { p.Spec.MatchConstraints.ResourceRules[0].Resources = nil }},
		{"a misspelt failure policy", "failurePolicy", func(p P, _ B) { *p.Spec.FailurePolicy = "Fial" }},
		{"a misspelt match policy", "matchConstraints.matchPolicy", func(p P, _ B) { *p.Spec.MatchConstraints.MatchPolicy = "Exakt" }},
		{"a selector that means nothing", "matchConstraints.objectSelector.matchExpressions[0].operator", func(p P, _ B) {
			p.Spec.MatchConstraints.ObjectSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}
		}},
		{"no rule", "matchConstraints.resourceRules", func(p P, _ B) { p.Spec.MatchConstraints.ResourceRules = nil }},
		{"no validation", "validations", func(p P, _ B) { p.Spec.Validations = nil }},
		{"an unknown reason", "validations[0].reason", func(p P, _ B) { p.Spec.Validations[0].Reason = word("Unauthorized") }},
		{"a message of two lines", "validations[0].message", func(p P, _ B) { p.Spec.Validations[0].Message = "a\nb" }},
		{"a variable named by a reserved word", "variables[0].name", func(p P, _ B) {
			p.Spec.Variables = []admissionv1.Variable{{Name: "namespace", Expression: "'a'"}}
		}},
		{"a variable that is no identifier", "variables[0].name", func(p P, _ B) {
			p.Spec.Variables = []admissionv1.Variable{{Name: "a-b", Expression: "'a'"}}
		}},
		{"two conditions of one name", "matchConditions[1].name", func(p P, _ B) {
			p.Spec.MatchConditions = append(p.Spec.MatchConditions, p.Spec.MatchConditions[0])
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, b := good()
			problems := func() []harness.Problem {
				s, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, []*admissionv1.ValidatingAdmissionPolicyBinding{b})
				if err != nil {
					t.Fatal(err)
				}
				return s.Problems()
			}
			if found := problems(); len(found) != 0 {
				t.Fatalf("before the change: %v", found)
			}
			c.change(p, b)
			found := problems()
			if len(found) == 0 || found[0].Field != c.field || !found[0].Create {
				t.Errorf("problems %+v, want one at %s", found, c.field)
			}
		})
	}
}

func TestTheServerNamesTheFirstDenialOfABinding(t *testing.T) {
	v := harness.Verdict{Denials: []harness.Denial{
		{Policy: "a", Binding: "b", Index: 0}, {Policy: "a", Binding: "b", Index: 1},
		{Policy: "a", Binding: "c", Index: 0},
		{Policy: "d", Binding: "b", Param: "x", Index: 2}, {Policy: "d", Binding: "b", Param: "y", Index: 1},
	}}
	var got []string
	for _, d := range v.Possible() {
		got = append(got, d.Policy+d.Binding+d.Param)
	}
	if want := "ab ac dbx dby"; strings.Join(got, " ") != want {
		t.Errorf("possible: %v, want %s", got, want)
	}
}

func TestWhatFailurePolicyIgnoreLetsPassIsListed(t *testing.T) {
	for name, rest := range map[string]string{
		"validations[0]":  "  validations: [{expression: \"object.spec.nothing == 1\"}]",
		"matchConditions": "  matchConditions: [{name: m, expression: \"object.spec.nothing == 1\"}]\n  validations: [{expression: \"false\"}]",
	} {
		v := evaluate(t, set(t, policy(pods, "  failurePolicy: Ignore\n"+rest)), createPod(object(t, plainPod)), harness.Cluster{})
		if v.Decision != harness.Allowed || len(v.Ignored) != 1 || v.Ignored[0].Validation != name {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestTheSuperuserMayDoEverything(t *testing.T) {
	s := set(t, policy(pods, "  validations: [{expression: \"authorizer.requestResource.check('create').allowed()\"}]"))
	r := createPod(object(t, plainPod))
	r.User = user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}
	if v := evaluate(t, s, r, harness.Cluster{}); v.Decision != harness.Allowed {
		t.Errorf("got %+v", v)
	}
}
