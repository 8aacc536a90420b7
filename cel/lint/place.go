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

func index(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

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
	case strings.HasPrefix(guard, "has("):
		return "!" + guard
	case strings.HasSuffix(guard, " != null"):
		return strings.TrimSuffix(guard, " != null") + " == null"
	}
	return "!(" + guard + ")"
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
	places := w.places()
	if at.Field == reader {
		return places
	}
	name := in.Name
	if in = tree(reader); in == nil {
		return places
	}
	// The guards have no variable of a comprehension: these are bound in the other expression.
	guards := slices.DeleteFunc(w.guards(), func(g guard) bool { return len(g.bound) > 0 })
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
		return step{absent: []string{"''"}} // no text: the fixed message, no annotation
	case strings.HasPrefix(field, "matchConditions["):
		return step{absent: []string{"true"}}
	case strings.HasPrefix(field, "validations["):
		return step{absent: []string{"false"}}
	}
	return step{}
}

// step is an expression on the way from the root to the node that fails.
type step struct {
	expr   ast.Expr
	absent []string // nil: no guard can stand here
	around string
	bound  []string // the variables of comprehensions around it
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
	for child, next := range children(e, s) {
		if w.visit(child, next) {
			return true
		}
	}
	w.path = w.path[:len(w.path)-1]
	return false
}

// either is for a part of which is not known what it is to be.
var either = []string{"false", "true"}

// children are the parts of an expression and what they are to be where guards do not hold.
func children(e ast.Expr, s step) func(func(ast.Expr, step) bool) {
	return func(yield func(ast.Expr, step) bool) {
		inner := step{bound: s.bound}
		switch e.Kind() {
		case ast.SelectKind:
			yield(e.AsSelect().Operand(), inner)
		case ast.CallKind:
			c := e.AsCall()
			args := c.Args()
			if c.IsMemberFunction() {
				args = append([]ast.Expr{c.Target()}, args...)
			}
			for i, a := range args {
				next := inner
				next.around = c.FunctionName()
				switch c.FunctionName() {
				case operators.LogicalNot:
					next.absent = flipped(s.absent)
				case operators.LogicalAnd, operators.LogicalOr:
					next.absent = bools(s.absent)
				case operators.Conditional:
					if next.absent = s.absent; i == 0 {
						next.absent = either
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
			c := e.AsComprehension()
			if !yield(c.IterRange(), inner) {
				return
			}
			body := step{absent: either, bound: append(slices.Clone(s.bound), c.IterVar(), c.AccuVar())}
			if c.IterVar2() != "" {
				body.bound = append(body.bound, c.IterVar2())
			}
			f := foldOf(c)
			if f.macro == "all" || f.macro == "exists" {
				body.absent = bools(s.absent)
			}
			if f.predicate != nil && !yield(f.predicate, body) {
				return
			}
			body.absent = nil
			if f.predicate == nil && (!yield(c.AccuInit(), inner) || !yield(c.LoopStep(), body)) {
				return
			}
			if f.result != nil && !yield(f.result, body) {
				return
			}
			yield(c.Result(), body)
		}
	}
}

func flipped(absent []string) []string {
	var out []string
	for _, a := range bools(absent) {
		out = append(out, map[string]string{"false": "true", "true": "false"}[a])
	}
	return out
}

// bools are those of an operand of a logical operator: either, if the whole is no bool of which is known
// what it is to be.
func bools(absent []string) []string {
	if len(absent) == 0 || absent[0] == "''" {
		return either
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
	text := []rune(w.checked.Text)
	for i, s := range slices.Backward(w.path) {
		if len(s.absent) == 0 {
			continue
		}
		p := place{field: w.checked.Field, text: text, absent: s.absent, around: s.around}
		if i == 0 {
			p.start, p.end = trimmed(text)
		} else {
			source, at, end := sourceOf(*w.checked, s.expr.ID())
			if p.start, p.end = span(text, []rune(source), at, end); written(text, []rune(source), p.start) != p.end {
				continue // it is not written as it would be: with a comment inside
			}
		}
		if s.expr.Kind() == ast.CallKind && slices.Contains([]string{operators.LogicalOr, operators.Conditional}, s.expr.AsCall().FunctionName()) {
			p.loose = s.expr.AsCall().FunctionName()
		}
		for _, g := range guards {
			if g.boundIn(s.bound) && !slices.Contains(p.guards, g.text) {
				p.guards = append(p.guards, g.text)
			}
		}
		out = append(out, p)
	}
	return out
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
	g := &guarding{checked: w.checked, bound: last.bound}
	g.read(last.expr)
	return g.out
}

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
		if !s.IsTestOnly() {
			g.add("has("+g.text(e)+")", e)
		}
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			g.read(x)
		}
	case ast.ComprehensionKind:
		g.read(e.AsComprehension().IterRange())
		g.present(e.AsComprehension().IterRange())
	case ast.CallKind:
		g.call(e)
	}
}

func (g *guarding) call(e ast.Expr) {
	c := e.AsCall()
	args := c.Args()
	if c.IsMemberFunction() {
		args = append([]ast.Expr{c.Target()}, args...)
	}
	for _, a := range args {
		g.read(a)
		g.present(a)
	}
	switch c.FunctionName() {
	case operators.Index:
		if k := args[1]; k.Kind() == ast.LiteralKind && k.AsLiteral().Type() == types.IntType {
			g.add(fmt.Sprintf("%s.size() > %v", g.text(args[0]), k.AsLiteral().Value()), e)
			return
		}
		g.add(g.text(args[1])+" in "+g.text(args[0]), e)
	case operators.Divide, operators.Modulo:
		g.add(g.text(args[1])+" != 0", e)
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
	if e.Kind() == ast.IdentKind || e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly() {
		g.add(g.text(e)+" != null", e)
	}
}

func (g *guarding) text(e ast.Expr) string {
	text, err := parser.Unparse(e, g.checked.AST.SourceInfo())
	if err != nil || e.Kind() == ast.CallKind && strings.ContainsAny(text, "&|?<>=+-*/%") && strings.Contains(text, " ") {
		return "(" + text + ")"
	}
	return text
}

func (g *guarding) add(text string, e ast.Expr) {
	if slices.ContainsFunc(g.out, func(k guard) bool { return k.text == text }) {
		return
	}
	added := guard{text: text}
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() == ast.IdentKind && slices.Contains(g.bound, x.AsIdent()) && !slices.Contains(added.bound, x.AsIdent()) {
			added.bound = append(added.bound, x.AsIdent())
		}
	}))
	g.out = append(g.out, added)
}
