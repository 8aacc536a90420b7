package lint_test

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/cel/schema"
)

func TestWhatNothingDescribesIsNamedOnce(t *testing.T) {
	p := &admissionv1.ValidatingAdmissionPolicy{}
	err := yaml.Unmarshal([]byte(`
metadata: {name: p}
spec:
  paramKind: {apiVersion: rules.example.com/v1, kind: Limit}
  matchConstraints:
    resourceRules:
    - {apiGroups: [example.com], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [widgets, widgets/status]}
    - {apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [pods, pods/*]}
    - {apiGroups: ["*"], apiVersions: ["*"], operations: [DELETE], resources: ["*"]}
  validations: [{expression: "true"}]
`), p)
	if err != nil {
		t.Fatal(err)
	}
	set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	have := lint.Undescribed(set, "p", schema.BuiltIn(schema.Newest))
	if want := []string{"Limit.rules.example.com", "widgets.example.com"}; !slices.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
	p.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	p.Spec.MatchConstraints.ResourceRules = p.Spec.MatchConstraints.ResourceRules[1:]
	if set, err = harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, nil); err != nil {
		t.Fatal(err)
	}
	if have := lint.Undescribed(set, "p", schema.BuiltIn(schema.Newest)); len(have) > 0 {
		t.Errorf("pods and ConfigMaps are described, and %v are named", have)
	}
}
