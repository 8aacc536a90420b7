package mutate_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	"hangar.io/holdshort/cel/mutate"
)

func TestMutantsOfExpressions(t *testing.T) {
	tests := []struct {
		operator, text string
		want           []string
	}{
		{"guard", "has(object.a) && object.a.b == 1", []string{"object.a.b == 1"}},
		{"guard", "!has(object.a) || object.a == 'x' || object.a == 'y'", []string{"object.a == 'x' || object.a == 'y'"}},
		{"guard", "(object != null &&\n  'k' in object.m) && object.m['k'] == 'v'",
			[]string{"('k' in object.m) && object.m['k'] == 'v'", "(object != null) && object.m['k'] == 'v'"}},
		{"guard", "has(object.a) ? object.a == 1 : true", []string{"object.a == 1"}},
		{"guard", "object.l.all(x, has(x.a) && x.a == 1)", []string{"object.l.all(x, x.a == 1)"}},
		{"comparison", "object.a < 3 && object.b == 'x'", []string{"object.a >= 3 && object.b == 'x'", "object.a < 3 && object.b != 'x'"}},
		{"logic", "object.a == 1 && (object.b == 2 || object.c == 3)",
			[]string{"object.a == 1 || (object.b == 2 || object.c == 3)", "object.a == 1 && (object.b == 2 && object.c == 3)"}},
		{"quantifier", "object.l.all(x, object.m.exists(y, x == y))",
			[]string{"object.l.exists(x, object.m.exists(y, x == y))", "object.l.all(x, object.m.all(y, x == y))"}},
		{"negation", "!has(object.a) && object.b in ['x']", []string{"has(object.a) && object.b in ['x']", "!has(object.a) && !(object.b in ['x'])"}},
		{"negation", "object.l.all(x, x.startsWith('a'))", []string{"!object.l.all(x, x.startsWith('a'))", "object.l.all(x, !x.startsWith('a'))"}},
		{"literal", "object.a in ['x', 'y'] || object.b == 'z' || object.c == true",
			[]string{"object.a in ['y'] || object.b == 'z' || object.c == true", "object.a in ['x'] || object.b == 'z' || object.c == true",
				"object.a in ['x', 'y'] || object.b == 'z-x' || object.c == true", "object.a in ['x', 'y'] || object.b == 'z' || object.c == false"}},
		{"boundary", "object.a <= -3", []string{"object.a < -3", "object.a <= -4", "object.a <= -2"}},
		{"prefix", "object.a.startsWith('ab-') && object.b.matches(\"^x$\")",
			[]string{"object.a.contains('ab-') && object.b.matches(\"^x$\")", "object.a.startsWith('ab') && object.b.matches(\"^x$\")",
				"object.a.startsWith('ab-') && object.b.matches('x')"}},
		{"prefix", "object.a.endsWith('.io')", []string{"object.a.contains('.io')", "object.a.endsWith('io')"}},
	}
	for _, test := range tests {
		t.Run(test.operator+" "+test.text, func(t *testing.T) {
			var have []string
			for _, m := range mutants(t, policyOf(test.text)) {
				if m.Operator == test.operator {
					have = append(have, m.Mutated)
				}
			}
			if !slices.Equal(have, test.want) {
				t.Errorf("have %q\nwant %q", have, test.want)
			}
		})
	}
}

func TestMutantsOfOtherFields(t *testing.T) {
	p := policyOf("object.a == 1")
	p.Spec.MatchConditions = []admissionv1.MatchCondition{{Name: "c", Expression: "object.b == 1"}}
	p.Spec.MatchConstraints.ResourceRules[0].Operations = []admissionv1.OperationType{"CREATE", "UPDATE"}
	p.Spec.MatchConstraints.ResourceRules[0].Resources = []string{"pods", "pods/status"}
	var have []string
	for _, m := range mutants(t, p) {
		if m.Mutated == "" {
			have = append(have, fmt.Sprintf("%s: %s: %s", m.Operator, m.Place(), m.Before))
		}
	}
	want := []string{
		"validation: validations[0]: object.a == 1",
		"condition: matchConditions[0] (c): object.b == 1",
		"rule: matchConstraints.resourceRules[0].resources: pods",
		"rule: matchConstraints.resourceRules[0].resources: pods/status",
		"operation: matchConstraints.resourceRules[0].operations: CREATE",
		"operation: matchConstraints.resourceRules[0].operations: UPDATE",
		"failure-policy: failurePolicy: Fail",
		"action: binding \"p\" validationActions: Deny",
	}
	if !slices.Equal(have, want) {
		t.Errorf("have %s\nwant %s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

// Strange forms of text must not put a change in the wrong place.
func TestMutantsOfStrangeText(t *testing.T) {
	for _, text := range []string{
		"object.a == '\\'&& ||' && r'\\'.size() == 1 // && not this\n && object.b == '''x'y'''",
		"object.?a.orValue('x') == 'y' && object[?'k'].hasValue()",
		"(((object.a == 1))) && !!(object.b in [1, -4] || 2u < 3u || 3.5e+1 < 4.0)",
		"[1, 2].map(x, x + 1).exists(x, x > 2) ? has(object.a) : {'a': 1, 'b': 2}['a'] == 1",
		"object.l.size() > 0 && object.l[0] == 'ü€' && b'x' == b\"x\"",
	} {
		all := mutants(t, policyOf(text))
		if len(all) < 6 {
			t.Errorf("%q has %d mutants only", text, len(all))
		}
		for _, m := range all {
			if m.Mutated == m.Text && m.Mutated != "" {
				t.Errorf("%s: %s changes nothing", text, m.Operator)
			}
		}
	}
}

// The rule set has mutants of every operator, which is printed.
func TestEveryOperatorHasMutants(t *testing.T) {
	n := map[string]int{}
	for _, tier := range []string{"ground", "flight"} {
		b, err := manifest.Collect(manifest.Read(manifest.Source{Paths: []string{filepath.Join("..", "..", "examples", tier, "vap.yaml")}}))
		if err != nil {
			t.Fatal(err)
		}
		set, err := harness.Compile(b.Policies, b.Bindings)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, policy := range set.Policies() {
			all, err := mutate.Of(set, policy)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range all {
				n[m.Operator]++
				name := fmt.Sprint(m.Policy, m.Operator, m.Binding, m.Field, m.Start, m.Before, m.After)
				if names[name] {
					t.Errorf("two mutants are the same: %s %s: %q, %q", m.Policy, m.Place(), m.Before, m.After)
				}
				names[name] = true
			}
		}
	}
	for _, o := range mutate.Operators() {
		t.Logf("%4d %s: %s", n[o.Name], o.Name, o.Summary)
		if n[o.Name] == 0 {
			t.Errorf("%s changes nothing", o.Name)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range mutate.Operators() {
		if file := strings.ReplaceAll(o.Name, "-", "_") + ".go"; !slices.Contains(files, file) {
			t.Errorf("operator %s has no file %s", o.Name, file)
		}
	}
}

func policyOf(text string) *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{"CREATE"},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}}},
			Validations: []admissionv1.Validation{{Expression: text}},
		},
	}
}

func mutants(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy) []mutate.Mutant {
	t.Helper()
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	binding.Spec.PolicyName, binding.Spec.ValidationActions = "p", []admissionv1.ValidationAction{admissionv1.Deny}
	set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, []*admissionv1.ValidatingAdmissionPolicyBinding{binding})
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range set.Problems() {
		t.Fatal(problem)
	}
	all, err := mutate.Of(set, "p")
	if err != nil {
		t.Fatal(err)
	}
	return all
}
