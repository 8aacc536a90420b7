package lint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"hangar.io/holdshort/cel/schema"
)

// term is a value that an expression can have, named by how it is reached. Equal terms of one
// analysis are one object, so that what is known of a value is known wherever it is read again:
// evaluation has no side effects.
type term struct {
	kind  termKind
	id    int32
	name  string // of a root, field or function
	args  []*term
	seq   int32   // of elements and fresh values: which one
	value ref.Val // of a constant, and of a function of constants
	shape *schema.Shape
	// general are the terms for every item of a list that this one, or a part of it, is an item of:
	// what is known of them is known of it.
	general []*term
}

type termKind uint8

const (
	constTerm termKind = iota
	rootTerm           // a variable of the environment
	fieldTerm          // args[0].name, or args[0]["name"]
	indexTerm          // args[0][args[1]], with a key that is no constant text
	itemTerm           // one item of args[0], or one value if that is a map
	everyTerm          // every item of args[0]
	keyTerm            // one key of the map args[0]
	callTerm           // name(args...)
	listTerm           // [args...]
	mapTerm            // {args[0]: args[1], ...}
	someTerm           // optional.of(args[0])
	noneTerm           // optional.none()
	keptTerm           // a list of some of the items of args[0], in another or the same order
	keysTerm           // a list of keys of the map args[0]: all, or some that a text selects
	freshTerm          // anything of its shape
)

// terms makes the terms of one analysis.
type terms struct {
	known  map[termKey]*term
	seq    int32
	all    []*term
	truths [2]*term // false, true
}

// termKey is what makes a term the term that it is.
type termKey struct {
	kind  termKind
	name  string // of a constant: its type and value
	seq   int32
	first [2]int32 // ids of the first arguments, -1 for none
	more  string   // of the others
}

func newTerms() *terms {
	ts := &terms{known: map[termKey]*term{}}
	ts.truths = [2]*term{ts.constant(types.False), ts.constant(types.True)}
	return ts
}

func (ts *terms) make(t term) *term {
	k := termKey{kind: t.kind, name: t.name, seq: t.seq, first: [2]int32{-1, -1}}
	for i, a := range t.args {
		if i < len(k.first) {
			k.first[i] = a.id
		} else {
			k.more += strconv.Itoa(int(a.id)) + ","
		}
	}
	if t.kind == constTerm {
		k.name = fmt.Sprintf("%s|%T|%v", t.value.Type().TypeName(), t.value.Value(), t.value.Value())
	}
	if known := ts.known[k]; known != nil {
		return known
	}
	t.id = int32(len(ts.all))
	ts.all = append(ts.all, &t)
	ts.known[k] = &t
	t.general = ts.generalize(&t)
	return &t
}

// maxGeneral bounds the general terms of one term, which multiply with the depth of nested lists.
const maxGeneral = 8

func (ts *terms) generalize(t *term) []*term {
	var out []*term
	add := func(g *term) {
		if g != t && len(out) < maxGeneral {
			out = append(out, g)
		}
	}
	switch t.kind {
	case itemTerm, indexTerm:
		if t.kind == indexTerm && t.args[0].shape.Kinds&schema.List == 0 {
			break
		}
		for _, l := range sources(t.args[0]) {
			add(ts.every(l))
			for _, g := range l.general {
				add(ts.every(g))
			}
		}
	case everyTerm:
		for _, l := range sources(t.args[0]) {
			if l != t.args[0] {
				add(ts.every(l))
			}
			for _, g := range l.general {
				add(ts.every(g))
			}
		}
	case fieldTerm:
		for _, g := range t.args[0].general {
			add(ts.field(g, t.name, t.shape))
		}
	case callTerm:
		if len(t.args) == 0 {
			break
		}
		for _, g := range t.args[0].general {
			args := append([]*term{g}, t.args[1:]...)
			add(ts.call(t.name, t.shape, args...))
		}
	}
	return out
}

// sources are the list itself and the lists that its items are taken from.
func sources(l *term) []*term {
	out := []*term{l}
	for l.kind == keptTerm {
		l = l.args[0]
		out = append(out, l)
	}
	return out
}

func (ts *terms) constant(v ref.Val) *term {
	return ts.make(term{kind: constTerm, value: v, shape: constShape(v)})
}

func (ts *terms) truth(b bool) *term {
	if b {
		return ts.truths[1]
	}
	return ts.truths[0]
}

func (ts *terms) root(name string, s *schema.Shape) *term {
	return ts.make(term{kind: rootTerm, name: name, shape: s})
}

func (ts *terms) field(of *term, name string, s *schema.Shape) *term {
	return ts.make(term{kind: fieldTerm, name: name, args: []*term{of}, shape: s})
}

func (ts *terms) index(of, key *term, s *schema.Shape) *term {
	return ts.make(term{kind: indexTerm, args: []*term{of, key}, shape: s})
}

func (ts *terms) item(of *term, s *schema.Shape) *term {
	ts.seq++
	return ts.make(term{kind: itemTerm, args: []*term{of}, seq: ts.seq, shape: s})
}

func (ts *terms) every(of *term) *term {
	return ts.make(term{kind: everyTerm, args: []*term{of}, shape: itemShape(of)})
}

func (ts *terms) key(of *term) *term {
	ts.seq++
	return ts.make(term{kind: keyTerm, args: []*term{of}, seq: ts.seq, shape: textShape})
}

func (ts *terms) call(name string, s *schema.Shape, args ...*term) *term {
	return ts.make(term{kind: callTerm, name: name, args: args, shape: s})
}

func (ts *terms) composite(kind termKind, kinds schema.Kinds, args ...*term) *term {
	s := &schema.Shape{Kinds: kinds}
	switch kind {
	case listTerm:
		s = schema.ListOf(joined(args))
	case mapTerm:
		s = literalShape(args)
	case someTerm:
		s = schema.OptionalOf(args[0].shape)
	case noneTerm:
		s = schema.OptionalOf(nothing)
	}
	return ts.make(term{kind: kind, args: args, shape: s})
}

// joined is the shape of any of some terms.
func joined(ts []*term) *schema.Shape {
	s := nothing
	for _, t := range ts {
		s = schema.Join(s, t.shape)
	}
	return s
}

// literalShape is the shape of {args[0]: args[1], …}.
func literalShape(args []*term) *schema.Shape {
	fields := map[string]schema.Field{}
	var values []*term
	exact := true
	for i := 0; i+1 < len(args); i += 2 {
		key, ok := args[i].value.(types.String)
		exact = exact && ok && args[i].kind == constTerm
		fields[string(key)] = schema.Field{Shape: args[i+1].shape, Always: true}
		values = append(values, args[i+1])
	}
	if !exact {
		return schema.MapOf(joined(values))
	}
	return schema.RecordOf(fields)
}

// anyMap is an object of which nothing is known.
var anyMap = &schema.Shape{Kinds: schema.Map, Dynamic: true}

// kept is a list of items of another, as the text of an expression selects or orders them.
func (ts *terms) kept(of *term, text string) *term {
	return ts.make(term{kind: keptTerm, name: text, args: []*term{of}, shape: schema.ListOf(itemShape(of))})
}

// keys is a list of keys of a map: all of them, or those that the text of an expression selects.
func (ts *terms) keys(of *term, text string) *term {
	return ts.make(term{kind: keysTerm, name: text, args: []*term{of}, shape: schema.ListOf(textShape)})
}

func (ts *terms) fresh(s *schema.Shape) *term {
	ts.seq++
	return ts.make(term{kind: freshTerm, seq: ts.seq, shape: s})
}

// replace puts one term in the place of another wherever t is made of it.
func (ts *terms) replace(t, old, by *term) *term {
	if t == old {
		return by
	}
	changed := false
	args := make([]*term, len(t.args))
	for i, a := range t.args {
		args[i] = ts.replace(a, old, by)
		changed = changed || args[i] != a
	}
	if !changed {
		return t
	}
	c := *t
	c.args, c.general = args, nil
	return ts.make(c)
}

// uses tells whether t is made of another term.
func (t *term) uses(other *term) bool {
	if t == other {
		return true
	}
	for _, a := range t.args {
		if a.uses(other) {
			return true
		}
	}
	return false
}

// String is the term as an expression, for messages.
func (t *term) String() string {
	list := func(args []*term) string {
		texts := make([]string, len(args))
		for i, a := range args {
			texts[i] = a.String()
		}
		return strings.Join(texts, ", ")
	}
	switch t.kind {
	case constTerm:
		if s, ok := t.value.(types.String); ok {
			return fmt.Sprintf("%q", string(s))
		}
		return fmt.Sprint(t.value.Value())
	case rootTerm:
		return t.name
	case fieldTerm:
		return t.args[0].String() + "." + t.name
	case indexTerm:
		return t.args[0].String() + "[" + t.args[1].String() + "]"
	case itemTerm:
		return t.args[0].String() + "[i]"
	case everyTerm:
		return t.args[0].String() + "[*]"
	case keyTerm:
		return "a key of " + t.args[0].String()
	case callTerm:
		return t.name + "(" + list(t.args) + ")"
	case listTerm:
		return "[" + list(t.args) + "]"
	case mapTerm:
		return "{" + list(t.args) + "}"
	case someTerm:
		return "optional.of(" + list(t.args) + ")"
	case noneTerm:
		return "optional.none()"
	case keysTerm:
		return "keys of " + t.args[0].String()
	case keptTerm:
		return "some of " + t.args[0].String()
	}
	return "a value"
}

var (
	textShape = &schema.Shape{Kinds: schema.String}
	boolShape = &schema.Shape{Kinds: schema.Bool}
)

// constShape is the shape of a constant.
func constShape(v ref.Val) *schema.Shape {
	switch x := v.(type) {
	case types.Bool:
		return boolShape
	case types.Int:
		return &schema.Shape{Kinds: schema.Int, Min: int64(x), Max: int64(x)}
	case types.Uint:
		return &schema.Shape{Kinds: schema.Uint}
	case types.Double:
		return &schema.Shape{Kinds: schema.Double}
	case types.String:
		return &schema.Shape{Kinds: schema.String, NonEmpty: x != ""}
	case types.Bytes:
		return &schema.Shape{Kinds: schema.Bytes}
	case types.Null:
		return &schema.Shape{Kinds: schema.Null}
	case types.Duration:
		return &schema.Shape{Kinds: schema.Duration}
	case types.Timestamp:
		return &schema.Shape{Kinds: schema.Timestamp}
	case *types.Type:
		return &schema.Shape{Kinds: schema.Type}
	}
	return &schema.Shape{Kinds: schema.Opaque, Name: v.Type().TypeName()}
}

// itemShape is the shape of the items of a list, or of the values of a map.
func itemShape(l *term) *schema.Shape { return l.shape.Values() }

// nothing is the shape of the items of an empty list: joined with another shape it is that one.
var nothing = &schema.Shape{}

const (
	minInt = -1 << 63
	maxInt = 1<<63 - 1
)
