package harness_test

import (
	"testing"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"

	"hangar.io/holdshort/cel/harness"
)

// TestATraceNamesTheNodeThatFailed evaluates all expressions with one process: cel-go shares one error
// among all calls that have no overload, which keeps the node it first came from.
func TestATraceNamesTheNodeThatFailed(t *testing.T) {
	for _, c := range []struct{ variable, expression, field, want string }{
		{"true", "object.spec.nodeName == 'a'", "validations[0]", "object.spec.nodeName"},
		{"true", "1 > 0 && object.spec.securityContext.seLinuxOptions.level == 'a'", "validations[0]", "object.spec.securityContext.seLinuxOptions"},
		{"true", "object.spec.nodeName.startsWith('a')", "validations[0]", "object.spec.nodeName"},
		{"true", "object.spec.containers[1].name == 'a'", "validations[0]", "object.spec.containers[1]"},
		{"true", "object.spec.containers.all(c, c.securityContext.privileged == true)", "validations[0]", "c.securityContext"},
		{"true", "object.spec.containers[0].name > 1", "validations[0]", "object.spec.containers[0].name > 1"},
		{"true", "oldObject.metadata.name == 'a'", "validations[0]", "oldObject.metadata"},
		{"true", "1 / size(object.metadata.name.split('web')) >= 0 && 1 / (size(object.metadata.name) - 3) > 0", "validations[0]", "1 / (size(object.metadata.name) - 3)"},
		{"true", "object.metadata.name < 2 || object.spec.nodeName == 'a'", "validations[0]", "object.metadata.name < 2"},
		{"true", "has(object.spec.affinity.nodeAffinity)", "validations[0]", "object.spec.affinity"},
		{"true", "object.spec.affinity.nodeAffinity.preferred.size() > 0", "validations[0]", "object.spec.affinity"},
		{"true", "object.spec.overhead.all(k, true) || object.metadata.name == ''", "validations[0]", "object.spec.overhead"},
		{"true", "oldObject.all(k, true) || object.metadata.name == ''", "validations[0]", "oldObject.all(k, true)"},
		{"int(object.metadata.name) == 1", "variables.v", "variables[0]", "int(object.metadata.name)"},
		{"object.metadata.name[0] == 1", "variables.v", "variables[0]", "object.metadata.name[0]"},
		{"int(object.metadata.name) == 1", "!variables.v", "validations[0]", "variables.v"},
	} {
		s := set(t, policy(pods, `
  variables: [{name: v, expression: "`+c.variable+`"}]
  validations:
  - {expression: "`+c.expression+`"}`))
		v := evaluate(t, s, createPod(object(t, plainPod)), harness.Cluster{})
		checked, _, err := s.Checked("p")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range v.Trace[0].Expressions {
			for _, k := range checked {
				if e.Field != c.field || k.Field != c.field {
					continue
				}
				ast.PreOrderVisit(k.AST.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
					if x.ID() == e.Node {
						got, _ = parser.Unparse(x, k.AST.SourceInfo())
					}
				}))
			}
		}
		if got != c.want {
			t.Errorf("%s: failed at %q, want %q", c.expression, got, c.want)
		}
	}
}
