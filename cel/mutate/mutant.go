package mutate

import (
	"fmt"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
)

// Mutant is a policy with one change.
type Mutant struct {
	Policy string
	// Operator is what made the change.
	Operator string
	// Field is what is changed: an expression as in harness.Expression (validations[0]), or a field
	// below spec (matchConstraints.resourceRules[0].operations). Binding is set where it is one of a
	// binding.
	Field, Binding string
	// Name is that of the match condition, variable or validation.
	Name string
	// Before and After are what stands at the place, and what the mutant has there. Start is where, in
	// characters of Text.
	Before, After string
	Start         int
	// Text and Mutated are the whole expression; empty for other fields.
	Text, Mutated string

	of       *harness.Set // with the policy itself
	def      *admissionv1.ValidatingAdmissionPolicy
	bindings []*admissionv1.ValidatingAdmissionPolicyBinding
}

// Set holds the mutant alone, with the bindings of the policy.
func (m Mutant) Set() (*harness.Set, error) { return m.of.Variant(m.def, m.bindings) }

// Place says where the change is, as in "validations[0] (images) line 2".
func (m Mutant) Place() string {
	at := m.Field
	if m.Binding != "" {
		at = fmt.Sprintf("binding %q %s", m.Binding, at)
	}
	if m.Name != "" && m.Name != m.Field {
		at += " (" + m.Name + ")"
	}
	if line := m.Line(); strings.Contains(m.Text, "\n") {
		at += fmt.Sprintf(" line %d", line)
	}
	return at
}

// Line is the line of the expression that the change is in, from 1.
func (m Mutant) Line() int {
	return 1 + strings.Count(string([]rune(m.Text)[:m.Start]), "\n")
}

// Operator is one kind of change.
type Operator struct {
	Name string
	// Summary says in half a sentence what is changed.
	Summary string

	// expression are the changes of the text of an expression.
	expression func(*site) []edit
	// policy are the changes of other fields.
	policy func(*changes)
}

// allOperators, in the order of mutants of one field: a new one stands here and in its file.
var allOperators = []*Operator{
	guardOperator,
	comparisonOperator,
	logicOperator,
	quantifierOperator,
	negationOperator,
	literalOperator,
	boundaryOperator,
	prefixOperator,
	validationOperator,
	conditionOperator,
	ruleOperator,
	operationOperator,
	failurePolicyOperator,
	actionOperator,
}

// Operators are all kinds of changes, in the order in which they are applied.
func Operators() []*Operator { return slices.Clone(allOperators) }

// site is an expression that operators change.
type site struct {
	*source
	truth bool // the expression is a truth
}

// edit replaces a part of an expression.
type edit struct {
	span
	after string
}

// replace is the edit of one token.
func (s *source) replace(token int, after string) edit { return edit{s.tokens[token].span, after} }

// Of are the mutants of a policy of a set: those of its expressions, field by field, then those of its
// other fields and of its bindings. The error is that there is no such policy. An expression that does
// not compile has no mutants.
func Of(set *harness.Set, policy string) ([]Mutant, error) {
	checked, env, err := set.Checked(policy)
	if err != nil {
		return nil, err
	}
	m := &maker{set: set, def: set.Policy(policy), bindings: set.Bindings(policy), env: env}
	for _, x := range checked {
		if x.AST != nil && decides(x.Field) {
			if err := m.expression(x); err != nil {
				return nil, err
			}
		}
	}
	for _, o := range allOperators {
		if o.policy != nil {
			o.policy(&changes{maker: m, operator: o})
		}
	}
	return m.mutants, nil
}

// decides tells whether the value of an expression has a part in the verdict.
func decides(field string) bool {
	return !strings.HasSuffix(field, ".messageExpression") && !strings.HasPrefix(field, "auditAnnotations[")
}

// maker collects the mutants of one policy.
type maker struct {
	set      *harness.Set
	def      *admissionv1.ValidatingAdmissionPolicy
	bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	env      *celgo.Env
	mutants  []Mutant
}

func (m *maker) expression(x harness.Checked) error {
	source, err := read(x.Text)
	if err != nil {
		return fmt.Errorf("policy %q: %s: %w", m.def.Name, x.Field, err)
	}
	s := &site{source, x.AST.GetType(x.AST.Expr().ID()) == celgo.BoolType || !strings.HasPrefix(x.Field, "variables[")}
	seen := map[string]bool{x.Text: true}
	for _, o := range allOperators {
		if o.expression == nil {
			continue
		}
		for _, e := range o.expression(s) {
			mutated := string(s.text[:e.start]) + e.after + string(s.text[e.end:])
			if seen[mutated] {
				continue
			}
			seen[mutated] = true
			def := m.def.DeepCopy()
			*harness.ExpressionAt(def, x.Field) = mutated
			if !m.compiles(x, mutated, def) {
				continue
			}
			m.mutants = append(m.mutants, Mutant{
				Policy: m.def.Name, Operator: o.Name, Field: x.Field, Name: x.Name,
				Before: s.of(e.span), After: e.after, Start: e.start, Text: x.Text, Mutated: mutated,
				of: m.set, def: def, bindings: m.bindings,
			})
		}
	}
	return nil
}

// compiles tells whether the server takes an expression in place of another. A variable may change its
// type, if all that read it compile still.
func (m *maker) compiles(x harness.Checked, text string, def *admissionv1.ValidatingAdmissionPolicy) bool {
	compiled, issues := m.env.Compile(text)
	if issues.Err() != nil {
		return false
	}
	if compiled.OutputType().IsExactType(x.AST.GetType(x.AST.Expr().ID())) {
		return true
	}
	if !strings.HasPrefix(x.Field, "variables[") {
		return false
	}
	set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{def}, nil)
	if err != nil {
		return false
	}
	checked, _, err := set.Checked(def.Name)
	return err == nil && !slices.ContainsFunc(checked, func(c harness.Checked) bool { return c.Err != nil })
}

// changes collects the mutants that an operator makes of fields that are no expressions.
type changes struct {
	*maker
	operator *Operator
}

// policy adds a mutant of the policy.
func (c *changes) policy(m Mutant, change func(*admissionv1.ValidatingAdmissionPolicySpec)) {
	m.Policy, m.Operator = c.def.Name, c.operator.Name
	m.of, m.def, m.bindings = c.set, c.def.DeepCopy(), c.maker.bindings
	change(&m.def.Spec)
	c.mutants = append(c.mutants, m)
}

// binding adds a mutant of a binding.
func (c *changes) binding(i int, m Mutant, change func(*admissionv1.ValidatingAdmissionPolicyBindingSpec)) {
	m.Policy, m.Operator, m.Binding = c.def.Name, c.operator.Name, c.maker.bindings[i].Name
	m.of, m.def, m.bindings = c.set, c.def, slices.Clone(c.maker.bindings)
	m.bindings[i] = m.bindings[i].DeepCopy()
	change(&m.bindings[i].Spec)
	c.mutants = append(c.mutants, m)
}
