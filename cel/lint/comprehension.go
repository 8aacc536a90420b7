package lint

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"

	"hangar.io/holdshort/cel/schema"
)

// fold is a comprehension, told by the form that its macro has (cel-go parser/macro.go and
// ext/comprehensions.go).
type fold struct {
	macro     string
	predicate ast.Expr // of all, exists, existsOne, filter, and map with a filter
	result    ast.Expr // of map and optional bindings
}

func foldOf(c ast.ComprehensionExpr) fold {
	step, accu := c.LoopStep(), c.AccuVar()
	if l := c.IterRange(); l.Kind() == ast.ListKind && len(l.AsList().Elements()) == 0 {
		return fold{macro: "bind"}
	}
	call := func(x ast.Expr) (string, []ast.Expr) {
		if x.Kind() != ast.CallKind {
			return "", nil
		}
		return x.AsCall().FunctionName(), x.AsCall().Args()
	}
	isAccu := func(x ast.Expr) bool { return x.Kind() == ast.IdentKind && x.AsIdent() == accu }
	name, args := call(step)
	switch {
	case name == operators.LogicalAnd && len(args) == 2 && isAccu(args[0]) && isAccu(c.Result()):
		return fold{macro: "all", predicate: args[1]}
	case name == operators.LogicalOr && len(args) == 2 && isAccu(args[0]) && isAccu(c.Result()):
		return fold{macro: "exists", predicate: args[1]}
	}
	var f fold
	if name == operators.Conditional && len(args) == 3 && isAccu(args[2]) {
		f.predicate = args[0]
		name, args = call(args[1])
	}
	if name != operators.Add || len(args) != 2 || !isAccu(args[0]) {
		return fold{}
	}
	switch added := args[1]; {
	case f.predicate != nil && added.Kind() == ast.LiteralKind && added.AsLiteral() == types.IntOne:
		f.macro = "existsOne"
	case added.Kind() == ast.ListKind && len(added.AsList().Elements()) == 1 && isAccu(c.Result()):
		f.macro, f.result = "map", added.AsList().Elements()[0]
		if f.predicate != nil && c.IterVar2() == "" && isIdent(f.result, c.IterVar()) {
			f.macro = "filter"
		}
	default:
		return fold{}
	}
	return f
}

func isIdent(x ast.Expr, name string) bool { return x.Kind() == ast.IdentKind && x.AsIdent() == name }

func (e *evaluation) comprehension(x ast.Expr, s *state) []outcome {
	c := x.AsComprehension()
	f := foldOf(c)
	switch f.macro {
	case "bind":
		return e.on(e.eval(c.AccuInit(), s), func(o outcome) []outcome {
			inner := *e
			inner.scope = &scope{c.AccuVar(), o.value, e.scope}
			return inner.eval(c.Result(), o.state)
		})
	case "":
		return []outcome{e.unknown(s, x.ID(), "this form of a comprehension is not analysed")}
	}
	return e.on(e.eval(c.IterRange(), s), func(o outcome) []outcome {
		var out []outcome
		if rest := o.state.kinds(o.value) &^ (schema.List | schema.Map); rest != 0 {
			out = append(out, e.fault(o.state.narrow(o.value, rest), x.ID(), "%s can be %s, expected a list or a map", o.value, kindNames(rest)))
		}
		for _, k := range []schema.Kinds{schema.List, schema.Map} {
			if next := o.state.narrow(o.value, k); next != nil {
				out = append(out, e.fold(x, f, next, o.value, k)...)
			}
		}
		return out
	})
}

// part is a part of what a comprehension goes over: one item, or all items of a list or keys of a map.
type part struct {
	item  *term
	value *term // of an item that is a key of a map
	of    *term
	kind  schema.Kinds
	some  bool // of the keys only some
}

// pairs: the comprehension has two variables, which for a list are index and item.
func (e *evaluation) partsOf(of *term, kind schema.Kinds, pairs bool) []part {
	switch {
	case kind == schema.Map && of.kind == mapTerm:
		var out []part
		for i := 0; i+1 < len(of.args); i += 2 {
			out = append(out, part{item: of.args[i], value: of.args[i+1]})
		}
		return out
	case kind == schema.Map:
		return []part{{of: of, kind: kind}}
	case of.kind == keysTerm && !pairs:
		return []part{{of: of.args[0], kind: schema.Map, some: of.name != ""}}
	case of.kind == listTerm:
		var out []part
		for _, a := range of.args {
			out = append(out, part{item: a})
		}
		return out
	case of.kind == callTerm && of.name == operators.Add && len(of.args) == 2 && of.shape.Kinds == schema.List:
		return append(e.partsOf(of.args[0], kind, pairs), e.partsOf(of.args[1], kind, pairs)...)
	}
	return []part{{of: of, kind: kind}}
}

// body is the evaluation of an expression of the comprehension for one item of a part. item is a term
// that stands for it, nil if the part is one item.
func (e *evaluation) body(c ast.ComprehensionExpr, p part) (inner *evaluation, item *term, enter func(*state) *state) {
	in := *e
	enter = func(s *state) *state { return s }
	bind := func(name string, t *term) { in.scope = &scope{name, t, in.scope} }
	anyInt := &schema.Shape{Kinds: schema.Int, Min: 0, Max: maxInt}
	switch {
	case p.item != nil && c.IterVar2() == "":
		bind(c.IterVar(), p.item)
	case p.value != nil:
		bind(c.IterVar(), p.item)
		bind(c.IterVar2(), p.value)
	case p.item != nil: // an item of a list literal, with its index
		bind(c.IterVar(), e.fresh(anyInt))
		bind(c.IterVar2(), p.item)
	case p.kind == schema.Map:
		item = e.key(p.of)
		at := e.index(p.of, item, itemShape(p.of))
		bind(c.IterVar(), item)
		if c.IterVar2() != "" {
			bind(c.IterVar2(), at)
		}
		enter = func(s *state) *state {
			if s = s.bound(e.size(p.of), 1, maxInt); s == nil {
				return nil
			}
			return s.with(at, presentFact, 1)
		}
	default:
		item = e.item(p.of, itemShape(p.of))
		if c.IterVar2() == "" {
			bind(c.IterVar(), item)
		} else {
			bind(c.IterVar(), e.fresh(anyInt))
			bind(c.IterVar2(), item)
		}
		enter = func(s *state) *state { return s.bound(e.size(p.of), 1, maxInt) }
	}
	return &in, item, enter
}

func (e *evaluation) fold(x ast.Expr, f fold, s *state, of *term, kind schema.Kinds) []outcome {
	c := x.AsComprehension()
	parts := e.partsOf(of, kind, c.IterVar2() != "")
	switch f.macro {
	case "all":
		return e.quantify(c, f, s, parts, false)
	case "exists":
		return e.quantify(c, f, s, parts, true)
	}
	return e.collect(x, f, s, of, parts)
}

// quantify is all and exists: one item can stop it, and absorbs the errors of others.
func (e *evaluation) quantify(c ast.ComprehensionExpr, f fold, s *state, parts []part, stop bool) []outcome {
	var operands []func(*state) []outcome
	for _, p := range parts {
		operands = append(operands, func(s *state) []outcome {
			inner, item, enter := e.body(c, p)
			start := enter(s)
			if start == nil {
				return []outcome{value(s, e.truth(!stop))} // there is no item
			}
			results := inner.truths(inner.eval(f.predicate, start), c.LoopStep().ID())
			if p.item != nil {
				return results
			}
			return e.everyItem(s, results, p, item, stop)
		})
	}
	return e.logic(operands, stop, s)
}

// everyItem is the outcome for all items of a list of what one item can give.
func (e *evaluation) everyItem(s *state, results []outcome, p part, item *term, stop bool) []outcome {
	var out []outcome
	var goesOn *state
	for _, o := range results {
		switch {
		case o.fault != nil:
			out = append(out, o)
		case o.value == e.truth(stop):
			out = append(out, value(o.state.without(item, e.terms), o.value))
		case goesOn == nil:
			goesOn = o.state
		default:
			goesOn = goesOn.join(o.state)
		}
	}
	rest := e.truth(!stop)
	switch {
	case goesOn == nil && p.some:
		out = append(out, value(s, rest))
	case goesOn == nil: // only if there is no item
		if empty := s.bound(e.size(p.of), 0, 0); empty != nil {
			out = append(out, value(empty, rest))
		}
	case p.kind == schema.List:
		// What holds for the item whichever it is holds for every item.
		known := goesOn.about(item, e.every(p.of), e.terms)
		out = append(out, value(s.adding(known, e.terms), rest))
	default:
		out = append(out, value(s, rest))
	}
	return e.join(out)
}

// collect is map, filter and exists_one: an error of an item is an error of the whole.
func (e *evaluation) collect(x ast.Expr, f fold, s *state, of *term, parts []part) []outcome {
	c := x.AsComprehension()
	var out []outcome
	shape := nothing // of the items of a map's result
	var result *term // of a filter
	next := s
	for _, p := range parts {
		inner, item, enter := e.body(c, p)
		start := enter(s)
		if start == nil {
			continue
		}
		results := []outcome{value(start, e.truth(true))}
		if f.predicate != nil {
			results = inner.truths(inner.eval(f.predicate, start), c.LoopStep().ID())
		}
		var kept *state // what is known of an item that the filter keeps
		for _, o := range results {
			switch {
			case o.fault != nil:
				out = append(out, o)
			case o.value == e.truth(false):
			case f.macro == "map":
				for _, r := range inner.eval(f.result, o.state) {
					if r.fault != nil {
						out = append(out, r)
					} else {
						shape = schema.Join(shape, valueShape(r))
					}
				}
			case kept == nil:
				kept = o.state
			default:
				kept = kept.join(o.state)
			}
		}
		if f.macro == "filter" && kept != nil {
			var list *term
			next, list = e.keeps(next, kept, p, item, e.text(x))
			if result != nil {
				list = e.terms.call(operators.Add, schema.ListOf(schema.Join(itemShape(result), itemShape(list))), result, list)
			}
			result = list
		}
	}
	switch {
	case f.macro == "existsOne":
		result = e.fresh(boolShape)
	case f.macro == "map" && len(parts) == 1 && parts[0].kind == schema.Map && f.predicate == nil && isIdent(f.result, c.IterVar()):
		result = e.keys(parts[0].of, "")
		if parts[0].some {
			result = of
		}
	case f.macro == "map" && len(parts) > 0:
		result = e.fresh(schema.ListOf(shape))
	case result == nil:
		result = e.composite(listTerm, schema.List)
	}
	return append(out, value(next, result))
}

// text names the value of an expression within an analysis: what is written, and what the variables
// around it stand for.
func (e *evaluation) text(x ast.Expr) string {
	key := textKey{e.ast, x.ID()}
	text, ok := e.texts[key]
	if !ok {
		text, _ = parser.Unparse(x, e.ast.SourceInfo())
		e.texts[key] = text
	}
	for s := e.scope; s != nil; s = s.next {
		text += fmt.Sprintf("|%s=%d", s.name, s.value.id)
	}
	return text
}

type textKey struct {
	ast  *ast.AST
	node int64
}

// keeps is the list of the items of a part that a filter keeps, and the state that knows of each of
// them what the filter has found out.
func (e *evaluation) keeps(s, kept *state, p part, item *term, text string) (*state, *term) {
	switch {
	case p.item != nil:
		return s, e.kept(e.composite(listTerm, schema.List, p.item), text)
	case p.kind == schema.Map:
		return s, e.keys(p.of, text)
	}
	list := e.kept(p.of, text)
	return s.adding(kept.about(item, e.every(list), e.terms), e.terms), list
}

// valueShape is what stays known of a value when its path is forgotten.
func valueShape(o outcome) *schema.Shape {
	k := o.state.kinds(o.value)
	s := o.value.shape.With(k)
	if least, most := o.state.bounds(o.value); k == schema.Int && (least > minInt || most < maxInt) {
		c := *s
		c.Min, c.Max = least, most
		return &c
	}
	return s
}
