package witness

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// plan is one attempt: changes of a world that are to bring about an outcome. Where there are several
// ways, it takes one at random, so that further attempts try others.
type plan struct {
	*Search
	rng   *rand.Rand
	world world
	depth int
}

// deepest bounds the variables and comprehensions that a plan follows into each other.
const deepest = 40

func pick[T any](p *plan, from []T) (T, bool) {
	if len(from) == 0 {
		var none T
		return none, false
	}
	return from[p.rng.IntN(len(from))], true
}

func (p *plan) chance(percent int) bool { return p.rng.IntN(100) < percent }

// put sets a value; on an update half of the time in the old object too.
func (p *plan) put(at path, v any) {
	p.both(at, func(at path) { p.world.put(p.Search, at, p.fitting(at, v)) })
}

func (p *plan) drop(at path) {
	if c := canonical(at); c.String() == "user.groups" {
		p.world["noGroups"] = true
	}
	p.both(at, func(at path) { p.world.drop(p.Search, at) })
}

func (p *plan) both(at path, change func(path)) {
	at = canonical(at)
	if at == nil {
		return
	}
	change(at)
	if r := at.root(); (r == "object" || r == "oldObject") && p.chance(50) {
		other := slices.Clone(at)
		other[0].key = map[string]string{"object": "oldObject", "oldObject": "object"}[r]
		change(other)
	}
}

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

// presence of a path: there is something, or nothing.
func (p *plan) presence(t term, present bool) {
	switch {
	case !t.isPath():
	case !present:
		p.drop(t.at)
	default:
		if at := canonical(t.at); at != nil {
			if _, has := get(map[string]any(p.world), at); has {
				return
			}
		}
		p.put(t.at, p.any(t.at))
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

func (p *plan) suffix() string {
	s, _ := pick(p, []string{"", "x", "1"})
	return s
}

func (p *plan) otherText(than string) string {
	s, _ := pick(p, []string{"x", "other", "", "example", "0"})
	if s == than {
		return s + "y"
	}
	return s
}

// hold makes a term have a value: the value at a path, a size, or a key of a map.
func (p *plan) hold(t term, v any) {
	switch {
	case t.at == nil:
	case t.size:
		if n, ok := v.(int64); ok {
			p.resize(t.at, int(max(0, min(n, 12))))
		}
	case t.isKey:
		if k, ok := v.(string); ok {
			at := t.at.then(step{key: k})
			p.put(at, p.any(at))
		}
	default:
		p.put(t.at, v)
	}
}

// resize gives a list or a string a size.
func (p *plan) resize(at path, n int) {
	c := canonical(at)
	if c == nil {
		return
	}
	switch v, _ := get(map[string]any(p.world), c); {
	case kindsOf(v)&p.textKinds(at) != 0:
		p.put(at, strings.Repeat("a", n))
	case n == 0 && p.chance(50):
		p.put(at, []any{})
	case n == 0:
		p.drop(at)
	default:
		if list, ok := v.([]any); ok && len(list) > n {
			p.put(at, slices.Clone(list[:n]))
			return
		}
		last := at.then(step{kind: toIndex, index: n - 1})
		if v, ok := get(map[string]any(p.world), canonical(last)); !ok || v == nil {
			p.put(last, p.any(last))
		}
	}
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

// other is a value that differs, of the same kind most of the time.
func (p *plan) other(than any) any {
	switch x := than.(type) {
	case string:
		return p.otherText(x)
	case int64:
		return x + int64(p.rng.IntN(3)) - 1
	case bool:
		return !x
	case nil:
		return p.any(nil)
	}
	return p.any(nil)
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
		k, isText := i.value.(string)
		asKey := isText && (p.isMap(t.at) || p.shapeAt(t.at) == nil && p.chance(20))
		switch {
		case asKey && truth:
			at := t.at.then(step{key: k})
			p.presence(term{at: at}, true)
		case asKey:
			p.drop(t.at.then(step{key: k}))
		case truth:
			p.put(t.at, []any{i.value})
		case p.chance(50):
			p.put(t.at, []any{p.other(i.value)})
		default:
			p.drop(t.at)
		}
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

func isEmpty(v any) bool {
	switch x := v.(type) {
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	case string:
		return x == ""
	}
	return v == nil
}

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

func (p *plan) value(at path) any {
	if c := canonical(at); c != nil {
		v, _ := get(map[string]any(p.world), c)
		return v
	}
	return nil
}

// misfit gives something another kind than it is used as, or takes it away.
func (p *plan) misfit(of []term) {
	t, ok := pick(p, of)
	if !ok || t.at == nil {
		return
	}
	if p.chance(25) {
		p.drop(t.at)
		return
	}
	p.hold(t, p.any(t.at))
}

// noise changes something that the policy reads.
func (p *plan) noise() {
	if len(p.reads) == 0 {
		return
	}
	at := p.reads[p.rng.IntN(len(p.reads))]
	if p.chance(35) {
		p.drop(at)
		return
	}
	p.put(at, p.any(at))
}

// hint makes a fact hold.
func (p *plan) hint(f Fact) {
	switch f.Is {
	case True, False:
		if x := p.expressions[f.Path]; x != nil {
			p.want(x, f.Is == True, nil)
		}
		return
	}
	at := parsePath(f.Path)
	if len(at) == 0 {
		return
	}
	switch f.Is {
	case Absent:
		p.drop(at)
	case Present:
		p.presence(term{at: at}, true)
	case Null:
		p.put(at, nil)
	case EqualTo:
		p.put(at, f.Value)
	}
}

func (f Fact) String() string {
	words := map[Is]string{Absent: "is absent", Present: "is present", Null: "is null", True: "is true", False: "is false"}
	if f.Is == EqualTo {
		return fmt.Sprintf("%s is %v", f.Path, f.Value)
	}
	return f.Path + " " + words[f.Is]
}
