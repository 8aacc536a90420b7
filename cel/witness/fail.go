package witness

import (
	"math"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// reach makes the evaluator come to a node of an expression, and the rest not absorb its error.
func (p *plan) reach(x ast.Expr, node int64, sc *scope, then func(ast.Expr, *scope)) bool {
	if x.ID() == node {
		then(x, sc)
		return true
	}
	switch x.Kind() {
	case ast.SelectKind:
		return p.reach(x.AsSelect().Operand(), node, sc, then)
	case ast.CallKind:
		return p.reachCall(x.AsCall(), node, sc, then)
	case ast.ListKind:
		for _, e := range x.AsList().Elements() {
			if p.reach(e, node, sc, then) {
				return true
			}
		}
	case ast.MapKind:
		for _, e := range x.AsMap().Entries() {
			if p.reach(e.AsMapEntry().Key(), node, sc, then) || p.reach(e.AsMapEntry().Value(), node, sc, then) {
				return true
			}
		}
	case ast.ComprehensionKind:
		c := x.AsComprehension()
		if p.reach(c.IterRange(), node, sc, then) {
			return true
		}
		for _, part := range []ast.Expr{c.LoopStep(), c.Result(), c.LoopCondition(), c.AccuInit()} {
			if holds(part, node) {
				p.element(c, sc, func(inner *scope) { p.reach(part, node, inner, then) })
				return true
			}
		}
	}
	return false
}

func (p *plan) reachCall(c ast.CallExpr, node int64, sc *scope, then func(ast.Expr, *scope)) bool {
	name := c.FunctionName()
	if c.IsMemberFunction() && p.reach(c.Target(), node, sc, then) {
		return true
	}
	args := c.Args()
	if name == operators.LogicalAnd || name == operators.LogicalOr {
		args = flat(c, nil)
		for i, a := range args {
			if !holds(a, node) {
				continue
			}
			for j, other := range args {
				if j != i {
					p.want(other, name == operators.LogicalAnd, sc)
				}
			}
			return p.reach(a, node, sc, then)
		}
		// A node of the chain itself.
		if a, ok := pick(p, args); ok && a != nil {
			then(a, sc)
		}
		return false
	}
	for i, a := range args {
		if !holds(a, node) {
			continue
		}
		if name == operators.Conditional && i > 0 {
			p.want(args[0], i == 1, sc)
		}
		return p.reach(a, node, sc, then)
	}
	return false
}

// holds tells whether a node is in an expression.
func holds(x ast.Expr, node int64) bool {
	found := false
	ast.PreOrderVisit(x, ast.NewExprVisitor(func(e ast.Expr) { found = found || e.ID() == node }))
	return found
}

// fail makes a node fail.
func (p *plan) fail(x ast.Expr, sc *scope) {
	switch x.Kind() {
	case ast.SelectKind:
		sel := x.AsSelect()
		if v := p.variable(sel, sc); v != nil {
			p.fail(v, nil)
			return
		}
		p.failRead(p.terms(sel.Operand(), sc), step{key: sel.FieldName()}, sel.IsTestOnly())
	case ast.CallKind:
		p.failCall(x.AsCall(), sc)
	case ast.ComprehensionKind:
		p.misfit(p.terms(x.AsComprehension().IterRange(), sc))
	case ast.IdentKind:
		p.misfit(p.terms(x, sc))
	}
}

// failRead makes a read of a key fail: the key is not there, or what should have it is no map.
func (p *plan) failRead(of []term, at step, test bool) {
	t, ok := pick(p, of)
	if !ok || !t.isPath() {
		return
	}
	switch p.rng.IntN(5) {
	case 0:
		p.misfit([]term{t})
	case 1:
		p.presence(t, true)
		p.drop(t.at.then(at))
	case 2:
		p.drop(t.at)
	default:
		if test {
			p.misfit([]term{t})
			return
		}
		p.presence(t, true)
		p.drop(t.at.then(at))
	}
}

func (p *plan) failCall(c ast.CallExpr, sc *scope) {
	args := c.Args()
	all := args
	if c.IsMemberFunction() {
		all = append([]ast.Expr{c.Target()}, args...)
	}
	if len(all) == 0 {
		return
	}
	switch c.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		p.failIndex(args, sc)
		return
	case operators.Divide, operators.Modulo:
		if t, ok := pick(p, p.terms(args[1], sc)); ok && p.chance(80) {
			p.hold(t, int64(0))
			return
		}
	case operators.Add, operators.Subtract, operators.Multiply, operators.Negate:
		for _, a := range all {
			if t, ok := pick(p, p.terms(a, sc)); ok && p.chance(60) {
				n, _ := pick(p, []int64{math.MaxInt64, math.MinInt64, math.MaxInt32, -1})
				p.hold(t, n)
			}
		}
		return
	case "value":
		if t, ok := pick(p, p.terms(c.Target(), sc)); ok {
			p.presence(t, false)
		}
		return
	case operators.Equals, operators.NotEquals:
		return
	}
	a, _ := pick(p, all)
	t, ok := pick(p, p.terms(a, sc))
	if !ok || t.at == nil {
		return
	}
	if p.chance(40) {
		p.misfit([]term{t})
		return
	}
	text, _ := pick(p, badTexts)
	p.hold(t, text)
}

// badTexts are strings that conversions refuse.
var badTexts = []string{"x", "", "1x", "-", "99999999999999999999", "1.5", "a/b", "a.b", "2026-13-01", "example", "A-b", "1:2:3", "("}

func (p *plan) failIndex(args []ast.Expr, sc *scope) {
	of := p.terms(args[0], sc)
	t, ok := pick(p, of)
	if !ok {
		return
	}
	key, _ := p.constant(args[1], sc)
	switch k := key.(type) {
	case string:
		p.failRead(of, step{key: k}, false)
	case int64:
		// The result of split() stands for its text.
		if text, isText := pick(p, badTexts); isText && t.isPath() && kindsOf(p.value(t.at))&p.textKinds(t.at) != 0 && p.chance(70) {
			p.put(t.at, text)
			return
		}
		if t.isPath() {
			switch p.rng.IntN(4) {
			case 0:
				p.misfit([]term{t})
			case 1:
				text, _ := pick(p, badTexts)
				p.put(t.at, text)
			default:
				p.resize(t.at, p.rng.IntN(int(max(0, min(k, 10)))+1))
			}
		}
	default:
		if i, ok := pick(p, p.terms(args[1], sc)); ok && p.chance(50) {
			p.hold(i, p.otherText(""))
			return
		}
		if t.isPath() {
			p.empty(args[0], sc)
		}
	}
}
