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
	"hangar.io/holdshort/cel/witness"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

// TestEveryGuardIsNeeded takes the guards of the rule set away, one at a time: what remains must not
// be proved, and a request must be found on which the evaluator fails, where the proof says that it can.
// Some tests of presence guard nothing, because they are what the policy demands, or because
// the server makes sure of the field, which the proof of manifests as written tells apart.
func TestEveryGuardIsNeeded(t *testing.T) {
	all := os.Getenv("HOLDSHORT_SOAK") != "" // otherwise one of sixteen
	missed := map[string]bool{}
	for _, x := range profile.Builtin() {
		m := render(t, x)
		guards, needed, witnessed := 0, 0, 0
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
					def := policy.DeepCopy()
					*harness.ExpressionAt(def, c.Field) = text
					rest := compiled(t, policies.Manifests{Policies: []*admissionv1.ValidatingAdmissionPolicy{def}, Bindings: m.Bindings})
					switch {
					case !totals(t, rest, policy.Name, schema.Server):
						needed++
						name := policy.Name + " " + c.Field + " " + what
						if hasWitness(t, rest, policy.Name) {
							witnessed++
							continue
						}
						missed[name] = true
						if !unwitnessed[name] {
							t.Errorf("%s: %s %s: no request is found that fails without %s", x.Name, policy.Name, c.Field, what)
						}
					case !totals(t, rest, policy.Name, schema.Raw):
						needless = append(needless, fmt.Sprintf("%s %s: %s: the server makes sure of it", policy.Name, c.Field, what))
					default:
						needless = append(needless, fmt.Sprintf("%s %s: %s: nothing is read behind it that could be missing", policy.Name, c.Field, what))
					}
				}
			}
		}
		t.Logf("%s: %d guards, %d of them needed, %d of those with a witness, %d guard nothing:\n\t%s",
			x.Name, guards, needed, witnessed, len(needless), strings.Join(needless, "\n\t"))
		if guards < 100 || needed == 0 || all && needed < len(needless) {
			t.Errorf("%s: only %d of %d guards are needed, and %d not", x.Name, needed, guards, len(needless))
		}
	}
	for name := range unwitnessed {
		if all && !missed[name] {
			t.Errorf("%s: a request is found on each profile: remove it from unwitnessed", name)
		}
	}
}

// unwitnessed are the guards whose need is shown by the proof alone: the search for a request does not
// succeed in its steps, on each profile or on one.
var unwitnessed = map[string]bool{
	`breakglass-debug-container variables[19] has(variables.context.windowsOptions) (node 5)`:                          true,
	`breakglass-debug-container variables[19] has(variables.context.windowsOptions.hostProcess) (node 11)`:             true,
	`breakglass-debug-container variables[21] has(object.metadata.annotations) (node 5)`:                               true,
	`breakglass-debug-container variables[22] "hangar.io/breakglass-process-access" in variables.annotations (node 2)`: true,
	`breakglass-debug-container validations[5] has(s.privileged) (node 9)`:                                             true,
	`breakglass-debug-container validations[7] has(m.mountPropagation) (node 31)`:                                      true,
	`breakglass-debug-container validations[7] has(m.readOnly) (node 11)`:                                              true,
	`no-exec matchConditions[0] has(request.userInfo.username) (node 41)`:                                              true,
	`pipelinerun-shape validations[2] has(p.name) (node 59)`:                                                           true,
	`pipelinerun-shape validations[2] has(p.value) (node 64)`:                                                          true,
	`pipelinerun-shape validations[2] has(variables.ref.resolver) (node 29)`:                                           true,
	`token-request validations[1] object.spec.audiences != null (node 9)`:                                              true, // the server fills it in
	`writer-closed-world variables[2] has(request.userInfo.username) (node 5)`:                                         true,
	`writer-closed-world variables[3] has(request.userInfo.username) (node 5)`:                                         true,
	`writer-closed-world variables[4] has(request.userInfo.groups) (node 5)`:                                           true,
}

// hasWitness tells whether a request is found on which the evaluator fails at a node of which the proof
// says that it can fail. Of many cases a few are tried.
func hasWitness(t *testing.T, set *harness.Set, policy string) bool {
	const mostCases, steps = 4, 1000
	proofs, err := lint.Total(set, policy, lint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	searches := map[lint.Case]*witness.Search{}
	for _, p := range proofs {
		for _, o := range p.Open {
			c := o.Case
			if searches[c] == nil && len(searches) == mostCases {
				continue
			}
			if searches[c] == nil {
				searches[c], err = witness.New(set, policy, witness.Case{
					Operation: c.Operation, Resource: c.Resource, Subresource: c.Subresource, Kind: c.Kind, Namespaced: c.Namespaced,
				}, witness.Options{Steps: steps})
				if err != nil {
					t.Fatal(err)
				}
			}
			w, err := searches[c].Find(t.Context(), witness.Target{Expression: p.Field, Field: o.Field, Node: o.Node, Hints: o.When})
			if err != nil {
				t.Fatal(err)
			}
			if w != nil {
				return true
			}
		}
	}
	return false
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
