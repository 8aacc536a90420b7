package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Set is a set of policies with their bindings, each compiled once, at its first use. It is
// immutable and safe for concurrent use.
type Set struct {
	policies []*policy                                       // sorted by name
	stray    []*admissionv1.ValidatingAdmissionPolicyBinding // sorted by name
}

// policy is a policy with its bindings.
type policy struct {
	def      *admissionv1.ValidatingAdmissionPolicy
	bindings []*admissionv1.ValidatingAdmissionPolicyBinding // sorted by name
	names    []string                                        // of the validations
	compiled func() *compiled
	programs *programs
}

// compiled is the executable form of a policy.
type compiled struct {
	validating.Validator
	problems []Problem
}

// Problem is something in a policy or binding that the API server does not take: an expression that
// does not compile, or a field that API validation refuses.
type Problem struct {
	Policy string
	// Binding is set where the problem is in a binding of the policy.
	Binding string
	// Field is the path below spec, for expressions as in Expression.Field.
	Field string
	Name  string
	Text  string
	// Create: the API server refuses to create the policy, but evaluates it if it is already
	// stored (it knows more functions when it evaluates than it lets new policies use).
	// Otherwise evaluation fails as well.
	Create bool
	Err    error
}

func (p Problem) Error() string {
	if p.Binding != "" {
		return fmt.Sprintf("binding %q of policy %q: %s: %v", p.Binding, p.Policy, p.Field, p.Err)
	}
	return fmt.Sprintf("policy %q: %s: %v", p.Policy, p.Field, p.Err)
}

// Compile brings policies and bindings to the form the API server evaluates, with the defaults of
// the API. Bindings to policies that are not given do nothing, as on the server; Set.Stray lists them.
// Two policies or two bindings of one name are an error, since a cluster cannot hold both.
//
// An expression that does not compile is no error here: the server evaluates such a policy to an
// error. Set.Problems lists them.
func Compile(policies []*admissionv1.ValidatingAdmissionPolicy, bindings []*admissionv1.ValidatingAdmissionPolicyBinding) (*Set, error) {
	s := &Set{}
	byName := map[string]*policy{}
	var errs []error
	for _, def := range policies {
		if byName[def.Name] != nil {
			errs = append(errs, fmt.Errorf("two policies are named %q: a cluster holds one; give one of them, or check the files separately", def.Name))
			continue
		}
		p := newPolicy(def, &programs{})
		byName[def.Name] = p
		s.policies = append(s.policies, p)
	}
	seen := map[string]bool{}
	for _, b := range bindings {
		if seen[b.Name] {
			errs = append(errs, fmt.Errorf("two bindings are named %q: a cluster holds one; give one of them, or check the files separately", b.Name))
			continue
		}
		seen[b.Name] = true
		if p := byName[b.Spec.PolicyName]; p != nil {
			p.bindings = append(p.bindings, defaultBinding(b))
		} else {
			s.stray = append(s.stray, defaultBinding(b))
		}
	}
	slices.SortFunc(s.policies, func(a, b *policy) int { return strings.Compare(a.def.Name, b.def.Name) })
	byBinding := func(a, b *admissionv1.ValidatingAdmissionPolicyBinding) int { return strings.Compare(a.Name, b.Name) }
	for _, p := range s.policies {
		slices.SortFunc(p.bindings, byBinding)
	}
	slices.SortFunc(s.stray, byBinding)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

func newPolicy(def *admissionv1.ValidatingAdmissionPolicy, shared *programs) *policy {
	p := &policy{def: defaultPolicy(def), names: ValidationNames(def), programs: shared}
	p.compiled = sync.OnceValue(func() *compiled { return compile(p.def, p.programs) })
	return p
}

// Variant is the set that holds just the policy def, in place of the policy of its name, with these
// bindings. An expression that the two have in common is compiled once.
func (s *Set) Variant(def *admissionv1.ValidatingAdmissionPolicy, bindings []*admissionv1.ValidatingAdmissionPolicyBinding) (*Set, error) {
	v, err := Compile([]*admissionv1.ValidatingAdmissionPolicy{def}, bindings)
	if of := s.find(def.Name); err == nil && of != nil {
		p := newPolicy(def, of.programs)
		p.bindings = v.policies[0].bindings
		v.policies[0] = p
	}
	return v, err
}

// Policies returns the names of the policies, sorted.
func (s *Set) Policies() []string {
	names := make([]string, len(s.policies))
	for i, p := range s.policies {
		names[i] = p.def.Name
	}
	return names
}

// Policy returns the policy of that name with the defaults of the API, nil if there is none. It
// must not be modified.
func (s *Set) Policy(name string) *admissionv1.ValidatingAdmissionPolicy {
	if p := s.find(name); p != nil {
		return p.def
	}
	return nil
}

// Bindings returns the bindings of the policy of that name, sorted by name, with the defaults of
// the API. They must not be modified.
func (s *Set) Bindings(name string) []*admissionv1.ValidatingAdmissionPolicyBinding {
	if p := s.find(name); p != nil {
		return p.bindings
	}
	return nil
}

// Stray returns the bindings to policies that the set does not have, sorted by name, with the defaults
// of the API. They must not be modified.
func (s *Set) Stray() []*admissionv1.ValidatingAdmissionPolicyBinding { return s.stray }

func (s *Set) find(name string) *policy {
	i, ok := slices.BinarySearchFunc(s.policies, name, func(p *policy, n string) int { return strings.Compare(p.def.Name, n) })
	if !ok {
		return nil
	}
	return s.policies[i]
}

// Only returns the set that holds just the policy of that name, sharing its compiled form; an
// empty set if there is none.
func (s *Set) Only(name string) *Set {
	if p := s.find(name); p != nil {
		return &Set{policies: []*policy{p}}
	}
	return &Set{}
}

// Problems compiles every expression in the server's two environments, the one it accepts new
// policies with and the one it evaluates with, checks fields that decide what a policy does, and
// returns what the server does not take, policy by policy: fields first, then expressions, then
// bindings.
func (s *Set) Problems() []Problem {
	var all []Problem
	for _, p := range s.policies {
		all = append(all, invalid(p.def.Name, "", validPolicy(p.def))...)
		evaluated := p.compiled().problems
		all = append(all, evaluated...)
		for _, created := range compileWith(p.def, environment.NewExpressions, &programs{}).problems {
			known := slices.ContainsFunc(evaluated, func(e Problem) bool { return e.Field == created.Field })
			if !known {
				created.Create = true
				all = append(all, created)
			}
		}
		for _, b := range p.bindings {
			all = append(all, invalid(p.def.Name, b.Name, validBinding(b))...)
		}
	}
	return all
}

func compile(def *admissionv1.ValidatingAdmissionPolicy, shared *programs) *compiled {
	return compileWith(def, environment.StoredExpressions, shared)
}

// baseEnvSet is built once: extending it is what a policy's compilation costs.
var baseEnvSet = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// compileWith follows compilePolicy in apiserver pkg/admission/plugin/policy/validating/plugin.go,
// which is not exported. The compilers that it would use are wrapped, so that each program reports
// to the evaluation that runs it.
func compileWith(def *admissionv1.ValidatingAdmissionPolicy, mode environment.Type, shared *programs) *compiled {
	c, err := newTracingCompiler(def, mode, shared)
	if err != nil {
		return &compiled{Validator: validating.NewValidator(nil, nil, nil, nil, def.Spec.FailurePolicy, err)}
	}
	full := plugincel.OptionalVariableDeclarations{HasParams: def.Spec.ParamKind != nil, HasAuthorizer: true}
	message := full
	message.HasAuthorizer = false

	for i := range def.Spec.Variables {
		v := &def.Spec.Variables[i]
		a := &variable{validating.Variable{Name: v.Name, Expression: v.Expression}, indexed("variables", i)}
		c.CompileAndStoreVariable(a, full, mode)
	}
	conditions := make([]plugincel.ExpressionAccessor, len(def.Spec.MatchConditions))
	for i := range def.Spec.MatchConditions {
		conditions[i] = (*matchconditions.MatchCondition)(&def.Spec.MatchConditions[i])
	}
	var matcher matchconditions.Matcher
	if len(conditions) > 0 {
		inner := matchconditions.NewMatcher(c.compile("matchConditions", "", conditions, full), def.Spec.FailurePolicy, "policy", "validate", def.Name)
		matcher = recordingMatcher{inner}
	}
	validations := make([]plugincel.ExpressionAccessor, len(def.Spec.Validations))
	messages := make([]plugincel.ExpressionAccessor, len(def.Spec.Validations))
	for i, v := range def.Spec.Validations {
		validations[i] = &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason}
		if v.MessageExpression != "" {
			messages[i] = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
	}
	annotations := make([]plugincel.ExpressionAccessor, len(def.Spec.AuditAnnotations))
	for i, a := range def.Spec.AuditAnnotations {
		annotations[i] = &validating.AuditAnnotationCondition{Key: a.Key, ValueExpression: a.ValueExpression}
	}
	return &compiled{
		Validator: validating.NewValidator(
			c.compile("validations", "", validations, full),
			matcher,
			c.compile("auditAnnotations", ".valueExpression", annotations, full),
			c.compile("validations", ".messageExpression", messages, message),
			def.Spec.FailurePolicy,
			nil),
		problems: c.problems,
	}
}

func indexed(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }
