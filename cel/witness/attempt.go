package witness

import (
	"math/rand/v2"

	"github.com/google/cel-go/common/ast"
)

// attempt is the world of one step: the first one as it is, then each hint in its plainest form, then
// plans that the random numbers choose.
func (s *Search) attempt(rng *rand.Rand, g *goal, i int) world {
	const plain = 3 // attempts a hint
	s.choice = 0
	if i > 1 {
		s.choice = rng.IntN(12)
	}
	p := &plan{Search: s, rng: rng, world: s.first()}
	if i == 0 {
		return p.world
	}
	if n := (i - 1) / plain; n < len(g.Hints) {
		p.conditions(g)
		p.hints(g.Hints[n])
		return p.world
	}
	if p.chance(10) {
		p.noise()
	}
	hint, hinted := pick(p, g.Hints)
	if hinted = hinted && p.chance(80); hinted {
		p.hints(hint)
	}
	p.conditions(g)
	p.outcome(g)
	p.hints(g.When)
	// Once more: what brings about the outcome may have unmade them.
	if p.chance(20) {
		p.conditions(g)
	}
	if hinted && p.chance(40) {
		p.hints(hint)
	}
	for p.chance(25) {
		p.noise()
	}
	return p.world
}

// conditions makes the match conditions true, except for one that is to fail.
func (p *plan) conditions(g *goal) {
	for _, field := range p.order {
		if isOf(field, "matchConditions[") && (g.Outcome != Fails || field != g.Expression) {
			p.want(p.expressions[field], true, nil)
		}
	}
}

// outcome changes what decides between the wanted outcome and others.
func (p *plan) outcome(g *goal) {
	for _, other := range g.others {
		o := &plan{Search: other, rng: p.rng, world: p.world}
		o.conditions(&goal{Target: Target{Outcome: Allows}})
		o.validations("")
	}
	switch g.Outcome {
	case Fails:
		p.reachTarget(p.expressions[g.Expression], g.Target)
	case Allows:
		p.validations("")
	case Denies:
		field := g.Expression
		if field == "" {
			var all []string
			for _, f := range p.order {
				if isOf(f, "validations[") {
					all = append(all, f)
				}
			}
			field, _ = pick(p, all)
		}
		p.validations(field)
		if x := p.expressions[field]; x != nil {
			p.want(x, false, nil)
		}
	}
}

// validations makes all validations but one true.
func (p *plan) validations(but string) {
	for _, field := range p.order {
		if isOf(field, "validations[") && field != but {
			p.want(p.expressions[field], true, nil)
		}
	}
}

// reachTarget makes the target's expression come to the node, through the variable that holds it, and
// the node fail.
func (p *plan) reachTarget(x ast.Expr, t Target) {
	if t.Node == 0 {
		// Any error of it, which the noise may bring about.
		p.noise()
		return
	}
	if t.Field == t.Expression {
		p.reach(x, t.Node, nil, func(n ast.Expr, sc *scope) { p.fail(n, sc) })
		return
	}
	inner := p.expressions[t.Field]
	if inner == nil {
		return
	}
	p.through(x, inner, t, 0)
}

// through follows the reads of variables from an expression to the one that holds the node.
func (p *plan) through(x, goal ast.Expr, t Target, depth int) bool {
	if x == goal {
		return p.reach(x, t.Node, nil, func(n ast.Expr, sc *scope) { p.fail(n, sc) })
	}
	if depth > deepest {
		return false
	}
	var reads []ast.Expr
	ast.PreOrderVisit(x, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.SelectKind && p.variable(e.AsSelect(), nil) != nil {
			reads = append(reads, e)
		}
	}))
	p.rng.Shuffle(len(reads), func(i, j int) { reads[i], reads[j] = reads[j], reads[i] })
	for _, read := range reads {
		v := p.variable(read.AsSelect(), nil)
		if !p.leads(v, goal, 0) {
			continue
		}
		p.reach(x, read.ID(), nil, func(ast.Expr, *scope) {})
		return p.through(v, goal, t, depth+1)
	}
	return false
}

// leads tells whether an expression is, or reads through variables, another.
func (s *Search) leads(x, goal ast.Expr, depth int) bool {
	if x == goal {
		return true
	}
	found := false
	ast.PreOrderVisit(x, ast.NewExprVisitor(func(e ast.Expr) {
		if found || depth > deepest || e.Kind() != ast.SelectKind {
			return
		}
		if v := s.variable(e.AsSelect(), nil); v != nil {
			found = s.leads(v, goal, depth+1)
		}
	}))
	return found
}
