package lint

import (
	"fmt"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"hangar.io/holdshort/cel/schema"
)

// functions are the overloads that an environment declares.
type functions struct {
	declared  map[string]*decls.FunctionDecl
	overloads map[string]overload // by id
}

type overload struct {
	id     string
	args   []*types.Type
	result *types.Type
	// ambiguous: other overloads take the same kinds, with other results.
	ambiguous bool
}

func functionsOf(env *celgo.Env) *functions {
	f := &functions{declared: env.Functions(), overloads: map[string]overload{}}
	for _, d := range f.declared {
		for _, o := range d.OverloadDecls() {
			f.overloads[o.ID()] = overload{id: o.ID(), args: o.ArgTypes(), result: o.ResultType()}
		}
	}
	return f
}

func (e *evaluation) call(x ast.Expr, s *state) []outcome {
	c := x.AsCall()
	args := c.Args()
	operand := func(i int) func(*state) []outcome {
		return func(s *state) []outcome { return e.truths(e.eval(args[i], s), x.ID()) }
	}
	switch name := c.FunctionName(); name {
	case operators.LogicalAnd, operators.LogicalOr:
		var operands []func(*state) []outcome
		for i := range args {
			operands = append(operands, operand(i))
		}
		return e.logic(operands, name == operators.LogicalOr, s)
	case operators.LogicalNot:
		return e.on(operand(0)(s), func(o outcome) []outcome {
			return []outcome{value(o.state, e.truth(o.value == e.truth(false)))}
		})
	case operators.NotStrictlyFalse, "__not_strictly_false__":
		return []outcome{e.unknown(s, x.ID(), "this form of a comprehension is not analysed")}
	case operators.Conditional:
		return e.conditional(x, s)
	case "orValue", "or":
		if c.IsMemberFunction() && len(args) == 1 {
			return e.orElse(x, s)
		}
	}
	if c.IsMemberFunction() {
		args = append([]ast.Expr{c.Target()}, args...)
	}
	results := e.all(args, s, func(s *state, values []*term) []outcome { return e.apply(x, s, values) })
	if breaking[c.FunctionName()] && len(e.ast.GetOverloadIDs(x.ID())) == 1 {
		return fatal(results, true)
	}
	return results
}

// apply is a strict function of values.
func (e *evaluation) apply(x ast.Expr, s *state, args []*term) []outcome {
	switch name := x.AsCall().FunctionName(); name {
	case operators.Index:
		return e.read(s, args[0], args[1], x.ID())
	case operators.OptIndex, operators.OptSelect:
		of := args[0]
		if s.kinds(of)&schema.Optional == 0 {
			of = e.composite(someTerm, schema.Optional, of)
		}
		return e.readOptional(s, of, args[1], x.ID())
	case operators.Equals:
		out := e.equals(s, args[0], args[1], true)
		if why := e.incomparable(s, args[0], args[1]); why != "" {
			out = append(out, e.fault(s, x.ID(), "%s", why))
		}
		return out
	case operators.NotEquals:
		return e.equals(s, args[0], args[1], false)
	case operators.In, "in":
		return e.in(s, args[0], args[1], x.ID())
	case "dyn":
		return []outcome{value(s, args[0])}
	case "optional.of":
		return []outcome{value(s, e.composite(someTerm, schema.Optional, args[0]))}
	case "optional.none":
		return []outcome{value(s, e.composite(noneTerm, schema.Optional))}
	case "hasValue":
		if t, ok := e.optional(args[0]); ok {
			return []outcome{value(s, e.truth(t != nil))}
		}
	case "value":
		if t, ok := e.optional(args[0]); ok && t != nil {
			return []outcome{value(s, t)}
		} else if ok {
			return []outcome{e.fault(s, x.ID(), "there may be no value")}
		}
	}
	if out, ok := e.computed(x, s, args); ok {
		return out
	}
	return e.dispatch(x, s, args)
}

// optional is the value of an optional, nil for none; false if it is not known which.
func (e *evaluation) optional(t *term) (*term, bool) {
	switch t.kind {
	case noneTerm:
		return nil, true
	case someTerm:
		return t.args[0], true
	}
	return nil, false
}

// orElse is a.orValue(b) and a.or(b), which evaluate b only if a has no value.
func (e *evaluation) orElse(x ast.Expr, s *state) []outcome {
	c := x.AsCall()
	return e.on(e.eval(c.Target(), s), func(o outcome) []outcome {
		t, known := e.optional(o.value)
		switch {
		case !known && o.state.kinds(o.value)&schema.Optional == 0:
			return []outcome{e.fault(o.state, x.ID(), "%s is no optional", o.value)}
		case !known:
			var out []outcome
			if rest := o.state.narrow(o.value, ^schema.Optional); rest != nil {
				out = append(out, e.fault(rest, x.ID(), "%s may be no optional", o.value))
			}
			o.state = o.state.narrow(o.value, schema.Optional)
			out = append(out, e.eval(c.Args()[0], o.state)...)
			if c.FunctionName() == "or" {
				return append(out, value(o.state, e.fresh(o.value.shape.With(schema.Optional))))
			}
			return append(out, value(o.state, e.fresh(itemShape(o.value))))
		case t == nil:
			return e.eval(c.Args()[0], o.state)
		case c.FunctionName() == "or":
			return []outcome{o}
		}
		return []outcome{value(o.state, t)}
	})
}

// incomparable says why a == b can fail, "" if it cannot: a value of a library, or an optional that
// holds one, compares only with its like and with null (apiserver pkg/cel, the Equal of each type; cel-go
// common/types.Equal). Neither !=, nor in, nor a list or map that holds the value fails.
func (e *evaluation) incomparable(s *state, a, b *term) string {
	if x, y := s.kinds(a), s.kinds(b); x&schema.Opaque != 0 {
		if y&schema.Opaque != 0 && (a.shape.Name == "" || a.shape.Name != b.shape.Name) || y&^(schema.Opaque|schema.Null) != 0 {
			return fmt.Sprintf("%s can be a value of a library, and %s one of another type", a, b)
		}
	}
	if (s.kinds(a)&s.kinds(b))&schema.Optional == 0 {
		return ""
	}
	if a.kind == someTerm && b.kind == someTerm {
		return e.incomparable(s, a.args[0], b.args[0])
	}
	x, y := itemShape(a), itemShape(b)
	if x.Kinds&schema.Optional != 0 || x.Kinds&schema.Opaque != 0 && (y.Kinds&^schema.Opaque != 0 || x.Name == "" || x.Name != y.Name) {
		return fmt.Sprintf("%s can hold a value of a library, and %s one of another type", a, b)
	}
	return ""
}

// equals never fails: values of different kinds are not equal (see incomparable).
func (e *evaluation) equals(s *state, a, b *term, positive bool) []outcome {
	if a.kind == constTerm || (b.kind != constTerm && a.id > b.id) {
		a, b = b, a
	}
	known := func(equal bool) []outcome { return []outcome{value(s, e.truth(equal == positive))} }
	if c := s.equal(a, e.terms); c != nil && b.kind == constTerm && c.value.Type() == b.value.Type() {
		return known(constantEqual(c, b))
	}
	if a == b && a.kind != constTerm && s.kinds(a)&schema.Double == 0 && a.shape.Kinds&(schema.List|schema.Map) == 0 {
		return known(true)
	}
	if b.kind == constTerm && comparable(s.kinds(a), s.kinds(b)) == 0 {
		return known(false)
	}
	t := e.terms.call(operators.Equals, boolShape, a, b)
	return e.on(e.split(s, t), func(o outcome) []outcome {
		return []outcome{value(o.state, e.truth((o.value == e.truth(true)) == positive))}
	})
}

// comparable are the kinds of a that can be equal to a value of the kinds b: numbers of all kinds
// compare.
func comparable(a, b schema.Kinds) schema.Kinds {
	numbers := schema.Int | schema.Uint | schema.Double
	if b&numbers != 0 {
		b |= numbers
	}
	return a & b
}

// in is membership in a list or among the keys of a map.
func (e *evaluation) in(s *state, key, of *term, node int64) []outcome {
	var out []outcome
	if rest := s.kinds(of) &^ (schema.Map | schema.List); rest != 0 {
		out = append(out, e.fault(s.narrow(of, rest), node, "%s can be %s, expected a list or a map", of, kindNames(rest)))
	}
	if m := s.narrow(of, schema.Map); m != nil {
		for _, n := range e.lookupMap(m, of, key) {
			if n.other != "" {
				out = append(out, e.fault(n.state, node, "%s", n.other))
				continue
			}
			out = append(out, value(n.state, e.truth(n.value != nil)))
		}
	}
	if l := s.narrow(of, schema.List); l != nil {
		out = append(out, e.inList(l, key, of)...)
	}
	return out
}

func (e *evaluation) inList(s *state, key, of *term) []outcome {
	if of.kind == listTerm && len(of.args) <= 16 {
		live := []*state{s}
		var out []outcome
		for _, item := range of.args {
			var next []*state
			for _, l := range live {
				for _, o := range e.equals(l, key, item, true) {
					if o.value == e.truth(true) {
						out = append(out, o)
					} else {
						next = append(next, o.state)
					}
				}
			}
			live = next
		}
		for _, l := range live {
			out = append(out, value(l, e.truth(false)))
		}
		return e.join(out)
	}
	t := e.terms.call(operators.In, boolShape, key, of)
	return e.on(e.split(s, t), func(o outcome) []outcome {
		if o.value == e.truth(true) {
			next := o.state.bound(e.size(of), 1, maxInt)
			if next != nil {
				next = next.narrow(key, comparable(next.kinds(key), e.itemKinds(next, of)))
			}
			if next == nil {
				return nil
			}
			o.state = next
		}
		return []outcome{o}
	})
}

// dispatch applies the overloads that the kinds of the arguments can have; other kinds have none.
func (e *evaluation) dispatch(x ast.Expr, s *state, args []*term) []outcome {
	c := x.AsCall()
	var candidates []overload
	for _, id := range e.ast.GetOverloadIDs(x.ID()) {
		if o, ok := e.functions.overloads[id]; ok && len(o.args) == len(args) {
			candidates = append(candidates, o)
		}
	}
	if len(candidates) == 0 {
		return []outcome{e.unknown(s, x.ID(), "the analysis does not know the function %s", c.FunctionName())}
	}
	kinds := make([][]schema.Kinds, len(args)) // of each argument, one by one
	for i, a := range args {
		for k := s.kinds(a); k != 0; k &= k - 1 {
			kinds[i] = append(kinds[i], k&-k)
		}
		if len(kinds[i]) == 0 {
			return nil // the state cannot be
		}
	}
	matched := map[string][]schema.Kinds{} // overload → kinds of arguments that it takes
	unmatched := false
	combine(kinds, func(combination []schema.Kinds) {
		for i, k := range combination {
			unmatched = unmatched || k == schema.Opaque && args[i].shape.Name == "" && !anyType(candidates, i)
		}
		for n, o := range candidates {
			if o.takes(args, combination) {
				for _, other := range candidates[n+1:] {
					if other.takes(args, combination) && kindOf(other.result) != kindOf(o.result) {
						candidates[n].ambiguous = true
					}
				}
				known := matched[o.id]
				if known == nil {
					known = make([]schema.Kinds, len(args))
				}
				for i, k := range combination {
					known[i] |= k
				}
				matched[o.id] = known
				return
			}
		}
		unmatched = true
	})
	var out []outcome
	for i, a := range args {
		if rest := e.itemKinds(s, a) &^ itemsTaken(candidates, i); s.kinds(a)&schema.List != 0 && rest != 0 {
			out = append(out, e.fault(s, x.ID(), "%s does not take an item that is %s, which %s can have", display(c.FunctionName()), kindNames(rest), a))
		}
	}
	if unmatched {
		texts := make([]string, len(args))
		for i, a := range args {
			texts[i] = fmt.Sprintf("%s can be %s", a, kindNames(s.kinds(a)))
		}
		out = append(out, e.fault(s, x.ID(), "%s does not take what it can get: %s", display(c.FunctionName()), strings.Join(texts, "; ")))
	}
	for _, o := range candidates {
		allowed, ok := matched[o.id]
		if !ok {
			continue
		}
		next := s
		for i, a := range args {
			if next = next.narrow(a, allowed[i]); next == nil {
				break
			}
		}
		if next != nil {
			out = append(out, e.transfer(o, x.ID(), c.FunctionName(), next, args)...)
		}
	}
	return out
}

// itemsTaken are the kinds that the first item of a list can have at a place: an overload for a list of
// one type looks at it, although what an expression declares need not be so (cel-go common/types/types.go,
// defaultIsAssignableRuntimeType). Of lists in a list it does not matter: flatten is declared without guards.
func itemsTaken(candidates []overload, place int) schema.Kinds {
	var k schema.Kinds
	for _, o := range candidates {
		t := o.args[place]
		if t.Kind() != types.ListKind || len(t.Parameters()) != 1 {
			return schema.Every
		}
		item := kindOf(t.Parameters()[0])
		if item == 0 || item == schema.List {
			return schema.Every
		}
		k |= item
	}
	return k
}

// anyType tells whether some overload takes values of every type at a place.
func anyType(candidates []overload, place int) bool {
	for _, o := range candidates {
		if k := o.args[place].Kind(); k == types.DynKind || k == types.TypeParamKind || k == types.AnyKind {
			return true
		}
	}
	return false
}

// display is a function as it is written.
func display(name string) string { return strings.Trim(name, "_@") }

// combine calls f for each choice of one kind for every argument.
func combine(kinds [][]schema.Kinds, f func([]schema.Kinds)) {
	choice := make([]schema.Kinds, len(kinds))
	var walk func(i int)
	walk = func(i int) {
		if i == len(kinds) {
			f(choice)
			return
		}
		for _, k := range kinds[i] {
			choice[i] = k
			walk(i + 1)
		}
	}
	walk(0)
}

func (o overload) takes(args []*term, kinds []schema.Kinds) bool {
	for i, t := range o.args {
		if !takes(t, args[i], kinds[i]) {
			return false
		}
	}
	return true
}

func takes(t *types.Type, arg *term, k schema.Kinds) bool {
	switch t.Kind() {
	case types.DynKind, types.TypeParamKind, types.AnyKind:
		return true
	case types.OpaqueKind, types.StructKind:
		if t.TypeName() == "optional_type" {
			return k == schema.Optional
		}
		return k == schema.Opaque && (arg.shape.Name == t.TypeName() || arg.shape.Name == "")
	}
	return kindOf(t) == k
}

// kindOf is the kind of the values of a type, 0 for any.
func kindOf(t *types.Type) schema.Kinds {
	switch t.Kind() {
	case types.NullTypeKind:
		return schema.Null
	case types.BoolKind:
		return schema.Bool
	case types.IntKind:
		return schema.Int
	case types.UintKind:
		return schema.Uint
	case types.DoubleKind:
		return schema.Double
	case types.StringKind:
		return schema.String
	case types.BytesKind:
		return schema.Bytes
	case types.ListKind:
		return schema.List
	case types.MapKind:
		return schema.Map
	case types.TimestampKind:
		return schema.Timestamp
	case types.DurationKind:
		return schema.Duration
	case types.TypeKind:
		return schema.Type
	case types.OpaqueKind, types.StructKind: // the types of libraries are declared as either
		if t.TypeName() == "optional_type" {
			return schema.Optional
		}
		return schema.Opaque
	}
	return 0
}

// shapeOf is the shape of the values of a type.
func shapeOf(t *types.Type) *schema.Shape {
	switch k := kindOf(t); k {
	case 0:
		return schema.Unknown
	case schema.List:
		if p := t.Parameters(); len(p) == 1 {
			return schema.ListOf(shapeOf(p[0]))
		}
		return schema.ListOf(schema.Unknown)
	case schema.Map:
		if p := t.Parameters(); len(p) == 2 {
			return schema.MapOf(shapeOf(p[1]))
		}
		return schema.MapOf(schema.Unknown)
	case schema.Optional:
		if p := t.Parameters(); len(p) == 1 {
			return schema.OptionalOf(shapeOf(p[0]))
		}
		return schema.OptionalOf(schema.Unknown)
	case schema.Opaque:
		return &schema.Shape{Kinds: k, Name: t.TypeName()}
	default:
		return &schema.Shape{Kinds: k, Min: minInt, Max: maxInt}
	}
}

// size is the term for how many items, entries or characters a value has.
func (e *evaluation) size(of *term) *term {
	return e.terms.call("size", &schema.Shape{Kinds: schema.Int, Min: 0, Max: maxSize}, of)
}

// maxSize is more than the size of anything: a request has at most 3 MiB (apiserver pkg/server/config.go,
// MaxRequestBodyBytes), and what an expression makes of it is bounded by its cost.
const maxSize = 1<<31 - 1

// sizeBounds are what is known of that number.
func (e *evaluation) sizeBounds(s *state, of *term) (least, most int64) {
	least, most = s.bounds(e.size(of))
	least, most = max(least, 0), min(most, maxSize)
	switch {
	case of.kind == listTerm:
		return int64(len(of.args)), int64(len(of.args))
	case of.kind == constTerm:
		if text, ok := of.value.(types.String); ok {
			n := int64(len([]rune(string(text))))
			return n, n
		}
	case of.kind == callTerm && of.name == operators.Add && len(of.args) == 2:
		a, _ := e.sizeBounds(s, of.args[0])
		b, _ := e.sizeBounds(s, of.args[1])
		least = max(least, a+b)
	case of.shape.NonEmpty:
		least = max(least, 1)
	}
	return least, most
}
