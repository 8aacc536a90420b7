package policies_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

// TestEveryGuardIsNeeded takes the guards of the rule set away, one at a time: what remains must not
// be proved. Some tests of presence guard nothing, because they are what the policy demands, or because
// the server makes sure of the field, which the proof of manifests as written tells apart.
func TestEveryGuardIsNeeded(t *testing.T) {
	all := os.Getenv("HOLDSHORT_SOAK") != "" // otherwise one of sixteen
	for _, x := range profile.Builtin() {
		m := render(t, x)
		guards, needed := 0, 0
		var needless []string
		for i, policy := range m.Policies {
			set := compiled(t, policies.Manifests{Policies: m.Policies[i : i+1], Bindings: m.Bindings})
			checked, _, err := set.Checked(policy.Name)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range checked {
				texts := unguarded(t, c)
				for _, what := range slices.Sorted(maps.Keys(texts)) {
					text := texts[what]
					if guards++; !all && guards%16 != 0 {
						continue
					}
					rest := compiled(t, policies.Manifests{Policies: []*admissionv1.ValidatingAdmissionPolicy{withExpression(t, policy, c.Field, text)}, Bindings: m.Bindings})
					switch {
					case !totals(t, rest, policy.Name, schema.Server):
						needed++
					case !totals(t, rest, policy.Name, schema.Raw):
						needless = append(needless, fmt.Sprintf("%s %s: %s: the server makes sure of it", policy.Name, c.Field, what))
					default:
						needless = append(needless, fmt.Sprintf("%s %s: %s: nothing is read behind it that could be missing", policy.Name, c.Field, what))
					}
				}
			}
		}
		t.Logf("%s: %d guards, %d of them needed, %d guard nothing:\n\t%s",
			x.Name, guards, needed, len(needless), strings.Join(needless, "\n\t"))
		if guards < 100 || needed == 0 || all && needed < len(needless) {
			t.Errorf("%s: only %d of %d guards are needed, and %d not", x.Name, needed, guards, len(needless))
		}
	}
}

func totals(t *testing.T, set *harness.Set, policy string, a schema.Assume) bool {
	proofs, err := lint.Total(set, policy, lint.Options{Assume: a})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range proofs {
		if !p.Proved() {
			return false
		}
	}
	return true
}

// unguarded are the texts of an expression with one test of presence assumed to be true: has(), a key
// of a map, what is compared with null.
func unguarded(t *testing.T, c harness.Checked) map[string]string {
	if c.AST == nil {
		return nil
	}
	texts := map[string]string{}
	guards := map[int64]bool{}
	ast.PreOrderVisit(c.AST.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if assumed, ok := guardOf(e); ok {
			guards[e.ID()] = assumed
		}
	}))
	for id, assumed := range guards {
		copied := ast.Copy(c.AST)
		info := copied.SourceInfo()
		what := ""
		replace := ast.NewExprVisitor(func(e ast.Expr) {
			if e.ID() == id {
				if what == "" {
					what, _ = parser.Unparse(e, info)
				}
				e.SetKindCase(ast.NewExprFactory().NewLiteral(id, types.Bool(assumed)))
			}
		})
		ast.PostOrderVisit(copied.Expr(), replace)
		for macro, call := range maps.All(info.MacroCalls()) {
			if macro != id {
				ast.PostOrderVisit(call, replace)
			}
		}
		info.ClearMacroCall(id)
		text, err := parser.Unparse(copied.Expr(), info)
		if err != nil {
			t.Fatal(err)
		}
		texts[fmt.Sprintf("%s (node %d)", what, id)] = text
	}
	return texts
}

// guardOf tells whether an expression is a test of presence, and what it is if the value is present.
func guardOf(e ast.Expr) (present, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return true, e.AsSelect().IsTestOnly()
	case ast.CallKind:
		args := e.AsCall().Args()
		isNull := func(i int) bool { return args[i].Kind() == ast.LiteralKind && args[i].AsLiteral() == types.NullValue }
		switch e.AsCall().FunctionName() {
		case operators.In:
			return true, args[1].Kind() != ast.ListKind && args[0].Kind() == ast.LiteralKind
		case operators.Equals:
			return false, isNull(0) || isNull(1)
		case operators.NotEquals:
			return true, isNull(0) || isNull(1)
		}
	}
	return false, false
}

// withExpression is a policy with another text in a field that harness.Checked names.
func withExpression(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy, field, text string) *admissionv1.ValidatingAdmissionPolicy {
	p = p.DeepCopy()
	list, index, _ := strings.Cut(field, "[")
	index, rest, _ := strings.Cut(index, "]")
	i := 0
	if _, err := fmt.Sscan(index, &i); err != nil {
		t.Fatalf("%s: %v", field, err)
	}
	switch {
	case list == "matchConditions":
		p.Spec.MatchConditions[i].Expression = text
	case list == "variables":
		p.Spec.Variables[i].Expression = text
	case list == "auditAnnotations":
		p.Spec.AuditAnnotations[i].ValueExpression = text
	case rest == ".messageExpression":
		p.Spec.Validations[i].MessageExpression = text
	default:
		p.Spec.Validations[i].Expression = text
	}
	return p
}
