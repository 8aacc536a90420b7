package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"hangar.io/holdshort/cel/schema"
)

// outcome is one way in which an evaluation can end: with a value, or with an error at a node.
type outcome struct {
	state *state
	value *term
	fault *fault
}

// fault is an error of an evaluation.
type fault struct {
	// field is the expression that fails, as harness.Checked names it; node the one in it.
	field string
	node  int64
	// text says what is wrong, in the words of the analysis.
	text string
	// reader is the match condition whose evaluation fails: field itself, or the one that reads the
	// variable; empty elsewhere.
	reader string
	// beside is the error of another match condition on the same path: that one fails as well.
	beside *fault
	// unknown: the analysis does not know whether this can happen.
	unknown bool
	// fatal: it ends the whole expression, and nothing absorbs it (see fatal).
	fatal bool
}

// Bounds of one analysis, counted, so that its result does not depend on the machine. What is
// proved within them is proved; beyond them paths are joined, and then everything is unknown.
const (
	maxSteps = 400_000
	maxPaths = 40
)

// analysis evaluates the expressions of one policy for one case of the requests that it matches.
type analysis struct {
	*terms
	functions *functions
	variables map[string]*expression
	roots     map[string]*term
	texts     map[textKey]string
	steps     int
	paths     int // the most that there were at once
	deep      int // of variables that read variables
}

// expression is one of the policy's.
type expression struct {
	at  string // its field of the policy
	ast *ast.AST
}

// scope is the variables of comprehensions around an expression.
type scope struct {
	name  string
	value *term
	next  *scope
}

func (s *scope) find(name string) *term {
	for ; s != nil; s = s.next {
		if s.name == name {
			return s.value
		}
	}
	return nil
}

// evaluation is one expression with its scope.
type evaluation struct {
	*analysis
	*expression
	scope *scope
}

func (e *evaluation) fault(s *state, node int64, format string, args ...any) outcome {
	return outcome{state: s, fault: &fault{field: e.at, node: node, text: fmt.Sprintf(format, args...)}}
}

func (e *evaluation) unknown(s *state, node int64, format string, args ...any) outcome {
	o := e.fault(s, node, format, args...)
	o.fault.unknown = true
	return o
}

// and is the first of two errors of a conjunction: if they are of two match conditions, both.
func (f *fault) and(other *fault) *fault {
	if other == nil || other.reader == f.reader {
		return f
	}
	both := *other
	both.beside = f
	return &both
}

// place names where an error is, and the errors beside it.
func (f *fault) place() string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%s %d %s %t|", f.field, f.node, f.reader, f.fatal) + f.beside.place()
}

func value(s *state, t *term) outcome { return outcome{state: s, value: t} }

// on evaluates what follows a value for each way of having one; errors stay.
func (e *evaluation) on(in []outcome, then func(outcome) []outcome) []outcome {
	var out []outcome
	for _, o := range in {
		if o.fault != nil {
			out = append(out, o)
			continue
		}
		out = append(out, then(o)...)
	}
	return e.join(out)
}

// join puts paths with the same result together if there are many, and gives up values if there are
// still many. Both only lose knowledge.
func (e *evaluation) join(in []outcome) []outcome {
	e.paths = max(e.paths, len(in))
	if len(in) <= maxPaths {
		return in
	}
	type result struct {
		value *term
		fault string
	}
	at := map[result]int{}
	var out []outcome
	for _, o := range in {
		r := result{o.value, o.fault.place()}
		if i, ok := at[r]; ok {
			out[i].state = out[i].state.join(o.state)
			continue
		}
		at[r] = len(out)
		out = append(out, o)
	}
	if len(out) <= maxPaths {
		return out
	}
	var errs []outcome
	var widened *outcome
	for _, o := range out {
		switch {
		case o.fault != nil:
			errs = append(errs, o)
		case widened == nil:
			w := value(o.state, o.value)
			widened = &w
		default:
			widened.state = widened.state.join(o.state)
			widened.value = e.fresh(schema.Join(widened.value.shape, o.value.shape))
		}
	}
	if widened != nil {
		errs = append(errs, *widened)
	}
	return errs
}

// eval is every way in which an expression can end, from a state.
func (e *evaluation) eval(x ast.Expr, s *state) []outcome {
	e.steps++
	if e.steps > maxSteps {
		return []outcome{e.unknown(s, x.ID(), "the expression has too many paths to follow")}
	}
	switch x.Kind() {
	case ast.LiteralKind:
		return []outcome{value(s, e.constant(x.AsLiteral()))}
	case ast.IdentKind:
		return e.ident(x, s)
	case ast.SelectKind:
		return e.selectField(x, s)
	case ast.CallKind:
		return e.call(x, s)
	case ast.ListKind:
		return e.list(x, s)
	case ast.MapKind:
		return e.mapping(x, s)
	case ast.ComprehensionKind:
		return e.comprehension(x, s)
	}
	return []outcome{e.unknown(s, x.ID(), "the analysis does not know this kind of expression")}
}

func (e *evaluation) ident(x ast.Expr, s *state) []outcome {
	name := x.AsIdent()
	if t := e.scope.find(name); t != nil {
		return []outcome{value(s, t)}
	}
	if ref, ok := e.ast.ReferenceMap()[x.ID()]; ok {
		if ref.Value != nil {
			return []outcome{value(s, e.constant(ref.Value))}
		}
		name = ref.Name
	}
	name = strings.TrimPrefix(name, ".")
	if t := e.roots[name]; t != nil {
		return []outcome{value(s, t)}
	}
	if t := e.ast.GetType(x.ID()); t != nil && t.Kind() == types.TypeKind {
		return []outcome{value(s, e.terms.call("type:"+name, &schema.Shape{Kinds: schema.Type}))}
	}
	return []outcome{e.unknown(s, x.ID(), "%s is not bound here", name)}
}

// selectField reads a field, or asks for it.
func (e *evaluation) selectField(x ast.Expr, s *state) []outcome {
	sel := x.AsSelect()
	if v := e.variable(sel, s, x.ID()); v != nil {
		return v
	}
	// A name with dots can be one identifier.
	if ref, ok := e.ast.ReferenceMap()[x.ID()]; ok && !sel.IsTestOnly() {
		if ref.Value != nil {
			return []outcome{value(s, e.constant(ref.Value))}
		}
		if t := e.roots[ref.Name]; t != nil {
			return []outcome{value(s, t)}
		}
		if t := e.ast.GetType(x.ID()); t != nil && t.Kind() == types.TypeKind {
			return []outcome{value(s, e.terms.call("type:"+ref.Name, &schema.Shape{Kinds: schema.Type}))}
		}
	}
	key := e.constant(types.String(sel.FieldName()))
	return e.on(e.eval(sel.Operand(), s), func(o outcome) []outcome {
		if sel.IsTestOnly() {
			return e.has(o.state, o.value, key, x.ID())
		}
		return e.read(o.state, o.value, key, x.ID())
	})
}

// variable evaluates a variable of the policy where it is read: it has its value, or its error,
// only there.
func (e *evaluation) variable(sel ast.SelectExpr, s *state, node int64) []outcome {
	if sel.Operand().Kind() != ast.IdentKind || sel.Operand().AsIdent() != "variables" || e.scope.find("variables") != nil {
		return nil
	}
	if sel.IsTestOnly() {
		_, ok := e.analysis.variables[sel.FieldName()]
		return []outcome{value(s, e.truth(ok))}
	}
	v := e.analysis.variables[sel.FieldName()]
	if v == nil || v.ast == nil {
		return []outcome{e.unknown(s, node, "variables.%s does not compile", sel.FieldName())}
	}
	const deepest = 64 // API validation lets a variable read only earlier ones
	if e.deep > deepest {
		return []outcome{e.unknown(s, node, "variables read each other")}
	}
	e.deep++
	defer func() { e.deep-- }()
	return fatal((&evaluation{analysis: e.analysis, expression: v}).eval(v.ast.Expr(), s), false)
}

// breaking are functions that fail the whole expression when an argument is an error, or of a kind
// that they do not take: cel-go counts the cost of a call after it whatever came out, and for these
// it takes the arguments for what they are declared as (cel-go ext/lists.go and interpreter/runtimecost.go).
// The panic becomes the error of the evaluation. It knows these by their overload, so that a call that
// can be of several is not among them.
var breaking = map[string]bool{"distinct": true, "flatten": true, "sort": true, "@sortByAssociatedKeys": true}

// fatal marks the errors among the outcomes as such that nothing absorbs, or no more: an expression
// that reads a variable has its error as a value.
func fatal(in []outcome, is bool) []outcome {
	out := slices.Clone(in)
	for i, o := range out {
		if o.fault != nil && o.fault.fatal != is {
			f := *o.fault
			f.fatal = is
			out[i].fault = &f
		}
	}
	return out
}

// readBy names the match condition that the errors among its outcomes are of.
func readBy(field string, in []outcome) []outcome {
	out := slices.Clone(in)
	for i, o := range out {
		if o.fault != nil {
			f := *o.fault
			f.reader = field
			out[i].fault = &f
		}
	}
	return out
}

// entry is one way in which a key can be looked up.
type entry struct {
	state *state
	value *term  // nil: the key is not there
	other string // unless empty, the operand is of a kind that has no keys, or has no such key, and why that is an error
	null  bool   // of a kind that is neither map nor list nor optional
}

// lookup is every way in which a key of an operand can be looked up.
func (e *evaluation) lookup(s *state, of, key *term) []entry {
	var out []entry
	kinds := s.kinds(of)
	if m := s.narrow(of, schema.Map); m != nil {
		out = append(out, e.lookupMap(m, of, key)...)
	}
	if l := s.narrow(of, schema.List); l != nil {
		out = append(out, e.lookupList(l, of, key)...)
	}
	if rest := kinds &^ (schema.Map | schema.List | schema.Optional); rest != 0 {
		out = append(out, entry{state: s.narrow(of, rest), null: true, other: fmt.Sprintf("%s can be %s, which has no %s", of, kindNames(rest), keyText(key))})
	}
	return out
}

func keyText(key *term) string {
	if text, ok := key.value.(types.String); ok && key.kind == constTerm {
		return "field " + string(text)
	}
	return "key " + key.String()
}

// missing is the fact that a key is not there, as a person reads it.
func missing(of, key *term) string { return fmt.Sprintf("%s may not have the %s", of, keyText(key)) }

func (e *evaluation) lookupMap(s *state, of, key *term) []entry {
	var out []entry
	if k := s.kinds(key); k&^schema.String != 0 {
		// Maps of Kubernetes objects take no other keys than text; a literal map may.
		if of.kind == mapTerm {
			return []entry{{state: s, value: e.fresh(itemShape(of))}, {state: s}}
		}
		out = append(out, entry{state: s.narrow(key, k&^schema.String), other: fmt.Sprintf("the key %s can be %s, expected text", key, kindNames(k&^schema.String))})
		if s = s.narrow(key, schema.String); s == nil {
			return out
		}
	}
	there := false // the key was found in the map before anything was known of it
	if constant := s.equal(key, e.terms); constant != nil && constant != key {
		v, ok := s.find(e.index(of, key, itemShape(of)), presentFact)
		there = ok && v == 1
		key = constant
	}
	if of.kind == mapTerm {
		return append(out, e.lookupLiteral(s, of, key)...)
	}
	var child *term
	switch text, isText := key.value.(types.String); {
	case key.kind == constTerm && isText:
		f, known := of.shape.Field(string(text))
		switch {
		case known && f.Always:
			return append(out, entry{state: s, value: e.field(of, string(text), f.Shape)})
		case known:
			child = e.field(of, string(text), f.Shape)
		case of.shape.Closed():
			return append(out, entry{state: s})
		default:
			child = e.field(of, string(text), itemShape(of))
		}
	default:
		child = e.index(of, key, itemShape(of))
	}
	switch v, known := s.find(child, presentFact); {
	case there:
		out = append(out, entry{state: s.with(child, presentFact, 1), value: child})
	case known && v == 1:
		out = append(out, entry{state: s, value: child})
	case known:
		out = append(out, entry{state: s})
	default:
		out = append(out, entry{state: s.with(child, presentFact, 1), value: child}, entry{state: s.with(child, presentFact, 0)})
	}
	return out
}

// lookupLiteral looks a key up in {…}.
func (e *evaluation) lookupLiteral(s *state, of, key *term) []entry {
	exact := key.kind == constTerm
	for i := 0; i+1 < len(of.args); i += 2 {
		k := of.args[i]
		if k.kind != constTerm {
			exact = false
			continue
		}
		if key.kind == constTerm && constantEqual(k, key) {
			return []entry{{state: s, value: of.args[i+1]}}
		}
	}
	if exact {
		return []entry{{state: s}}
	}
	out := []entry{{state: s}}
	for i := 0; i+1 < len(of.args); i += 2 {
		out = append(out, entry{state: s, value: of.args[i+1]})
	}
	return out
}

func (e *evaluation) lookupList(s *state, of, key *term) []entry {
	if k := s.kinds(key); k&^schema.Int != 0 {
		out := []entry{{state: s.narrow(key, k&^schema.Int), other: fmt.Sprintf("the index %s can be %s, expected an int", key, kindNames(k&^schema.Int))}}
		if s = s.narrow(key, schema.Int); s != nil {
			out = append(out, e.lookupList(s, of, key)...)
		}
		return out
	}
	least, most := s.bounds(key)
	if of.kind == listTerm && least == most {
		if least >= 0 && least < int64(len(of.args)) {
			return []entry{{state: s, value: of.args[least]}}
		}
		return []entry{{state: s}}
	}
	item := e.index(of, key, itemShape(of))
	size := e.size(of)
	sizeLeast, _ := e.sizeBounds(s, of)
	if least >= 0 && most < sizeLeast {
		return []entry{{state: s, value: item}}
	}
	if v, ok := s.find(item, presentFact); ok && v == 1 {
		return []entry{{state: s, value: item}}
	}
	there := s.with(item, presentFact, 1)
	out := []entry{}
	if there = there.bound(size, max(least, 0)+1, maxInt); there != nil {
		out = append(out, entry{state: there, value: item})
	}
	absent := s
	if least == most && least >= 0 {
		absent = s.bound(size, 0, least)
	}
	if absent != nil {
		out = append(out, entry{state: absent})
	}
	return out
}

// read is operand.key, or operand[key].
func (e *evaluation) read(s *state, of, key *term, node int64) []outcome {
	if s.kinds(of)&schema.Optional != 0 {
		return e.readOptional(s, of, key, node)
	}
	var out []outcome
	for _, n := range e.lookup(s, of, key) {
		switch {
		case n.other != "":
			out = append(out, e.fault(n.state, node, "%s", n.other))
		case n.value == nil:
			out = append(out, e.fault(n.state, node, "%s", missing(of, key)))
		default:
			out = append(out, value(n.state, n.value))
		}
	}
	return out
}

// readOptional is operand.?key, or operand.key of an optional operand: what is missing is no value.
func (e *evaluation) readOptional(s *state, of, key *term, node int64) []outcome {
	switch of.kind {
	case noneTerm:
		return []outcome{value(s, of)}
	case someTerm:
		of = of.args[0]
	default:
		if s.kinds(of)&schema.Optional != 0 {
			return []outcome{value(s, e.fresh(schema.OptionalOf(schema.Unknown))), e.unknown(s, node, "nothing is known of %s", of)}
		}
	}
	var out []outcome
	for _, n := range e.lookup(s, of, key) {
		switch {
		case n.other != "" && !n.null:
			out = append(out, e.fault(n.state, node, "%s", n.other))
		case n.value == nil:
			out = append(out, value(n.state, e.composite(noneTerm, schema.Optional)))
		default:
			out = append(out, value(n.state, e.composite(someTerm, schema.Optional, n.value)))
		}
	}
	return out
}

// has is has(operand.key): false for a value that has no keys, an error for a list.
func (e *evaluation) has(s *state, of, key *term, node int64) []outcome {
	switch of.kind {
	case noneTerm:
		return []outcome{value(s, e.truth(false))}
	case someTerm:
		of = of.args[0]
	}
	if s.kinds(of)&schema.Optional != 0 {
		return []outcome{e.unknown(s, node, "nothing is known of %s", of)}
	}
	var out []outcome
	for _, n := range e.lookup(s, of, key) {
		if n.other != "" && !n.null {
			out = append(out, e.fault(n.state, node, "%s", n.other))
			continue
		}
		out = append(out, value(n.state, e.truth(n.value != nil)))
	}
	return out
}

// truths splits a value that is used as a truth.
func (e *evaluation) truths(in []outcome, node int64) []outcome {
	return e.on(in, func(o outcome) []outcome {
		var out []outcome
		if rest := o.state.kinds(o.value) &^ schema.Bool; rest != 0 {
			out = append(out, e.fault(o.state.narrow(o.value, rest), node, "%s can be %s, expected a bool", o.value, kindNames(rest)))
		}
		s := o.state.narrow(o.value, schema.Bool)
		if s == nil {
			return out
		}
		return append(out, e.split(s, o.value)...)
	})
}

// split is a bool term as true and as false, as far as each is possible.
func (e *evaluation) split(s *state, t *term) []outcome {
	if c := s.equal(t, e.terms); c != nil {
		return []outcome{value(s, c)}
	}
	if v, ok := s.find(t, truthFact); ok {
		return []outcome{value(s, e.truth(v == 1))}
	}
	var out []outcome
	for _, b := range []bool{true, false} {
		if next := e.assume(s, t, b); next != nil {
			out = append(out, value(next, e.truth(b)))
		}
	}
	return out
}

// logic is && and ||: a stop (false, true) ends it in either order, and absorbs errors.
func (e *evaluation) logic(operands []func(*state) []outcome, stop bool, s *state) []outcome {
	live := []outcome{value(s, e.truth(!stop))}
	var done []outcome
	for _, operand := range operands {
		var next []outcome
		for _, l := range live {
			for _, o := range operand(l.state) {
				switch {
				case o.fault == nil && o.value == e.truth(stop), o.fault != nil && o.fault.fatal:
					done = append(done, o)
				case l.fault != nil:
					next = append(next, outcome{state: o.state, fault: l.fault.and(o.fault)})
				default:
					next = append(next, o)
				}
			}
		}
		live = e.join(next)
	}
	return e.join(append(done, live...))
}

func (e *evaluation) conditional(x ast.Expr, s *state) []outcome {
	args := x.AsCall().Args()
	return e.on(e.truths(e.eval(args[0], s), x.ID()), func(o outcome) []outcome {
		if o.value == e.truth(true) {
			return e.eval(args[1], o.state)
		}
		return e.eval(args[2], o.state)
	})
}

func (e *evaluation) list(x ast.Expr, s *state) []outcome {
	l := x.AsList()
	optional := map[int32]bool{}
	for _, i := range l.OptionalIndices() {
		optional[i] = true
	}
	return e.all(l.Elements(), s, func(s *state, args []*term) []outcome {
		var items []*term
		for i, a := range args {
			if !optional[int32(i)] {
				items = append(items, a)
				continue
			}
			switch held, known := e.optional(a); {
			case !known:
				return append(e.noOptional(s, a, x.ID()), value(s, e.fresh(schema.ListOf(schema.Unknown))))
			case held != nil:
				items = append(items, held)
			}
		}
		return []outcome{value(s, e.composite(listTerm, schema.List, items...))}
	})
}

// noOptional is the error of [?x] and {?k: x} for an x that is no optional.
func (e *evaluation) noOptional(s *state, t *term, node int64) []outcome {
	rest := s.narrow(t, ^schema.Optional)
	if rest == nil {
		return nil
	}
	return []outcome{e.fault(rest, node, "%s can be %s, expected an optional", t, kindNames(rest.kinds(t)))}
}

func (e *evaluation) mapping(x ast.Expr, s *state) []outcome {
	var parts []ast.Expr
	optional := map[int]bool{}
	for _, entry := range x.AsMap().Entries() {
		m := entry.AsMapEntry()
		parts = append(parts, m.Key(), m.Value())
		optional[len(parts)-2] = m.IsOptional()
	}
	return e.all(parts, s, func(s *state, args []*term) []outcome {
		var out []outcome
		var entries []*term
		known := true
		for i := 0; i < len(args); i += 2 {
			key, v := args[i], args[i+1]
			keys := schema.String | schema.Bool | schema.Int | schema.Uint
			if rest := s.kinds(key) &^ keys; rest != 0 {
				out = append(out, e.fault(s, x.ID(), "the key %s can be %s", key, kindNames(rest)))
			}
			if optional[i] {
				held, is := e.optional(v)
				if !is {
					out = append(out, e.noOptional(s, v, x.ID())...)
				}
				if known = known && is; held == nil {
					continue
				}
				v = held
			}
			entries = append(entries, key, v)
		}
		if !known {
			return append(out, value(s, e.fresh(schema.MapOf(schema.Unknown))))
		}
		return append(out, value(s, e.composite(mapTerm, schema.Map, entries...)))
	})
}

// all evaluates expressions one after the other, each in what is known from those before.
func (e *evaluation) all(exprs []ast.Expr, s *state, then func(*state, []*term) []outcome) []outcome {
	type partial struct {
		state *state
		args  []*term
		fault *fault
	}
	live := []partial{{state: s}}
	for _, x := range exprs {
		var next []partial
		for _, l := range live {
			if l.fault != nil {
				next = append(next, l)
				continue
			}
			for _, o := range e.eval(x, l.state) {
				args := append(l.args[:len(l.args):len(l.args)], o.value)
				next = append(next, partial{o.state, args, o.fault})
			}
		}
		live = next
		if len(live) > maxPaths {
			live = joinPartials(live, func(p partial) (*state, string) {
				ids := ""
				for _, a := range p.args {
					if a != nil {
						ids += fmt.Sprint(a.id, ",")
					}
				}
				if p.fault != nil {
					ids = fmt.Sprint("!", p.fault.field, p.fault.node)
				}
				return p.state, ids
			}, func(p partial, s *state) partial { p.state = s; return p })
		}
	}
	var out []outcome
	for _, l := range live {
		if l.fault != nil {
			out = append(out, outcome{state: l.state, fault: l.fault})
			continue
		}
		out = append(out, then(l.state, l.args)...)
	}
	return e.join(out)
}

// joinPartials puts together what has the same name.
func joinPartials[P any](in []P, name func(P) (*state, string), with func(P, *state) P) []P {
	at := map[string]int{}
	var out []P
	for _, p := range in {
		s, n := name(p)
		if i, ok := at[n]; ok {
			known, _ := name(out[i])
			out[i] = with(out[i], known.join(s))
			continue
		}
		at[n] = len(out)
		out = append(out, p)
	}
	return out
}

var kindNameList = []struct {
	kind schema.Kinds
	name string
}{
	{schema.Null, "null"},
	{schema.Bool, "a bool"},
	{schema.Int, "an int"},
	{schema.Uint, "a uint"},
	{schema.Double, "a double"},
	{schema.String, "text"},
	{schema.Bytes, "bytes"},
	{schema.List, "a list"},
	{schema.Map, "a map"},
	{schema.Timestamp, "a timestamp"},
	{schema.Duration, "a duration"},
	{schema.Type, "a type"},
	{schema.Optional, "an optional"},
	{schema.Opaque, "a value of a library"},
}

// kindNames are kinds as a person reads them.
func kindNames(k schema.Kinds) string {
	var names []string
	for _, n := range kindNameList {
		if k&n.kind != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " or ")
}
