package lint

import (
	"reflect"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// FuzzTotal analyses any expression that compiles, as a condition, a variable and a validation: it
// ends, and says the same each time.
func FuzzTotal(f *testing.F) {
	for _, file := range []string{"right.yaml", "wrong.yaml"} {
		var cases []corpusCase
		readYAML(f, file, &cases)
		for _, c := range cases {
			f.Add(c.Expr)
		}
	}
	for _, text := range []string{
		"[[1, 2], [3]].all(x, x.all(y, y > 0 && [x, y].exists(z, z == y)))", "{'a': {'b': object}}['a'].b.metadata.name == 'x'", "[?object.?spec].size() > 0",
		"{?'a': object.?spec}.size() > 0", "object.spec.containers.map(a, object.spec.containers.map(b, a.name + b.name)).size() > 0", "has({'a': 1}.a)", "-9223372036854775808 == 1",
		"[1, 2].transformList(i, v, i + v).size() > 0", "{'a': 1}.transformMap(k, v, v + 1).size() > 0", "object.a.b.c.d.e.f.g == object", "type(type(object)) == type",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 500 {
			return
		}
		spec := admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: constraints(t, "CREATE,UPDATE,DELETE pods"),
			MatchConditions:  []admissionv1.MatchCondition{{Name: "c", Expression: text}},
			Variables:        []admissionv1.Variable{{Name: "x", Expression: text}},
			Validations:      []admissionv1.Validation{{Expression: text}, {Expression: "variables.x == true"}},
		}
		set := uncheckedSet(t, spec, admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "case", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}})
		checked, _, err := set.Checked("case")
		if err != nil || checked[1].Err != nil {
			return
		}
		proofs, err := Total(set, "case", Options{Resources: corpusResources()})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Total(set, "case", Options{Resources: corpusResources()})
		if err != nil || !reflect.DeepEqual(proofs, again) {
			t.Errorf("the second analysis of %q says something else: %v", text, err)
		}
	})
}
