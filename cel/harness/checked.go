package harness

import (
	"fmt"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"hangar.io/holdshort/cel"
)

// Checked is an expression of a policy as the evaluator has it: its node ids are those of the
// program, so that an error of the program names the same node.
type Checked struct {
	// Field is where it stands, as in Expression.Field; Name as in Expression.Name.
	Field, Name, Text string
	AST               *ast.AST
	// Err says why there is no AST: the expression does not compile.
	Err error
}

// Checked returns the expressions of the policy of that name in the order of their fields: match
// conditions, variables, validations with their messages, audit annotations; and the environment
// that the functions of the expressions are declared in. The ASTs must not be modified.
func (s *Set) Checked(name string) ([]Checked, *celgo.Env, error) {
	p := s.find(name)
	if p == nil {
		return nil, nil, fmt.Errorf("there is no policy %q", name)
	}
	inner, err := plugincel.NewCompositedCompiler(baseEnvSet())
	if err != nil {
		return nil, nil, err
	}
	full := plugincel.OptionalVariableDeclarations{HasParams: p.def.Spec.ParamKind != nil, HasAuthorizer: true}
	message := full
	message.HasAuthorizer = false
	env := func(d plugincel.OptionalVariableDeclarations) (*celgo.Env, error) {
		base, err := inner.Env(environment.StoredExpressions)
		if err != nil {
			return nil, err
		}
		return cel.AdmissionEnv(base, d)
	}
	var all []Checked
	add := func(e *celgo.Env, field, name string, x plugincel.ExpressionAccessor) {
		checked, err := compileText(e, x)
		c := Checked{Field: field, Name: name, Text: x.GetExpression(), Err: err}
		if err == nil {
			c.AST = checked
		}
		all = append(all, c)
	}
	spec := &p.def.Spec
	for i, v := range spec.Variables {
		e, err := env(full)
		if err != nil {
			return nil, nil, err
		}
		x := &validating.Variable{Name: v.Name, Expression: v.Expression}
		add(e, indexed("variables", i), v.Name, x)
		inner.CompileAndStoreVariable(x, full, environment.StoredExpressions)
	}
	e, err := env(full)
	if err != nil {
		return nil, nil, err
	}
	withoutAuthorizer, err := env(message)
	if err != nil {
		return nil, nil, err
	}
	for i, c := range spec.MatchConditions {
		add(e, indexed("matchConditions", i), c.Name, (*matchconditions.MatchCondition)(&c))
	}
	for i, v := range spec.Validations {
		add(e, indexed("validations", i), p.names[i], &validating.ValidationCondition{Expression: v.Expression})
		if v.MessageExpression != "" {
			add(withoutAuthorizer, indexed("validations", i)+".messageExpression", p.names[i], &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
		}
	}
	for i, a := range spec.AuditAnnotations {
		add(e, indexed("auditAnnotations", i)+".valueExpression", a.Key, &validating.AuditAnnotationCondition{ValueExpression: a.ValueExpression})
	}
	return all, e, nil
}

// compileText turns a panic of the compiler into an error, see compileSafely, and refuses a type of value
// that the API server does not take there (apiserver pkg/admission/plugin/cel/compile.go).
func compileText(env *celgo.Env, x plugincel.ExpressionAccessor) (checked *ast.AST, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the CEL compiler panics on it: %v", p)
		}
	}()
	a, issues := env.Compile(x.GetExpression())
	if issues != nil && issues.Err() != nil {
		return nil, issues.Err()
	}
	var wanted []string
	for _, t := range x.ReturnTypes() {
		if a.OutputType().IsExactType(t) || celgo.AnyType.IsExactType(t) {
			return a.NativeRep(), nil
		}
		wanted = append(wanted, t.String())
	}
	return nil, fmt.Errorf("must evaluate to %s but is of type %s", strings.Join(wanted, " or "), a.OutputType())
}
