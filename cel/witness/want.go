package witness

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// want makes an expression true or false.
func (p *plan) want(x ast.Expr, truth bool, sc *scope) {
	if p.depth++; p.depth > deepest {
		p.depth--
		return
	}
	defer func() { p.depth-- }()
	switch x.Kind() {
	case ast.SelectKind:
		sel := x.AsSelect()
		if v := p.variable(sel, sc); v != nil && !sel.IsTestOnly() {
			p.want(v, truth, nil)
			return
		}
		if sel.IsTestOnly() {
			if t, ok := pick(p, fieldOf(p.terms(sel.Operand(), sc), step{key: sel.FieldName()})); ok {
				p.presence(t, truth)
			}
			return
		}
		p.wantTerm(x, truth, sc)
	case ast.IdentKind:
		p.wantTerm(x, truth, sc)
	case ast.CallKind:
		p.wantCall(x.AsCall(), truth, sc)
	case ast.ComprehensionKind:
		p.wantComprehension(x.AsComprehension(), truth, sc)
	}
}

func (p *plan) wantTerm(x ast.Expr, truth bool, sc *scope) {
	if t, ok := pick(p, p.terms(x, sc)); ok && t.isPath() {
		p.put(t.at, truth)
	}
}

func (p *plan) wantCall(c ast.CallExpr, truth bool, sc *scope) {
	args := c.Args()
	switch c.FunctionName() {
	case operators.LogicalNot:
		p.want(args[0], !truth, sc)
	case operators.NotStrictlyFalse:
		p.want(args[0], truth, sc)
	case operators.LogicalAnd, operators.LogicalOr:
		all := flat(c, nil)
		if truth == (c.FunctionName() == operators.LogicalAnd) {
			for _, a := range all {
				p.want(a, truth, sc)
			}
		} else if a, ok := pick(p, all); ok {
			p.want(a, truth, sc)
		}
	case operators.Conditional:
		branch := p.rng.IntN(2)
		p.want(args[0], branch == 0, sc)
		p.want(args[1+branch], truth, sc)
	case operators.Equals:
		p.wantEqual(args[0], args[1], truth, sc)
	case operators.NotEquals:
		p.wantEqual(args[0], args[1], !truth, sc)
	case operators.In, operators.OldIn:
		p.wantIn(args[0], args[1], truth, sc)
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		p.wantOrder(args[0], args[1], sc)
	case "hasValue":
		if t, ok := pick(p, p.terms(c.Target(), sc)); ok {
			p.presence(t, truth)
		}
	case "allowed", "errored":
		p.world["allow"] = truth
	case "orValue", "value", "dyn", "bool":
		from := args
		if c.IsMemberFunction() {
			from = []ast.Expr{c.Target()}
		}
		p.wantTerm(from[0], truth, sc)
	default:
		p.wantText(c, truth, sc)
	}
}

// flat are the operands of a chain of && or ||.
func flat(c ast.CallExpr, into []ast.Expr) []ast.Expr {
	for _, a := range c.Args() {
		if a.Kind() == ast.CallKind && a.AsCall().FunctionName() == c.FunctionName() {
			into = flat(a.AsCall(), into)
			continue
		}
		into = append(into, a)
	}
	return into
}

// wantText makes a function of text true or false.
func (p *plan) wantText(c ast.CallExpr, truth bool, sc *scope) {
	if !c.IsMemberFunction() || len(c.Args()) != 1 {
		return
	}
	t, ok := pick(p, p.terms(c.Target(), sc))
	arg, found := pick(p, p.terms(c.Args()[0], sc))
	text, isText := arg.value.(string)
	if !ok || !found || arg.at != nil || !isText || t.at == nil || t.size {
		return
	}
	var v string
	switch c.FunctionName() {
	case "startsWith":
		v = text + p.suffix()
	case "endsWith":
		v = p.suffix() + text
	case "contains":
		v = text
	case "matches", "find":
		v = sample(text, p.rng)
	default:
		return
	}
	if !truth {
		v = p.otherText(v)
	}
	p.hold(t, v)
}

func (p *plan) wantEqual(a, b ast.Expr, equal bool, sc *scope) {
	left, right := p.terms(a, sc), p.terms(b, sc)
	// Two truths.
	if isTruth(b) || isTruth(a) {
		if isTruth(a) {
			a, b = b, a
		}
		p.want(a, (b.AsLiteral().Value() == true) == equal, sc)
		return
	}
	l, okLeft := pick(p, left)
	r, okRight := pick(p, right)
	if !okLeft || !okRight {
		return
	}
	if l.at == nil || r.at != nil && p.chance(30) {
		l, r = r, l
	}
	switch {
	case l.at == nil:
	case r.at != nil:
		var v any = p.otherText("")
		if r.size || l.size {
			v = int64(p.rng.IntN(3))
		}
		p.hold(r, v)
		if !equal {
			v = p.any(l.at)
		}
		p.hold(l, v)
	case equal:
		if r.value == nil {
			p.drop(l.at)
		}
		p.hold(l, r.value)
	default:
		p.hold(l, p.other(r.value))
	}
}

func isTruth(x ast.Expr) bool {
	if x.Kind() != ast.LiteralKind {
		return false
	}
	_, ok := x.AsLiteral().Value().(bool)
	return ok
}

func (p *plan) wantIn(item, in ast.Expr, truth bool, sc *scope) {
	i, ok := pick(p, p.terms(item, sc))
	if !ok {
		return
	}
	// A constant in something that is read.
	if i.at == nil {
		t, ok := pick(p, p.terms(in, sc))
		if !ok || !t.isPath() {
			return
		}
		p.member(t, i.value, truth)
		return
	}
	all := p.items(in, sc, false)
	member, ok := pick(p, all)
	switch {
	case !ok:
	case member.at != nil:
		v := any(p.otherText(""))
		p.hold(member, v)
		if !truth {
			v = p.otherText("z")
		}
		p.hold(i, v)
	case truth:
		p.hold(i, member.value)
	default:
		p.hold(i, p.other(member.value))
	}
}

// member makes a value an item of a list or a key of a map, or takes it out.
func (p *plan) member(t term, value any, truth bool) {
	k, isText := value.(string)
	asKey := isText && (p.isMap(t.at) || p.shapeAt(t.at) == nil && p.chance(20))
	switch {
	case asKey && truth:
		p.presence(term{at: t.at.then(step{key: k})}, true)
	case asKey:
		p.drop(t.at.then(step{key: k}))
	case truth:
		p.put(t.at, []any{value})
	case p.chance(50):
		p.put(t.at, []any{p.other(value)})
	default:
		p.drop(t.at)
	}
}

// wantOrder tries what is around the compared number.
func (p *plan) wantOrder(a, b ast.Expr, sc *scope) {
	l, okLeft := pick(p, p.terms(a, sc))
	r, okRight := pick(p, p.terms(b, sc))
	if !okLeft || !okRight {
		return
	}
	if l.at == nil {
		l, r = r, l
	}
	switch n := r.value.(type) {
	case int64:
		p.hold(l, n+int64(p.rng.IntN(3))-1)
	case float64:
		p.hold(l, n+float64(p.rng.IntN(3))-1)
	case string:
		p.hold(l, n)
	default:
		p.hold(l, p.any(l.at))
	}
}

// wantComprehension makes a macro true or false by what holds of one element.
func (p *plan) wantComprehension(c ast.ComprehensionExpr, truth bool, sc *scope) {
	stepExpr := c.LoopStep()
	if stepExpr.Kind() != ast.CallKind {
		return
	}
	call := stepExpr.AsCall()
	var predicate ast.Expr
	exists := true
	switch call.FunctionName() {
	case operators.LogicalOr:
		predicate = call.Args()[1]
	case operators.LogicalAnd:
		predicate, exists = call.Args()[1], false
	case operators.Conditional:
		predicate = call.Args()[0]
	default:
		return
	}
	if exists != truth && p.chance(50) {
		p.empty(c.IterRange(), sc)
		return
	}
	p.element(c, sc, func(inner *scope) { p.want(predicate, truth, inner) })
}

// empty makes a list or a map empty, or leaves it out.
func (p *plan) empty(x ast.Expr, sc *scope) {
	for _, t := range p.terms(x, sc) {
		if !t.isPath() {
			continue
		}
		if p.chance(50) {
			p.drop(t.at)
		} else if p.isMap(t.at) {
			p.put(t.at, map[string]any{})
		} else {
			p.put(t.at, []any{})
		}
	}
}

// element makes sure that there is an element, and does something with it in scope.
func (p *plan) element(c ast.ComprehensionExpr, sc *scope, then func(*scope)) {
	p.exists(c.IterRange(), sc)
	full := p.iteration(c, sc)
	// One of what the element may be.
	inner := full
	for _, name := range []string{c.IterVar2(), c.IterVar()} {
		if name == "" {
			continue
		}
		all, _ := full.find(name)
		if t, ok := pick(p, all); ok {
			inner = inner.with(name, []term{p.second(t)})
		}
	}
	then(inner)
}

// second is, now and then, the second item of a list where a term is any of its items.
func (p *plan) second(t term) term {
	if last := len(t.at) - 1; t.isPath() && t.at[last].kind == toAny && !p.isMap(t.at[:last]) && p.chance(20) {
		t.at = t.at[:last].then(step{kind: toIndex, index: 1})
	}
	return t
}

// exists makes sure that a list or a map has an element.
func (p *plan) exists(x ast.Expr, sc *scope) {
	if t, ok := pick(p, p.items(x, sc, false)); ok && t.at != nil {
		of := t.at
		if !t.isKey {
			of = of[:len(of)-1]
		}
		if c := canonical(of); c != nil {
			if v, has := get(map[string]any(p.world), c); has && kindsOf(v) != 0 && !isEmpty(v) {
				return
			}
		}
		if t.isKey {
			p.put(t.at.then(step{key: "example"}), p.any(t.at.then(step{key: "example"})))
			return
		}
		if t.at[len(t.at)-1].kind == toAny {
			p.put(t.at, p.any(t.at))
		}
	}
	// filter(): its condition holds of the element.
	if x.Kind() == ast.ComprehensionKind {
		p.wantComprehension(x.AsComprehension(), true, sc)
	}
}
