package lint_test

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
)

// TestNothingIsProvedByDefault: what the analysis cannot look at is not proved, and hides nothing else.
func TestNothingIsProvedByDefault(t *testing.T) {
	for _, c := range []struct{ name, spec, field string }{
		{"a validation that does not compile", `validations: [{expression: "object.x ="}]`, "validations[0]"},
		{"a condition that does not compile", `{matchConditions: [{name: a, expression: "object.x ="}], validations: [{expression: "true"}]}`, "matchConditions[0]"},
		{
			"a validation behind a condition that does not compile",
			`{matchConditions: [{name: a, expression: "object.x ="}], validations: [{expression: "object.spec.hostNetwork"}]}`, "validations[0]",
		},
		{
			"a condition that reads a variable which fails",
			`{variables: [{name: v, expression: "object.spec.hostNetwork"}], matchConditions: [{name: a, expression: "variables.v"}], validations: [{expression: "true"}]}`, "matchConditions[0]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &admissionv1.ValidatingAdmissionPolicy{}
			if err := yaml.Unmarshal([]byte(c.spec), &p.Spec); err != nil {
				t.Fatal(err)
			}
			p.Name = "p"
			p.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				},
			}}}
			set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, nil)
			if err != nil {
				t.Fatal(err)
			}
			proofs, err := lint.Total(set, "p", lint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			seen := false
			for _, proof := range proofs {
				seen = seen || proof.Field == c.field
				if proof.Field == c.field && proof.Proved() {
					t.Errorf("%s is proved", c.field)
				}
			}
			if !seen {
				t.Errorf("nothing is said of %s", c.field)
			}
		})
	}
}
