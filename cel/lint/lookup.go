package lint

import (
	"fmt"

	"github.com/google/cel-go/common/types"

	"hangar.io/holdshort/cel/schema"
)

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
