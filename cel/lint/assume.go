package lint

import (
	"regexp"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"hangar.io/holdshort/cel/schema"
)

// assume is the state in which a bool term is true or false, with what follows from that; nil if it
// cannot be.
func (e *evaluation) assume(s *state, t *term, truth bool) *state {
	if t.kind == callTerm && len(t.args) == 2 {
		switch t.name {
		case operators.Equals:
			if s = e.assumeEqual(s, t.args[0], t.args[1], truth); s == nil {
				return nil
			}
		case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
			if s = e.assumeOrder(s, t.name, t.args[0], t.args[1], truth); s == nil {
				return nil
			}
		}
	}
	if truth && t.kind == callTerm && len(t.args) == 2 {
		if s = e.assumeLong(s, t.name, t.args[0], t.args[1]); s == nil {
			return nil
		}
	}
	v := int64(0)
	if truth {
		v = 1
	}
	return s.with(t, truthFact, v)
}

// assumeLong bounds the size of a text that has a part, or that a pattern matches which does not match
// the empty text.
func (e *evaluation) assumeLong(s *state, function string, of, part *term) *state {
	text, ok := part.value.(types.String)
	if !ok || part.kind != constTerm || s.kinds(of) != schema.String {
		return s
	}
	least := 0
	switch function {
	case "startsWith", "endsWith", "contains":
		least = len([]rune(string(text)))
		for _, search := range []string{"indexOf", "lastIndexOf"} { // finds it
			if s = s.bound(e.terms.call(search, &schema.Shape{Kinds: schema.Int, Min: minInt, Max: maxInt}, of, part), 0, maxInt); s == nil {
				return nil
			}
		}
	case "matches":
		if r, err := regexp.Compile(string(text)); err == nil && !r.MatchString("") {
			least = 1
		}
	}
	return s.bound(e.size(of), int64(least), maxInt)
}

// typeKinds are the kinds of the types that expressions name.
var typeKinds = map[string]schema.Kinds{
	"type:null_type": schema.Null, "type:bool": schema.Bool, "type:int": schema.Int, "type:uint": schema.Uint, "type:double": schema.Double,
	"type:string": schema.String, "type:bytes": schema.Bytes, "type:list": schema.List, "type:map": schema.Map,
}

// typeTest is type(x) == T: x and the kind of T.
func typeTest(a, b *term) (x *term, k schema.Kinds, ok bool) {
	if b.kind == callTerm && b.name == "type" {
		a, b = b, a
	}
	if a.kind != callTerm || a.name != "type" || b.kind != callTerm {
		return nil, 0, false
	}
	k, ok = typeKinds[b.name]
	return a.args[0], k, ok
}

func (e *evaluation) assumeEqual(s *state, a, b *term, equal bool) *state {
	if x, k, ok := typeTest(a, b); ok {
		if !equal {
			k = ^k
		}
		return s.narrow(x, k)
	}
	if a.kind == listTerm && len(a.args) == 0 {
		a, b = b, a
	}
	if b.kind == listTerm && len(b.args) == 0 {
		switch {
		case equal:
			if s = s.narrow(a, schema.List); s == nil {
				return nil
			}
			return s.bound(e.size(a), 0, 0)
		case s.kinds(a) == schema.List:
			return s.bound(e.size(a), 1, maxInt)
		}
		return s
	}
	if b.kind != constTerm {
		return s
	}
	if equal {
		k := comparable(s.kinds(a), s.kinds(b))
		if s = s.narrow(a, k); s == nil {
			return nil
		}
		if n, ok := b.value.(types.Int); ok && k == schema.Int {
			if s = s.bound(a, int64(n), int64(n)); s == nil {
				return nil
			}
		}
		if k == b.shape.Kinds {
			s = s.with(a, equalFact, int64(b.id))
		}
		if text, ok := b.value.(types.String); ok && text != "" {
			return s.bound(e.size(a), 1, maxInt)
		}
		return s
	}
	switch x := b.value.(type) {
	case types.Null:
		return s.narrow(a, s.kinds(a)&^schema.Null)
	case types.String:
		if x == "" && s.kinds(a) == schema.String {
			return s.bound(e.size(a), 1, maxInt)
		}
	case types.Int:
		if s.kinds(a) != schema.Int {
			return s
		}
		least, most := s.bounds(a)
		switch int64(x) {
		case least:
			return s.bound(a, least+1, maxInt)
		case most:
			return s.bound(a, minInt, most-1)
		}
	}
	return s
}

// assumeOrder bounds an int that is compared with one that is known.
func (e *evaluation) assumeOrder(s *state, operator string, a, b *term, truth bool) *state {
	if s.kinds(a) != schema.Int || s.kinds(b) != schema.Int {
		return s
	}
	if !truth {
		operator = map[string]string{
			operators.Less: operators.GreaterEquals, operators.LessEquals: operators.Greater,
			operators.Greater: operators.LessEquals, operators.GreaterEquals: operators.Less,
		}[operator]
	}
	if operator == operators.Greater || operator == operators.GreaterEquals {
		a, b = b, a
		operator = map[string]string{operators.Greater: operators.Less, operators.GreaterEquals: operators.LessEquals}[operator]
	}
	// Now a < b or a <= b.
	gap := int64(0)
	if operator == operators.Less {
		gap = 1
	}
	aLeast, _ := s.bounds(a)
	_, bMost := s.bounds(b)
	if bMost < minInt+gap || aLeast > maxInt-gap {
		return nil
	}
	if s = s.bound(a, minInt, bMost-gap); s == nil {
		return nil
	}
	return s.bound(b, aLeast+gap, maxInt)
}
