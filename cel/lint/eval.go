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
	compare   *comparisons
	// remembered is what variables are in a state, under the roots of this analysis.
	remembered map[reading][]outcome
}

// reading is a variable that is read in a state.
type reading struct {
	state    *state
	variable string
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
	if e.compare != nil && !e.compare.within {
		e.compare.unknown = true
	}
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
	out := e.evalKind(x, s)
	if e.compare != nil {
		e.compared(x, out)
	}
	return out
}

func (e *evaluation) evalKind(x ast.Expr, s *state) []outcome {
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
	at := reading{s, sel.FieldName()}
	if known, ok := e.remembered[at]; ok {
		return known
	}
	within := e.compare != nil && e.compare.within
	if within {
		if known, ok := e.compare.remembered[at]; ok {
			return known
		}
	}
	out := slices.Clip(fatal((&evaluation{analysis: e.analysis, expression: v}).eval(v.ast.Expr(), s), false))
	switch {
	case e.steps > maxSteps:
	case within:
		e.compare.remembered[at] = out
	default:
		e.remembered[at] = out
	}
	return out
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
