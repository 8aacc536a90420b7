package lint

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"hangar.io/holdshort/cel/schema"
)

// Functions of constants are computed by the implementations that the server's environment has, so
// that what they give, and whether they fail, is certain.

// maxConstant bounds the characters and items of constants that are computed with, so that what an
// expression doubles again and again ends.
const maxConstant = 1000

// uncomputed are functions that are not computed: what type() gives is a term that assume() knows, and
// lists.range is as long as its number says.
var uncomputed = map[string]bool{"type": true, "lists.range": true, operators.Index: true}

// computed is what a function of constants gives; false if its arguments are not all known, or the
// result is nothing to go on with.
func (e *evaluation) computed(x ast.Expr, s *state, args []*term) ([]outcome, bool) {
	name := x.AsCall().FunctionName()
	if uncomputed[name] || breaking[name] || len(args) == 0 {
		return nil, false
	}
	values, constants, size := make([]ref.Val, len(args)), make([]*term, len(args)), 0
	for i, a := range args {
		if constants[i], values[i] = e.known(s, a); values[i] == nil {
			return nil, false
		}
		size += weight(values[i])
	}
	if size > maxConstant {
		return nil, false
	}
	switch v := e.functions.invoke(name, values).(type) {
	case nil, *types.Unknown:
		return nil, false
	case *types.Err:
		return []outcome{e.fault(s, x.ID(), "%s: %s", display(name), v)}, true
	default:
		if t := e.constantOf(v); t != nil {
			return []outcome{value(s, t)}, true
		}
		if of, ok := v.Type().(*types.Type); !ok || kindOf(of) != schema.Opaque {
			return nil, false
		}
		// A value of a library is named by how it is computed.
		t := e.terms.call(name, constShape(v), constants...)
		t.value = v
		return []outcome{value(s, t)}, true
	}
}

// known is the constant that a term is, and its value; nil if that is not known.
func (e *evaluation) known(s *state, t *term) (*term, ref.Val) {
	switch {
	case t.kind == listTerm:
		values, terms := make([]ref.Val, len(t.args)), make([]*term, len(t.args))
		for i, a := range t.args {
			if terms[i], values[i] = e.known(s, a); values[i] == nil {
				return nil, nil
			}
		}
		return e.composite(listTerm, t.shape.Kinds, terms...), types.DefaultTypeAdapter.NativeToValue(values)
	case t.kind == callTerm && t.value != nil:
		return t, t.value
	}
	if c := s.equal(t, e.terms); c != nil {
		return c, c.value
	}
	return nil, nil
}

// constantOf is the term for a value, nil for one that no text of an expression can hold.
func (e *evaluation) constantOf(v ref.Val) *term {
	switch v := v.(type) {
	case types.Bool, types.Int, types.Uint, types.Double, types.String, types.Bytes, types.Null, types.Timestamp, types.Duration:
		return e.constant(v)
	case traits.Lister:
		if weight(v) > maxConstant {
			return nil
		}
		var items []*term
		for it := v.Iterator(); it.HasNext() == types.True; {
			item := e.constantOf(it.Next())
			if item == nil {
				return nil
			}
			items = append(items, item)
		}
		return e.composite(listTerm, 0, items...)
	}
	return nil
}

// weight is how large a value is, in characters and items.
func weight(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	case traits.Lister:
		n := 0
		for it := v.Iterator(); it.HasNext() == types.True && n <= maxConstant; n++ {
			n += weight(it.Next())
		}
		return n
	}
	return 1
}

// invoke calls the implementation of a function that chooses the overload by the values; nil if there
// is none, or it panics.
func (f *functions) invoke(name string, args []ref.Val) (v ref.Val) {
	defer func() {
		if recover() != nil {
			v = nil
		}
	}()
	decl := f.declared[name]
	if decl == nil {
		return nil
	}
	bindings, err := decl.Bindings()
	if err != nil {
		return nil
	}
	for _, b := range bindings {
		switch {
		case b.Operator != name:
		case b.NonStrict:
			return nil
		case len(args) == 1 && b.Unary != nil:
			return b.Unary(args[0])
		case len(args) == 2 && b.Binary != nil:
			return b.Binary(args[0], args[1])
		case b.Function != nil:
			return b.Function(args...)
		}
	}
	return nil
}
