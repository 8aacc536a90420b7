package harness

import (
	"context"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"hangar.io/holdshort/cel"
)

// run is one evaluation of one request. It travels in the context through the server's code, from
// the dispatcher to the programs, and collects what they do. Dispatch is sequential, so it needs
// no lock.
type run struct {
	trace bool
	// unknownNamespace: nobody described the namespace of the request, so an expression that
	// reads namespaceObject cannot be judged.
	unknownNamespace bool

	calls []*call // one a policy, binding and param that was evaluated
	gaps  []Gap
	skips []PolicyTrace // policies and bindings that did not apply
	// current is the call being evaluated; at is the last expression that it ran.
	current *call
	at      *site
}

type runKey struct{}

func runFrom(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// call is one invocation of a policy's validator.
type call struct {
	policy  *policy
	binding *admissionv1.ValidatingAdmissionPolicyBinding
	param   string
	match   *matchconditions.MatchResult // nil if the policy has no match conditions
	result  validating.ValidateResult
	// failedAt is the last expression run; it is where a call ended that ran out of cost.
	failedAt    *site
	expressions []Expression
	// configuration is why the validator could not be called.
	configuration error
	// noParams: the binding found no params, and says that this is allowed.
	noParams bool
	// gap: the result depends on something unknown, so it is no verdict.
	gap bool
}

// site is the place of an expression in a policy.
type site struct {
	policy string
	field  string
	name   string
	text   string
	// readsNamespace: the text may read more of namespaceObject than its name.
	readsNamespace bool
	tracked        func() *trackedProgram
}

// tracedProgram reports each evaluation of a program to the run it is part of.
type tracedProgram struct {
	celgo.Program
	site *site
}

// ContextEval is the one method the API server evaluates admission expressions by
// (apiserver pkg/admission/plugin/cel/activation.go and composition.go).
func (p tracedProgram) ContextEval(ctx context.Context, input any) (ref.Val, *celgo.EvalDetails, error) {
	r := runFrom(ctx)
	if r == nil {
		return p.Program.ContextEval(ctx, input)
	}
	r.at = p.site
	probe := &namespaceProbe{}
	if r.unknownNamespace && p.site.readsNamespace {
		input = probe.watch(input)
	}
	v, details, err := p.Program.ContextEval(ctx, input)
	if probe.read && r.current != nil {
		r.gap(Gap{Policy: p.site.policy, Binding: r.current.binding.Name, Need: "namespace",
			Detail: fmt.Sprintf("%s reads namespaceObject, and nothing describes the namespace; give its labels or the Namespace object", p.site.field)})
	}
	if r.trace && r.current != nil {
		r.current.expressions = append(r.current.expressions, p.site.record(ctx, input, v, details, err))
	}
	return v, details, err
}

func (r *run) gap(g Gap) {
	if r.current != nil {
		r.current.gap = true
	}
	for _, known := range r.gaps {
		if known == g {
			return
		}
	}
	r.gaps = append(r.gaps, g)
}

// tracingCompiler is the server's compiler of a policy, with traced programs.
type tracingCompiler struct {
	*plugincel.CompositedCompiler
	def      *admissionv1.ValidatingAdmissionPolicy
	mode     environment.Type
	problems []Problem
	shared   *programs
	// declared are the variables so far with their types: what a program is compiled against.
	declared string
	// envs builds the environments in which sub-expressions are explained, at first use.
	envs func(plugincel.OptionalVariableDeclarations) (*celgo.Env, error)
}

func newTracingCompiler(def *admissionv1.ValidatingAdmissionPolicy, mode environment.Type, shared *programs) (*tracingCompiler, error) {
	inner, err := plugincel.NewCompositedCompiler(baseEnvSet())
	if err != nil {
		return nil, err
	}
	c := &tracingCompiler{CompositedCompiler: inner, def: def, mode: mode, shared: shared}
	c.envs = func(d plugincel.OptionalVariableDeclarations) (*celgo.Env, error) {
		base, err := inner.Env(environment.StoredExpressions)
		if err != nil {
			return nil, err
		}
		return cel.AdmissionEnv(base, d)
	}
	inner.Compiler = variableCompiler{inner.Compiler, c}
	return c, nil
}

// variable carries the field path of a policy's variable to the compiler.
type variable struct {
	validating.Variable
	field string
}

// variableCompiler is what CompileAndStoreVariable compiles with.
type variableCompiler struct {
	plugincel.Compiler
	c *tracingCompiler
}

func (v variableCompiler) CompileCELExpression(a plugincel.ExpressionAccessor, d plugincel.OptionalVariableDeclarations, mode environment.Type) plugincel.CompilationResult {
	r := v.c.shared.compile(programKey{fmt.Sprintf("%T", a), a.GetExpression(), v.c.declared, d}, a, func() plugincel.CompilationResult {
		return compileSafely(v.Compiler, a, d, mode)
	})
	if named, ok := a.(*variable); ok {
		v.c.declared += fmt.Sprintf("%s %s\n", named.Name, r.OutputType)
		return v.c.traced(r, named.field, named.Name, named.Expression, d)
	}
	return r
}

// compileSafely turns a panic of the compiler into an error: cel-go 0.29 panics on an optional entry
// of dynamic type, [?object] (cel/validator.go). An API server answers 500 to a policy with such an
// expression, so it cannot be stored.
func compileSafely(c plugincel.Compiler, a plugincel.ExpressionAccessor, d plugincel.OptionalVariableDeclarations, mode environment.Type) (r plugincel.CompilationResult) {
	defer func() {
		if p := recover(); p != nil {
			r = plugincel.CompilationResult{ExpressionAccessor: a, Error: &apiservercel.Error{
				Type: apiservercel.ErrorTypeInternal, Detail: fmt.Sprintf("the CEL compiler panics on it: %v", p)}}
		}
	}()
	return c.CompileCELExpression(a, d, mode)
}

// compile does what CompileCondition of the server's composited compiler does: the result gives
// its expressions the policy's variables.
func (c *tracingCompiler) compile(field, suffix string, accessors []plugincel.ExpressionAccessor, d plugincel.OptionalVariableDeclarations) plugincel.ConditionEvaluator {
	c.ConditionCompiler = conditionCompiler(func(a plugincel.ExpressionAccessor, i int) plugincel.CompilationResult {
		r := c.Compiler.CompileCELExpression(a, d, c.mode)
		return c.traced(r, indexed(field, i)+suffix, nameOf(c.def, field, i), a.GetExpression(), d)
	})
	return c.CompileCondition(accessors, d, c.mode)
}

type conditionCompiler func(a plugincel.ExpressionAccessor, i int) plugincel.CompilationResult

func (f conditionCompiler) CompileCondition(accessors []plugincel.ExpressionAccessor, _ plugincel.OptionalVariableDeclarations, _ environment.Type) plugincel.ConditionEvaluator {
	results := make([]plugincel.CompilationResult, len(accessors))
	for i, a := range accessors {
		if a != nil {
			results[i] = f(a, i)
		}
	}
	return plugincel.NewCondition(results)
}

// traced wraps the program of a compiled expression and notes it if there is none.
func (c *tracingCompiler) traced(r plugincel.CompilationResult, field, name, text string, d plugincel.OptionalVariableDeclarations) plugincel.CompilationResult {
	if r.Error != nil {
		c.problems = append(c.problems, Problem{Policy: c.def.Name, Field: field, Name: name, Text: text, Err: r.Error})
	}
	if r.Program == nil {
		return r
	}
	s := &site{policy: c.def.Name, field: field, name: name, text: text, readsNamespace: readsNamespace(text)}
	s.tracked = sync.OnceValue(func() *trackedProgram { return newTrackedProgram(c.envs, d, text) })
	r.Program = tracedProgram{r.Program, s}
	return r
}

func nameOf(def *admissionv1.ValidatingAdmissionPolicy, field string, i int) string {
	switch field {
	case "matchConditions":
		return def.Spec.MatchConditions[i].Name
	case "auditAnnotations":
		return def.Spec.AuditAnnotations[i].Key
	default:
		return ValidationNames(def)[i]
	}
}

// recordingMatcher keeps the result of a policy's match conditions for the verdict.
type recordingMatcher struct{ matchconditions.Matcher }

func (m recordingMatcher) Match(ctx context.Context, attr *admission.VersionedAttributes, params runtime.Object, authz authorizer.UnconditionalAuthorizer) matchconditions.MatchResult {
	result := m.Matcher.Match(ctx, attr, params, authz)
	if r := runFrom(ctx); r != nil && r.current != nil {
		r.current.match = &result
		r.current.failedAt = r.at
	}
	return result
}

// recordingValidator compiles its policy at first use and keeps every decision, of which the
// dispatcher reports only the first.
type recordingValidator struct{ policy *policy }

func (v recordingValidator) CompileError() error { return v.policy.compiled().CompileError() }

func (v recordingValidator) Validate(ctx context.Context, resource schema.GroupVersionResource, attr *admission.VersionedAttributes, param runtime.Object, namespace *corev1.Namespace, budget int64, authz authorizer.UnconditionalAuthorizer) validating.ValidateResult {
	r := runFrom(ctx)
	c := &call{policy: v.policy, binding: r.current.binding, param: paramName(param)}
	r.current, r.at = c, nil
	c.result = v.policy.compiled().Validate(ctx, resource, attr, param, namespace, budget, authz)
	if c.match == nil || c.match.Error == nil {
		c.failedAt = r.at
	}
	r.calls = append(r.calls, c)
	return c.result
}
