package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"hangar.io/holdshort/cel/harness"
)

// Equivalent tells for each of several other sets whether the analysis proves that their policy of a
// name answers every request as that of the set does. It proves that of policies that differ in one
// expression, or in their failure policy; of others it says no, as where it does not know. The proof has
// the assumptions of Total.
func Equivalent(set *harness.Set, policy string, others []*harness.Set, o Options) ([]bool, error) {
	o.setDefaults()
	checked, env, err := set.Checked(policy)
	if err != nil {
		return nil, err
	}
	run := &totality{
		def: set.Policy(policy), bindings: set.Bindings(policy), checked: checked, functions: functionsOf(env), options: o,
		compare: &comparisons{at: map[textKey][]*comparison{}},
	}
	proved := make([]bool, len(others))
	of := make([][][]*comparison, len(others))
	for i, other := range others {
		switch kind := difference(set, other, policy); kind {
		case differInPolicy:
			if proved[i], err = neverFails(set, policy, o); err != nil {
				return nil, err
			}
		case differInExpressions:
			if of[i], err = run.compareWith(other, policy); err != nil {
				return nil, err
			}
		default:
			proved[i] = kind == differInNothing
		}
	}
	run.proofs = make([]Proof, len(checked))
	for _, k := range casesOf(run.def.Spec.MatchConstraints, o.Resources) {
		run.analyse(k)
	}
	for i := range others {
		proved[i] = proved[i] || !run.compare.unknown && slices.ContainsFunc(of[i], hold)
	}
	return proved, nil
}

type kindOfDifference int

const (
	differInMore kindOfDifference = iota
	differInNothing
	differInPolicy
	differInExpressions
)

func difference(set, other *harness.Set, policy string) kindOfDifference {
	a, b := set.Policy(policy), other.Policy(policy)
	if b == nil || !equality.Semantic.DeepEqual(set.Bindings(policy), other.Bindings(policy)) || !equality.Semantic.DeepEqual(frame(a), frame(b)) {
		return differInMore
	}
	x, y := a.DeepCopy(), b.DeepCopy()
	x.Spec.FailurePolicy, y.Spec.FailurePolicy = nil, nil
	sameExpressions, samePolicy := equality.Semantic.DeepEqual(x.Spec, y.Spec), *a.Spec.FailurePolicy == *b.Spec.FailurePolicy
	switch {
	case sameExpressions && samePolicy:
		return differInNothing
	case sameExpressions:
		return differInPolicy
	case samePolicy:
		return differInExpressions
	}
	return differInMore
}

// hold tells whether comparisons all hold. One that was never made says nothing.
func hold(all []*comparison) bool {
	return !slices.ContainsFunc(all, func(c *comparison) bool { return !c.seen || c.differs })
}

// compareWith adds groups of comparisons. The policies are equivalent if all of one group hold: a part
// of the changed expression, or all validations that read the changed variable.
func (r *totality) compareWith(other *harness.Set, policy string) ([][]*comparison, error) {
	checked, _, err := other.Checked(policy)
	if err != nil {
		return nil, err
	}
	changed := -1
	for i, x := range r.checked {
		if x.Text == checked[i].Text {
			continue
		}
		if changed >= 0 || x.AST == nil || checked[i].AST == nil {
			return nil, nil
		}
		changed = i
	}
	var out [][]*comparison
	x, y := r.checked[changed], checked[changed]
	for _, pair := range differences(x.AST.Expr(), y.AST.Expr()) {
		c := &comparison{with: &expression{y.Field, y.AST}, part: pair[1]}
		key := textKey{x.AST, pair[0].ID()}
		r.compare.at[key] = append(r.compare.at[key], c)
		out = append(out, []*comparison{c})
	}
	if isVariable(x.Field) {
		if readers := r.readersOf(x, y); len(readers) > 0 {
			out = append(out, readers)
		}
	}
	return out, nil
}

// readersOf adds a comparison for each validation that reads a variable, by itself or through others:
// with what the variable is in the other policy.
func (r *totality) readersOf(x, y harness.Checked) []*comparison {
	variables := map[string]*expression{}
	read := map[string]bool{x.Name: true}
	for _, v := range r.checked { // a variable reads only earlier ones
		if !isVariable(v.Field) || v.AST == nil {
			continue
		}
		variables[v.Name] = &expression{v.Field, v.AST}
		read[v.Name] = read[v.Name] || reads(v.AST.Expr(), read)
	}
	variables[x.Name] = &expression{y.Field, y.AST}
	var out []*comparison
	for _, v := range r.checked {
		if v.AST == nil || !strings.HasPrefix(v.Field, "validations[") || isMessage(v.Field) || !reads(v.AST.Expr(), read) {
			continue
		}
		c := &comparison{with: &expression{v.Field, v.AST}, part: v.AST.Expr(), variables: variables}
		key := textKey{v.AST, v.AST.Expr().ID()}
		r.compare.at[key] = append(r.compare.at[key], c)
		out = append(out, c)
	}
	return out
}

// reads tells whether an expression reads one of several variables.
func reads(x ast.Expr, names map[string]bool) bool {
	found := false
	ast.PreOrderVisit(x, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.SelectKind {
			return
		}
		of := e.AsSelect().Operand()
		found = found || of.Kind() == ast.IdentKind && of.AsIdent() == "variables" && names[e.AsSelect().FieldName()]
	}))
	return found
}

// frame is what of a policy has to be the same: all but its expressions and its failure policy.
func frame(p *admissionv1.ValidatingAdmissionPolicy) admissionv1.ValidatingAdmissionPolicySpec {
	s := p.DeepCopy().Spec
	s.FailurePolicy = nil
	for i := range s.MatchConditions {
		s.MatchConditions[i].Expression = ""
	}
	for i := range s.Variables {
		s.Variables[i].Expression = ""
	}
	for i := range s.Validations {
		s.Validations[i].Expression = ""
	}
	return s
}

// neverFails tells whether nothing of a policy can fail that its failure policy decides about. With
// params it can: they may be missing.
func neverFails(set *harness.Set, policy string, o Options) (bool, error) {
	proofs, err := Total(set, policy, o)
	if err != nil || set.Policy(policy).Spec.ParamKind != nil {
		return false, err
	}
	return !slices.ContainsFunc(proofs, func(p Proof) bool { return !p.Proved() && !isVariable(p.Field) && !isMessage(p.Field) }), nil
}

// comparisons are made while a policy is followed, wherever one of their parts is evaluated.
type comparisons struct {
	at map[textKey][]*comparison
	// unknown: something was not followed, so that not all evaluations of a part were seen.
	unknown bool
	within  bool // a comparison
	// remembered is what variables are in a state, as far as one comparison has found it out: what it
	// evaluates does not count as seen.
	remembered map[reading][]outcome
}

// comparison is of a part of an expression with what another has in its place.
type comparison struct {
	with *expression
	part ast.Expr
	// variables that the part reads, nil: those of the policy.
	variables map[string]*expression

	// seen: the part was evaluated. differs: it may fail, or the other does or has another value.
	seen, differs bool
}

// compared evaluates in place of a part what others have there, in what is known after it.
func (e *evaluation) compared(x ast.Expr, in []outcome) {
	all := e.compare.at[textKey{e.ast, x.ID()}]
	if len(all) == 0 || e.compare.within {
		return
	}
	e.compare.within, e.compare.remembered = true, map[reading][]outcome{}
	steps := e.steps
	defer func() { e.compare.within, e.steps = false, steps }()
	isTruth := e.ast.GetType(x.ID()).Kind() == types.BoolKind
	if isTruth {
		in = e.truths(in, x.ID())
	}
	for _, c := range all {
		c.seen = true
		for i := 0; i < len(in) && !c.differs; i++ {
			e.steps = steps
			c.differs = e.differs(in[i], c, isTruth)
		}
	}
}

func (e *evaluation) differs(o outcome, c *comparison, isTruth bool) bool {
	if o.fault != nil {
		return true
	}
	with := *e
	with.expression = c.with
	if c.variables != nil {
		a := *e.analysis
		a.variables, a.remembered = c.variables, map[reading][]outcome{}
		a.compare = &comparisons{within: true, remembered: map[reading][]outcome{}}
		with.analysis = &a
	}
	others := with.eval(c.part, o.state)
	if isTruth {
		others = with.truths(others, c.part.ID())
	}
	return slices.ContainsFunc(others, func(p outcome) bool { return p.fault != nil || !e.sameValue(o, p) })
}

func (e *evaluation) sameValue(a, b outcome) bool {
	if a.value == b.value {
		return true
	}
	x, y := b.state.equal(a.value, e.terms), b.state.equal(b.value, e.terms)
	return x != nil && y != nil && x.shape.Kinds == y.shape.Kinds && constantEqual(x, y)
}

// differences are the parts in which two expressions differ, each within the one before, as far as
// only one part of each does.
func differences(a, b ast.Expr) [][2]ast.Expr {
	if sameExpr(a, b) {
		return nil
	}
	out := [][2]ast.Expr{{a, b}}
	x, y := operandsOf(a), operandsOf(b)
	if head(a) != head(b) || len(x) != len(y) {
		return out
	}
	only := -1
	for i := range x {
		if sameExpr(x[i], y[i]) {
			continue
		}
		if only >= 0 {
			return out
		}
		only = i
	}
	if only < 0 {
		return out
	}
	return append(out, differences(x[only], y[only])...)
}

func sameExpr(a, b ast.Expr) bool {
	x, y := operandsOf(a), operandsOf(b)
	if head(a) != head(b) || len(x) != len(y) {
		return false
	}
	for i := range x {
		if !sameExpr(x[i], y[i]) {
			return false
		}
	}
	return true
}

// operandsOf are the expressions within another that are evaluated by themselves.
func operandsOf(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			return append([]ast.Expr{e.AsCall().Target()}, e.AsCall().Args()...)
		}
		return e.AsCall().Args()
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var all []ast.Expr
		for _, x := range e.AsMap().Entries() {
			all = append(all, x.AsMapEntry().Key(), x.AsMapEntry().Value())
		}
		return all
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		f := foldOf(c)
		if f.macro == "bind" {
			return []ast.Expr{c.AccuInit(), c.Result()}
		}
		all := []ast.Expr{c.IterRange()}
		for _, x := range []ast.Expr{f.predicate, f.result} {
			if x != nil {
				all = append(all, x)
			}
		}
		return all
	}
	return nil
}

// head is what an expression is apart from its parts.
func head(e ast.Expr) string {
	switch e.Kind() {
	case ast.LiteralKind:
		return literalText(e.AsLiteral())
	case ast.IdentKind:
		return "ident " + e.AsIdent()
	case ast.SelectKind:
		return fmt.Sprintf("select %s %t", e.AsSelect().FieldName(), e.AsSelect().IsTestOnly())
	case ast.CallKind:
		return fmt.Sprintf("call %s %t", e.AsCall().FunctionName(), e.AsCall().IsMemberFunction())
	case ast.ListKind:
		return fmt.Sprintf("list %v", e.AsList().OptionalIndices())
	case ast.MapKind:
		var optional []string
		for _, x := range e.AsMap().Entries() {
			optional = append(optional, fmt.Sprint(x.AsMapEntry().IsOptional()))
		}
		return "map " + strings.Join(optional, " ")
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		f := foldOf(c)
		return fmt.Sprintf("%s %s %s %t %t", f.macro, c.IterVar(), c.IterVar2(), f.predicate != nil, f.result != nil)
	}
	return "unknown"
}

func literalText(v ref.Val) string {
	return fmt.Sprintf("literal %s %#v", v.Type().TypeName(), v.Value())
}
