package kyverno_test

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	policiesv1 "github.com/kyverno/api/api/policies.kyverno.io/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies/kyverno"
)

// handwritten are the policies of testdata/handwritten.yaml by name.
func handwritten(t *testing.T) map[string]*policiesv1.ValidatingPolicy {
	t.Helper()
	data, err := os.ReadFile("testdata/handwritten.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, string(data))
}

func decode(t *testing.T, stream string) map[string]*policiesv1.ValidatingPolicy {
	t.Helper()
	all := map[string]*policiesv1.ValidatingPolicy{}
	for document := range strings.SplitSeq(stream, "\n---\n") {
		if !strings.Contains(document, "kind: ValidatingPolicy\n") {
			continue
		}
		p := &policiesv1.ValidatingPolicy{}
		if err := yaml.UnmarshalStrict([]byte(document), p); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		all[p.Name] = p
	}
	return all
}

func TestWhatKyvernoCompilesAndWhatItJudgesItself(t *testing.T) {
	want := map[string]string{
		"team-label":                "",
		"few-replicas":              "",
		"pods-with-a-label":         "",
		"pods-without-variants":     "",
		"pods-and-debug-containers": "",
		"pods-and-their-variants":   "it is about pods alone",
		"pods-and-deployments":      "it is about pods alone",
		"by-webhook":                "spec.autogen.validatingAdmissionPolicy is not enabled",
		"about-nothing":             "has no resource rule",
	}
	all := handwritten(t)
	if len(all) != len(want) {
		t.Errorf("%d policies, %d expectations", len(all), len(want))
	}
	for name, p := range all {
		policy, binding, err := kyverno.Translate(p)
		switch {
		case want[name] == "" && (err != nil || policy.Name != "vpol-"+name || binding.Name != "vpol-"+name+"-binding" || binding.Spec.PolicyName != policy.Name):
			t.Errorf("%s becomes %v and %v, %v", name, policy, binding, err)
		case want[name] != "" && (err == nil || !strings.Contains(err.Error(), want[name])):
			t.Errorf("%s: %v", name, err)
		case strings.HasPrefix(want[name], "it is") && !errors.Is(err, kyverno.ErrNotCompiled):
			t.Errorf("%s is not said to be judged by a webhook: %v", name, err)
		}
	}
}

func TestTheFullestFormIsCompiledFieldByField(t *testing.T) {
	p := handwritten(t)["few-replicas"]
	before := p.DeepCopy()
	policy, binding, err := kyverno.Translate(p)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p, before) {
		t.Error("the translation changes what it is given")
	}
	s := policy.Spec
	if s.FailurePolicy != nil || s.ParamKind != nil {
		t.Errorf("the failure policy is %v", s.FailurePolicy)
	}
	if !reflect.DeepEqual(s.MatchConstraints, p.Spec.MatchConstraints) || !reflect.DeepEqual(s.MatchConditions, p.Spec.MatchConditions) ||
		!reflect.DeepEqual(s.Variables, p.Spec.Variables) || !reflect.DeepEqual(s.AuditAnnotations, p.Spec.AuditAnnotations) {
		t.Errorf("the policy is %+v", s)
	}
	// Texts are replaced in validations, and nowhere else.
	if v := s.Validations[0]; v.Expression != "variables.replicas <= 3 || 'large' in variables.allowedValues" || v.Message != "at most three replicas" || *v.Reason != "Invalid" {
		t.Errorf("the validation is %+v", v)
	}
	if len(policy.Annotations) > 0 || len(policy.Labels) != 2 || policy.Labels["reports.kyverno.io/disabled"] != "true" || policy.Labels["app.kubernetes.io/managed-by"] != "kyverno" {
		t.Errorf("labels %v, annotations %v", policy.Labels, policy.Annotations)
	}
	if !reflect.DeepEqual(binding.Spec, admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: "vpol-few-replicas", ValidationActions: []admissionv1.ValidationAction{admissionv1.Warn, admissionv1.Audit},
	}) {
		t.Errorf("the binding is %+v", binding.Spec)
	}
	if _, binding, _ := kyverno.Translate(handwritten(t)["team-label"]); !reflect.DeepEqual(binding.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}) {
		t.Errorf("without actions: %v", binding.Spec.ValidationActions)
	}
}

// TestCompiledPoliciesJudgeRequests runs cases on what Kyverno makes of the handwritten policies.
func TestCompiledPoliciesJudgeRequests(t *testing.T) {
	var all []*admissionv1.ValidatingAdmissionPolicy
	var bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	for _, p := range handwritten(t) {
		if policy, binding, err := kyverno.Translate(p); err == nil {
			all, bindings = append(all, policy), append(bindings, binding)
		}
	}
	set, err := harness.Compile(all, bindings)
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, file := range []string{"testdata/team-label.yaml", "testdata/few-replicas.yaml", "testdata/pods-without-variants.yaml"} {
		for _, c := range resolve(t, file, nil) {
			cases++
			if r := fixture.Run(t.Context(), set, c); !r.OK {
				t.Errorf("%s:%d: %s: expected %s, have %s: %s", c.File, c.Line, c.Name, r.Expected, r.Actual, r.Decisive)
			}
		}
	}
	if cases == 0 {
		t.Error("there are no cases")
	}
}
