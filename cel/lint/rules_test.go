package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"hangar.io/holdshort/cel"
)

// TestEveryOverloadHasARule goes through the environments of all supported versions: an overload
// without a rule makes every expression that uses it unproved.
func TestEveryOverloadHasARule(t *testing.T) {
	used := map[string]bool{}
	for minor := uint(30); minor <= 37; minor++ {
		set := environment.MustBaseEnvSet(version.MajorMinor(1, minor))
		for _, mode := range []environment.Type{environment.NewExpressions, environment.StoredExpressions} {
			env, err := set.Env(mode)
			if err != nil {
				t.Fatal(err)
			}
			if env, err = cel.AdmissionEnv(env, cel.Declarations{HasParams: true, HasAuthorizer: true}); err != nil {
				t.Fatal(err)
			}
			for id := range functionsOf(env).overloads {
				used[id] = true
				if rules[id] == nil && !slices.Contains(elsewhere, id) {
					t.Errorf("1.%d: no rule for the overload %s", minor, id)
				}
			}
		}
	}
	for id := range rules {
		if !used[id] {
			t.Errorf("the rule for %s is for no overload of any environment", id)
		}
	}
}

// TestBreakingFunctions calls every function with an argument that fails or has another kind, beside a
// false operand that absorbs errors.
func TestBreakingFunctions(t *testing.T) {
	base, err := environment.MustBaseEnvSet(version.MajorMinor(1, 37)).Env(environment.StoredExpressions)
	if err != nil {
		t.Fatal(err)
	}
	env, err := cel.AdmissionEnv(base, cel.Declarations{HasParams: true, HasAuthorizer: true})
	if err != nil {
		t.Fatal(err)
	}
	input := map[string]any{"object": map[string]any{"int": 1, "text": "a", "list": []any{}, "map": map[string]any{}, "null": nil}}
	breaks, calls := map[string]bool{}, 0
	for name, d := range env.Functions() {
		for _, o := range d.OverloadDecls() {
			for _, argument := range []string{"missing", "int", "text", "list", "map", "null", ""} {
				for at, of := range o.ArgTypes() {
					x := "object." + argument
					if argument == "" { // an error of the type that is declared
						x = fmt.Sprintf("(object.missing ? %s : %s)", valueOf(of), valueOf(of))
					}
					text, ok := callOf(name, o, at, x)
					if !ok {
						continue
					}
					checked, issues := env.Compile("dyn(" + text + ") && false")
					if issues.Err() != nil {
						continue
					}
					program, err := env.Program(checked, celgo.CostLimit(1_000_000), celgo.CostTracking(&library.CostEstimator{}), celgo.EvalOptions(celgo.OptOptimize, celgo.OptTrackCost))
					if err != nil {
						continue
					}
					calls++
					if v, _, err := program.Eval(input); err != nil || v != types.False {
						breaks[name] = true
					}
				}
			}
		}
	}
	if calls < 1000 {
		t.Errorf("only %d calls were made", calls)
	}
	if !maps.Equal(breaks, breaking) {
		t.Errorf("these functions break the expression: %v, expected %v", breaks, breaking)
	}
}

// valueOf is a value of a type, "" if none is known.
func valueOf(t *types.Type) string {
	if t.Kind() == types.TypeParamKind {
		return "dyn(1)"
	}
	if t.Kind() == types.ListKind && len(t.Parameters()) == 1 {
		return "[" + valueOf(t.Parameters()[0]) + "]"
	}
	return map[string]string{
		"bool": "true", "int": "1", "uint": "1u", "double": "1.0", "string": "'1'", "bytes": "b'a'", "list": "[]", "map": "{}", "dyn": "dyn(1)", "type": "int",
		"google.protobuf.Duration": "duration('1s')", "google.protobuf.Timestamp": "timestamp('2020-01-01T00:00:00Z')", "optional_type": "optional.none()",
		"net.IP": "ip('1.1.1.1')", "net.CIDR": "cidr('1.1.1.0/24')", "kubernetes.Quantity": "quantity('1')", "kubernetes.URL": "url('https://a')", "kubernetes.Semver": "semver('1.0.0')",
		"kubernetes.authorization.Authorizer": "authorizer",
	}[t.TypeName()]
}

// callOf is a call with one argument put in.
func callOf(name string, o *decls.OverloadDecl, at int, argument string) (text string, ok bool) {
	var args []string
	for i, t := range o.ArgTypes() {
		v := valueOf(t)
		known := v != ""
		if i == at {
			v, known = argument, true
		}
		if !known {
			return "", false
		}
		args = append(args, v)
	}
	if name == "@sortByAssociatedKeys" { // what the macro sortBy is
		return "[1].sortBy(x, " + args[1] + "[0])", true
	}
	if o.IsMemberFunction() {
		return args[0] + "." + name + "(" + strings.Join(args[1:], ", ") + ")", true
	}
	return name + "(" + strings.Join(args, ", ") + ")", true
}
