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
	run, err := newTotality(set, policy, o)
	if err != nil {
		return nil, err
	}
	run.compare = &comparisons{at: map[textKey][]*comparison{}}
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
	run.proofs = make([]Proof, len(run.checked))
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

// hold tells whether comparisons all hold. A part that no request comes to makes no difference, if the
// whole expression is evaluated; a variable that is not has to be looked at where it is read.
func hold(all []*comparison) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(c *comparison) bool { return c.differs || c.whole != nil && !c.whole.seen })
}

// compareWith adds groups of comparisons. The policies are equivalent if all of one group hold: a part
// of the changed expression, or all that reads the changed variable.
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
	var whole *comparison
	for _, pair := range differences(x.AST.Expr(), y.AST.Expr()) {
		c := &comparison{with: &expression{y.Field, y.AST}, part: pair[1]}
		if whole == nil {
			whole = c
		}
		c.whole = whole
		key := textKey{x.AST, pair[0].ID()}
		r.compare.at[key] = append(r.compare.at[key], c)
		out = append(out, []*comparison{c})
	}
	if isVariable(x.Field) {
		out = append(out, r.readersOf(x, y)...)
	}
	return out, nil
}

// readersOf adds comparisons of what reads a variable, with what the variable is in the other policy:
// of the reads themselves, of what is made of each, and so on. A read that no request comes to makes no
// difference.
func (r *totality) readersOf(x, y harness.Checked) [][]*comparison {
	variables := map[string]*expression{}
	for _, v := range r.checked {
		if isVariable(v.Field) && v.AST != nil {
			variables[v.Name] = &expression{v.Field, v.AST}
		}
	}
	variables[x.Name] = &expression{y.Field, y.AST}
	const levels = 6
	out := make([][]*comparison, levels)
	for _, v := range r.checked {
		if v.AST == nil || isMessage(v.Field) || strings.HasPrefix(v.Field, "auditAnnotations[") {
			continue
		}
		for _, path := range readsOf(v.AST.Expr(), x.Name, nil) {
			for level := range out {
				at := path[max(len(path)-1-level, 0)]
				c := &comparison{with: &expression{v.Field, v.AST}, part: at, variables: variables}
				key := textKey{v.AST, at.ID()}
				r.compare.at[key] = append(r.compare.at[key], c)
				out[level] = append(out[level], c)
			}
		}
	}
	return out
}

// readsOf are the reads of a variable in an expression, each with what is around it.
func readsOf(x ast.Expr, name string, around []ast.Expr) [][]ast.Expr {
	path := append(slices.Clip(around), x)
	if x.Kind() == ast.SelectKind && x.AsSelect().FieldName() == name {
		if of := x.AsSelect().Operand(); of.Kind() == ast.IdentKind && of.AsIdent() == "variables" {
			return [][]ast.Expr{path}
		}
	}
	var out [][]ast.Expr
	for _, part := range operandsOf(x) {
		out = append(out, readsOf(part, name, path)...)
	}
	return out
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
	// whole is that of the whole expression, if the part is of the one that is changed.
	whole *comparison
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
