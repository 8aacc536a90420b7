package harness_test

import (
	"slices"
	"testing"
)

// TestWhatDoesNotCompileHasNoTree: the expressions without a syntax tree are those that the server's own
// compiler refuses, because of what they say or because of the type of their value.
func TestWhatDoesNotCompileHasNoTree(t *testing.T) {
	s := set(t, policy(pods, `
  variables:
  - {name: any, expression: object.spec}
  - {name: wrong, expression: object.spec.}
  matchConditions:
  - {name: dynamic, expression: object.spec.hostNetwork}
  - {name: text, expression: "'yes'"}
  - {name: truth, expression: "object.spec.hostNetwork == true"}
  validations:
  - {expression: object.spec.hostNetwork, messageExpression: "1"}
  - {expression: "true", messageExpression: "'no ' + string(object.spec.hostNetwork)"}
  - {expression: "variables.any.x == variables.nothing"}
  auditAnnotations:
  - {key: none, valueExpression: "null"}
  - {key: number, valueExpression: "1"}
  - {key: text, valueExpression: "'1'"}`))
	var want, have []string
	for _, p := range s.Problems() {
		if !p.Create && p.Text != "" {
			want = append(want, p.Field)
		}
	}
	checked, _, err := s.Checked("p")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checked {
		if (c.AST == nil) != (c.Err != nil) {
			t.Errorf("%s has a tree: %t, and an error: %v", c.Field, c.AST != nil, c.Err)
		}
		if c.Err != nil {
			have = append(have, c.Field)
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if len(have) < 6 || !slices.Equal(want, have) {
		t.Errorf("without a tree are\n%v, and the server refuses\n%v", have, want)
	}
}
