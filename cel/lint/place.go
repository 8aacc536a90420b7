package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"

	"hangar.io/holdshort/cel/harness"
)

// place is a part of an expression that guards can stand before.
type place struct {
	field      string
	text       []rune
	start, end int // of the part, in characters
	// around says what the part stands in: an operator, or nothing if no parentheses are needed.
	around string
	// loose is the operator of the part itself, of those that bind less than &&.
	loose string
	// absent is what the part may be to be strict where the guards do not hold: "false", "true", or
	// "''" for text; the likeliest first.
	absent []string
	guards []string
}

// with is the fix that puts guards before the part.
func (p place) with(guards []string, absent string) *Fix {
	before, after, joined := "", "", operators.LogicalAnd
	inner := p.loose != ""
	switch absent {
	case "false":
		before = strings.Join(guards, " && ") + " && "
	case "true":
		negated := make([]string, len(guards))
		for i, g := range guards {
			negated[i] = not(g)
		}
		before, joined = strings.Join(negated, " || ")+" || ", operators.LogicalOr
		inner = p.loose == operators.Conditional
	default:
		before, after, joined = strings.Join(guards, " && ")+" ? ", " : "+absent, operators.Conditional
		inner = p.loose == operators.Conditional
	}
	if inner {
		before, after = before+"(", ")"+after
	}
	if p.around != "" && p.around != joined && !(p.around == operators.LogicalOr && joined == operators.LogicalAnd) && !p.enclosed() {
		before, after = "("+before, after+")"
	}
	text := slices.Concat(p.text[:p.start], []rune(before), p.text[p.start:p.end], []rune(after), p.text[p.end:])
	part := string(slices.Concat([]rune(before), p.text[p.start:p.end], []rune(after)))
	fix := &Fix{Field: p.field, Text: string(text), Part: part, Insertions: []Insertion{{p.start, before}}}
	if after != "" {
		fix.Insertions = append(fix.Insertions, Insertion{p.end, after})
	}
	return fix
}

// not negates a guard.
func not(guard string) string {
	switch {
	case strings.HasPrefix(guard, "has("), bracketed(guard):
		return "!" + guard
	case strings.HasSuffix(guard, " != null"):
		return strings.TrimSuffix(guard, " != null") + " == null"
	}
	return "!(" + guard + ")"
}

// bracketed tells whether parentheses stand around a whole condition.
func bracketed(text string) bool {
	depth := 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return i > 0 && i == len(text)-1
		}
	}
	return false
}

// enclosed tells whether the part has parentheses of its own around it.
func (p place) enclosed() bool {
	before := strings.TrimRight(string(p.text[:p.start]), " \t\r\n")
	after := strings.TrimLeft(string(p.text[p.end:]), " \t\r\n")
	return strings.HasSuffix(before, "(") && strings.HasPrefix(after, ")")
}

// placesOf are the places at which a guard can keep an expression from failing at a site, the nearest
// first. If the failing part is in a variable, they are in the variable where it has bools, and then
// where the expression reads it.
func placesOf(checked []harness.Checked, reader string, at site) []place {
	tree := func(field string) *harness.Checked {
		i := slices.IndexFunc(checked, func(c harness.Checked) bool { return c.Field == field && c.AST != nil })
		if i < 0 {
			return nil
		}
		return &checked[i]
	}
	in := tree(at.Field)
	if in == nil {
		return nil
	}
	w := &walk{checked: in, target: at.Node}
	w.visit(in.AST.Expr(), rootOf(in.Field))
	if len(w.path) == 0 {
		return nil
	}
	places := w.places()
	if at.Field == reader {
		return places
	}
	name := in.Name
	if in = tree(reader); in == nil {
		return places
	}
	// The guards have no variable of a comprehension: these are bound in the other expression.
	guards := w.guards()
	for _, s := range slices.Backward(w.path) {
		guards = lifted(guards, s)
	}
	guards = slices.DeleteFunc(guards, func(g guard) bool { return len(g.bound) > 0 })
	ast.PreOrderVisit(in.AST.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == name && e.AsSelect().Operand().Kind() == ast.IdentKind && e.AsSelect().Operand().AsIdent() == "variables" {
			r := &walk{checked: in, target: e.ID(), given: guards}
			r.visit(in.AST.Expr(), rootOf(in.Field))
			places = append(places, r.places()...)
		}
	}))
	return places
}

// rootOf is what an expression as a whole is to be where the guards do not hold.
func rootOf(field string) step {
	switch {
	case isMessage(field), strings.HasPrefix(field, "auditAnnotations["):
		return step{sure: true, absent: []string{"''"}} // no text: the fixed message, no annotation
	case strings.HasPrefix(field, "matchConditions["):
		return step{sure: true, absent: []string{"true"}}
	case strings.HasPrefix(field, "validations["):
		return step{sure: true, absent: []string{"false"}}
	}
	return step{}
}

// step is an expression on the way from the root to the node that fails.
type step struct {
	expr   ast.Expr
	absent []string // nil: no guard can stand here
	around string
	bound  []string // the variables of comprehensions around it
	// sure: it is evaluated whenever the whole is, and its error is that of the whole.
	sure bool
	// lift is a guard of it as one of what it stands in; nil: as it is.
	lift func(guard) guard
}

// walk follows an expression to a node.
type walk struct {
	checked *harness.Checked
	target  int64
	given   []guard // that the node needs, if it is not its own
	path    []step
}

// visit tells whether the node is in an expression, and notes the way to it.
func (w *walk) visit(e ast.Expr, s step) bool {
	s.expr = e
	w.path = append(w.path, s)
	if e.ID() == w.target {
		return true
	}
	for child, next := range w.children(e, s) {
		if w.visit(child, next) {
			return true
		}
	}
	w.path = w.path[:len(w.path)-1]
	return false
}

// children are the parts of an expression and what they are to be where guards do not hold: the whole
// has to follow them. An operand of a comparison and the predicate of a filter may be neither true nor
// false, as nobody knows what the whole makes of it. A guard of what is evaluated under a condition has
// to hold there only, and one of an item of each.
func (w *walk) children(e ast.Expr, s step) func(func(ast.Expr, step) bool) {
	return func(yield func(ast.Expr, step) bool) {
		inner := step{bound: s.bound, sure: s.sure}
		switch e.Kind() {
		case ast.SelectKind:
			yield(e.AsSelect().Operand(), inner)
		case ast.CallKind:
			args := argsOf(e)
			for i, a := range args {
				next := inner
				next.around = e.AsCall().FunctionName()
				switch next.around {
				case operators.LogicalNot:
					next.absent = flipped(s.absent)
				case operators.LogicalAnd, operators.LogicalOr:
					next.absent = bools(s.absent)
					if i > 0 {
						next.lift = w.unless(args[0], next.around == operators.LogicalOr, s.bound)
					}
					next.sure = s.sure && i == 0
				case operators.Conditional:
					next.sure = s.sure && i == 0
					if i > 0 {
						next.absent = s.absent
						next.lift = w.unless(args[0], i == 2, s.bound)
					}
				}
				if !yield(a, next) {
					return
				}
			}
		case ast.ListKind:
			for _, x := range e.AsList().Elements() {
				if !yield(x, inner) {
					return
				}
			}
		case ast.MapKind:
			for _, x := range e.AsMap().Entries() {
				if !yield(x.AsMapEntry().Key(), inner) || !yield(x.AsMapEntry().Value(), inner) {
					return
				}
			}
		case ast.ComprehensionKind:
			w.comprehension(e.AsComprehension(), s, yield)
		}
	}
}

func (w *walk) comprehension(c ast.ComprehensionExpr, s step, yield func(ast.Expr, step) bool) {
	if !yield(c.IterRange(), step{bound: s.bound, sure: s.sure}) {
		return
	}
	body := step{bound: append(slices.Clone(s.bound), c.IterVar(), c.AccuVar())}
	if c.IterVar2() != "" {
		body.bound = append(body.bound, c.IterVar2())
	}
	f := foldOf(c)
	switch {
	case f.macro == "" || f.macro == "bind":
		_ = yield(c.AccuInit(), step{bound: s.bound}) && yield(c.LoopStep(), body) && yield(c.Result(), body)
		return
	case f.macro == "all" || f.macro == "exists":
		body.absent = bools(s.absent)
	}
	body.lift = w.ofEach(c, s.bound)
	if f.predicate != nil && !yield(f.predicate, body) || f.result == nil {
		return
	}
	if f.predicate != nil {
		under, each := w.unless(f.predicate, false, body.bound), body.lift
		body.lift = func(g guard) guard { return each(under(g)) }
	}
	yield(f.result, body)
}

// unless is for what is evaluated only where a condition is true, or else only where it is false.
func (w *walk) unless(condition ast.Expr, isFalse bool, bound []string) func(guard) guard {
	return func(g guard) guard {
		text := w.guarding(bound).text(condition)
		if !isFalse {
			text = not(text)
		}
		return guard{"(" + text + " || " + g.text + ")", append(slices.Clone(g.bound), boundIn(condition, bound)...)}
	}
}

// ofEach asks of all items what is asked of one.
func (w *walk) ofEach(c ast.ComprehensionExpr, bound []string) func(guard) guard {
	return func(g guard) guard {
		own := func(v string) bool { return v == c.IterVar() || v != "" && v == c.IterVar2() }
		if !slices.ContainsFunc(g.bound, own) {
			return g
		}
		variables := c.IterVar()
		if c.IterVar2() != "" {
			variables += ", " + c.IterVar2()
		}
		text := fmt.Sprintf("%s.all(%s, %s)", w.guarding(bound).text(c.IterRange()), variables, g.text)
		return guard{text, append(slices.DeleteFunc(slices.Clone(g.bound), own), boundIn(c.IterRange(), bound)...)}
	}
}

// argsOf are the operands of a call, its target first.
func argsOf(e ast.Expr) []ast.Expr {
	c := e.AsCall()
	if c.IsMemberFunction() {
		return append([]ast.Expr{c.Target()}, c.Args()...)
	}
	return c.Args()
}

func flipped(absent []string) []string {
	var out []string
	for _, a := range bools(absent) {
		out = append(out, map[string]string{"false": "true", "true": "false"}[a])
	}
	return out
}

// bools are those of an operand of a logical operator: none if the whole is no bool.
func bools(absent []string) []string {
	if len(absent) == 0 || absent[0] == "''" {
		return nil
	}
	return absent
}

// places are those on the way, the nearest to the node first.
func (w *walk) places() []place {
	var out []place
	guards := w.given
	if guards == nil {
		guards = w.guards()
	}
	for i, s := range slices.Backward(w.path) {
		if p, ok := w.place(i, s); ok {
			for _, g := range guards {
				if g.boundIn(s.bound) && !slices.Contains(p.guards, g.text) {
					p.guards = append(p.guards, g.text)
				}
			}
			out = append(out, p)
		}
		guards = lifted(guards, s)
	}
	return out
}

// lifted are guards of a part as those of what it stands in.
func lifted(guards []guard, s step) []guard {
	if s.lift == nil {
		return guards
	}
	var out []guard
	for _, g := range guards {
		out = append(out, s.lift(g))
	}
	return out
}

// place is the step as a place for guards.
func (w *walk) place(i int, s step) (place, bool) {
	if len(s.absent) == 0 || w.breaks() && (i > 0 || !w.path[len(w.path)-1].sure) {
		return place{}, false
	}
	text := []rune(w.checked.Text)
	p := place{field: w.checked.Field, text: text, absent: s.absent, around: s.around}
	if i == 0 {
		p.start, p.end = trimmed(text)
	} else {
		source, at, end := sourceOf(*w.checked, s.expr.ID())
		if p.start, p.end = span(text, []rune(source), at, end); written(text, []rune(source), p.start) != p.end {
			return place{}, false // it is not written as it would be: with a comment inside
		}
	}
	if s.expr.Kind() == ast.CallKind && slices.Contains([]string{operators.LogicalOr, operators.Conditional}, s.expr.AsCall().FunctionName()) {
		p.loose = s.expr.AsCall().FunctionName()
	}
	return p, true
}

// breaks tells whether the error of the node is one that nothing absorbs: then a truth in its place would
// be decided by others, and the error was not.
func (w *walk) breaks() bool {
	return slices.ContainsFunc(w.path, func(s step) bool { return s.expr.Kind() == ast.CallKind && breaking[s.expr.AsCall().FunctionName()] })
}

// trimmed is where the text stands between white space.
func trimmed(text []rune) (start, end int) {
	s := string(text)
	start = len(text) - len([]rune(strings.TrimLeft(s, " \t\r\n")))
	return start, len([]rune(strings.TrimRight(s, " \t\r\n")))
}

// guard is a condition that keeps a read from failing.
type guard struct {
	text  string
	bound []string // the variables of comprehensions that it reads
}

func (g guard) boundIn(scope []string) bool {
	return !slices.ContainsFunc(g.bound, func(v string) bool { return !slices.Contains(scope, v) })
}

// guards are all that could keep the node from failing, in the order in which they have to stand.
func (w *walk) guards() []guard {
	last := w.path[len(w.path)-1]
	g := w.guarding(last.bound)
	g.read(last.expr)
	return g.out
}

func (w *walk) guarding(bound []string) *guarding { return &guarding{checked: w.checked, bound: bound} }

type guarding struct {
	checked *harness.Checked
	bound   []string
	out     []guard
}

// read notes the guards that the evaluation of an expression needs.
func (g *guarding) read(e ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		s := e.AsSelect()
		g.read(s.Operand())
		g.present(s.Operand())
		if !s.IsTestOnly() && !isIdent(s.Operand(), "variables") {
			g.add("has("+g.text(e)+")", e)
		}
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			g.read(x)
		}
	case ast.ComprehensionKind:
		of := e.AsComprehension().IterRange()
		g.read(of)
		g.present(of)
		if of.Kind() == ast.CallKind && g.checked.AST.GetType(of.ID()).Kind() == types.DynKind {
			g.add(g.text(of)+" != null", of)
		}
	case ast.CallKind:
		g.call(e)
	}
}

func (g *guarding) call(e ast.Expr) {
	args := argsOf(e)
	for _, a := range args {
		g.read(a)
		g.present(a)
	}
	switch name := e.AsCall().FunctionName(); name {
	case operators.Index:
		if k := args[1]; k.Kind() == ast.LiteralKind && k.AsLiteral().Type() == types.IntType {
			g.add(fmt.Sprintf("%s.size() > %v", g.text(args[0]), k.AsLiteral().Value()), e)
			return
		}
		g.add(g.text(args[1])+" in "+g.text(args[0]), e)
	case operators.Divide, operators.Modulo:
		g.add(g.text(args[1])+" != 0", e)
	case "quantity", "url", "ip", "cidr", "semver":
		predicate := map[string]string{"quantity": "isQuantity", "url": "isURL", "ip": "isIP", "cidr": "isCIDR", "semver": "isSemver"}[name]
		g.add(predicate+"("+g.text(args[0])+")", e)
	case "asInteger":
		g.add(g.text(args[0])+".isInteger()", e)
	case "startsWith", "endsWith", "contains", "matches", "split", "lowerAscii", "upperAscii", "trim", "replace", "substring":
		if g.checked.AST.GetType(args[0].ID()).Kind() == types.DynKind {
			g.add("type("+g.text(args[0])+") == string", e)
		}
	case "value":
		g.add(g.text(args[0])+".hasValue()", e)
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		for i, other := range []ast.Expr{args[1], args[0]} {
			if other.Kind() == ast.LiteralKind && args[i].Kind() != ast.LiteralKind {
				g.add(fmt.Sprintf("type(%s) == %s", g.text(args[i]), other.AsLiteral().Type().TypeName()), e)
			}
		}
	}
}

// present asks that a path is not null.
func (g *guarding) present(e ast.Expr) {
	switch g.checked.AST.GetType(e.ID()).Kind() {
	case types.DynKind, types.AnyKind, types.StructKind: // of others a comparison with null does not compile
	default:
		return
	}
	if e.Kind() == ast.IdentKind && !isIdent(e, "variables") || e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly() {
		g.add(g.text(e)+" != null", e)
	}
}

// text is an expression as it is written, in one line, or as it would be if it holds a comment.
func (g *guarding) text(e ast.Expr) string {
	text, err := parser.Unparse(e, g.checked.AST.SourceInfo())
	source, at, end := sourceOf(*g.checked, e.ID())
	whole := []rune(g.checked.Text)
	if from, to := span(whole, []rune(source), at, end); written(whole, []rune(source), from) == to {
		text = string(whole[from:to])
	}
	if strings.Contains(text, "\n") {
		text = strings.Join(strings.Fields(source), " ")
	}
	if err != nil || e.Kind() == ast.CallKind && strings.ContainsAny(text, "&|?<>=+-*/%") && strings.Contains(text, " ") {
		return "(" + text + ")"
	}
	return text
}

func (g *guarding) add(text string, e ast.Expr) {
	if slices.ContainsFunc(g.out, func(k guard) bool { return k.text == text }) {
		return
	}
	g.out = append(g.out, guard{text, boundIn(e, g.bound)})
}

// boundIn are the variables of comprehensions that an expression reads.
func boundIn(e ast.Expr, bound []string) []string {
	var out []string
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() == ast.IdentKind && slices.Contains(bound, x.AsIdent()) && !slices.Contains(out, x.AsIdent()) {
			out = append(out, x.AsIdent())
		}
	}))
	return out
}
