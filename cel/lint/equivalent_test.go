package lint_test

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
)

func TestEquivalent(t *testing.T) {
	tests := []struct {
		name, a, b string
		want       bool
	}{
		{"a valid pod has containers", "has(object.spec.containers) && object.spec.containers != null && object.spec.containers.size() > 0", "object.spec.containers.size() > 0", true},
		{"metadata is always there", "has(object.metadata) && object.metadata.name == 'a'", "object.metadata.name == 'a'", true},
		{"labels are not", "has(object.metadata.labels) && 'a' in object.metadata.labels", "'a' in object.metadata.labels", false},
		{"an earlier guard is enough", "has(object.metadata.labels) && (has(object.metadata.labels) && 'a' in object.metadata.labels)", "has(object.metadata.labels) && ('a' in object.metadata.labels)", true},
		{"another text", "object.metadata.name == 'a'", "object.metadata.name == 'b'", false},
		{"a text that is never read", "has(object.metadata) ? object.metadata.name == 'a' : 'x' == 'y'", "has(object.metadata) ? object.metadata.name == 'a' : 'x' == 'z'", true},
		{"an item of which nothing is known", "object.spec.containers.all(c, c.image != '')", "object.spec.containers.all(c, c.image == '')", false},
		{"all and exists of no item", "[].all(x, x == 1)", "[].exists(x, x == 1)", false},
		{"a container has a name", "object.spec.containers.all(c, has(c.name) && c.name != 'x')", "object.spec.containers.all(c, c.name != 'x')", true},
		{"&& and || of the same", "has(object.metadata) && has(object.spec)", "has(object.metadata) || has(object.spec)", true},
		{"both are always true", "has(object.metadata) && has(object.spec)", "object.metadata.name == object.metadata.name", true},
		{"the same", "object.metadata.name == 'a'", "object.metadata.name == 'a'", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			have, err := lint.Equivalent(podPolicy(t, test.a, admissionv1.Fail), "p", []*harness.Set{podPolicy(t, test.b, admissionv1.Fail)}, lint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if have[0] != test.want {
				t.Errorf("have %t, want %t", have[0], test.want)
			}
		})
	}
}

func TestEquivalentFailurePolicy(t *testing.T) {
	for text, want := range map[string]bool{
		"object.metadata.name == 'a'":                     true,
		"object.metadata.labels['a'] == 'b'":              false, // may be absent
		"object.metadata.?labels['a'].orValue('') == 'b'": true,
	} {
		have, err := lint.Equivalent(podPolicy(t, text, admissionv1.Fail), "p", []*harness.Set{podPolicy(t, text, admissionv1.Ignore)}, lint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if have[0] != want {
			t.Errorf("%s: have %t, want %t", text, have[0], want)
		}
	}
}

// A rule for */* matches subresources as well as resources.
func TestAnyResourceHasSubresources(t *testing.T) {
	p := podPolicy(t, "has(request.subResource) ? request.subResource == 'x' : true", admissionv1.Fail).Policy("p").DeepCopy()
	p.Spec.MatchConstraints.ResourceRules[0].Rule = admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}}
	q := p.DeepCopy()
	q.Spec.Validations[0].Expression = "has(request.subResource) ? request.subResource != 'x' : true"
	var sets []*harness.Set
	for _, def := range []*admissionv1.ValidatingAdmissionPolicy{p, q} {
		set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{def}, nil)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, set)
	}
	have, err := lint.Equivalent(sets[0], "p", sets[1:], lint.Options{})
	if err != nil || have[0] {
		t.Errorf("have %t, %v: the policies differ on a subresource", have[0], err)
	}
}

func podPolicy(t *testing.T, text string, failure admissionv1.FailurePolicyType) *harness.Set {
	t.Helper()
	p := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.FailurePolicy = &failure
	p.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{"CREATE"},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}}}
	p.Spec.Validations = []admissionv1.Validation{{Expression: text}}
	set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
