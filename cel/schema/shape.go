package schema

import (
	"maps"
	"math"
	"slices"
	"sync"
)

// Kinds is a set of the kinds of values that CEL tells apart.
type Kinds uint32

// The kinds of CEL values. Opaque is a value of a library type, such as an IP address or a quantity.
const (
	Null Kinds = 1 << iota
	Bool
	Int
	Uint
	Double
	String
	Bytes
	List
	Map
	Timestamp
	Duration
	Type
	Optional
	Opaque
)

// Any is what can be anywhere in a value that nothing is known of: the kinds of JSON.
const Any = Null | Bool | Int | Double | String | List | Map

// Every is the kinds of all values that an expression can have: what it computes itself need be no JSON.
const Every = Any | Uint | Bytes | Timestamp | Duration | Type | Optional | Opaque

// Shape is what is known of a value that is present: which kinds it can have, and what it holds.
// Shapes are shared, may contain themselves, and are never changed.
type Shape struct {
	// Name is the Go type or the schema that the shape comes from, for messages; it may be empty.
	Name string
	// Kinds that the value can have. Null among them: a field can be present and null.
	Kinds Kinds
	// NonEmpty lists, maps and strings have at least one item, entry or character.
	NonEmpty bool
	// Min and Max bound an int, inclusively. Both are 0 for a shape that is never an int.
	Min, Max int64
	// Text is what every string of the shape is, of those that functions of CEL parse.
	Text Text
	// Dynamic values are JSON of which nothing is known. A dynamic map may have any key, with any value.
	Dynamic bool

	fields func() map[string]Field // of a map with known keys, which has no others
	elem   func() *Shape           // of the items of a list, of the values of a map with any keys, or of what an optional holds
}

// Text is a format of strings.
type Text uint8

// The formats of strings that conversions need.
const (
	AnyText      Text = iota
	TimeText          // RFC 3339: timestamp(x) does not fail
	DurationText      // duration(x) does not fail
	QuantityText      // quantity(x) does not fail
	Base64Text        // base64.decode(x) does not fail
)

// Field is one of the known keys of a map.
type Field struct {
	Shape *Shape
	// Always: the key is present in every object that the assumptions allow.
	Always bool
}

// Field returns a known key of the shape. known is false if the shape is no map or has no such key:
// then the key is never present, unless the shape is a map with any keys (see Elem) or Dynamic. Both
// can have known keys besides.
func (s *Shape) Field(name string) (f Field, known bool) {
	if s.fields == nil {
		return Field{}, false
	}
	f, known = s.fields()[name]
	return f, known
}

// Closed tells whether the known fields are all that the map can have.
func (s *Shape) Closed() bool { return s.fields != nil && s.elem == nil && !s.Dynamic }

// Elem is the shape of the items of a list, of the values of a map with any keys, or of what an
// optional holds; nil if the shape has none of them.
func (s *Shape) Elem() *Shape {
	if s.elem == nil {
		return nil
	}
	return s.elem()
}

// Assume is how far an object is trusted to have what the API server gives it.
type Assume uint8

const (
	// Server: objects are as validating policies see them on a server: decoded, with defaults, valid.
	// Feature gates are at their defaults; old objects are as valid as new ones; what a conversion
	// webhook gives is valid in the version that it gives.
	Server Assume = iota
	// Raw: objects are as people write them: only what decoding guarantees.
	Raw
)

// Fields lists the known keys of the shape, sorted.
func (s *Shape) Fields() []string {
	if s.fields == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.fields()))
}

// dynamic is a value of which nothing is known but its name and kinds.
func dynamic(name string, kinds Kinds) *Shape {
	return &Shape{Name: name, Kinds: kinds, Min: math.MinInt64, Max: math.MaxInt64, Dynamic: true}
}

// text is a string that may be empty.
func text() *Shape { return &Shape{Kinds: String} }

// record is a map with known keys.
func record(name string, fields map[string]Field) *Shape {
	return &Shape{Name: name, Kinds: Map, fields: func() map[string]Field { return fields }}
}

// join is the shape of a value that has one of two shapes.
func join(a, b *Shape) *Shape {
	if a == b {
		return a
	}
	const sized = List | Map | String
	j := &Shape{
		Name: joinNames(a, b), Kinds: a.Kinds | b.Kinds, Dynamic: a.Dynamic || b.Dynamic,
		NonEmpty: (a.NonEmpty || a.Kinds&sized == 0) && (b.NonEmpty || b.Kinds&sized == 0),
	}
	switch {
	case a.Kinds&String == 0:
		j.Text = b.Text
	case b.Kinds&String == 0 || a.Text == b.Text:
		j.Text = a.Text
	}
	switch {
	case a.Kinds&Int == 0:
		j.Min, j.Max = b.Min, b.Max
	case b.Kinds&Int == 0:
		j.Min, j.Max = a.Min, a.Max
	default:
		j.Min, j.Max = min(a.Min, b.Min), max(a.Max, b.Max)
	}
	if a.elem != nil || b.elem != nil {
		j.elem = sync.OnceValue(func() *Shape {
			switch {
			case a.Kinds&holders == 0:
				return b.Values()
			case b.Kinds&holders == 0:
				return a.Values()
			}
			return join(a.Values(), b.Values())
		})
	}
	if a.fields != nil || b.fields != nil {
		j.fields = sync.OnceValue(func() map[string]Field { return joinFields(a, b) })
	}
	return j
}

// holders are the kinds of values that hold others.
const holders = List | Map | Optional

// joinNames: the name of an opaque value tells its type, so that it is kept only if both have it.
func joinNames(a, b *Shape) string {
	switch {
	case a.Name == b.Name, b.Kinds&(Map|Opaque) == 0:
		return a.Name
	case a.Kinds&(Map|Opaque) == 0:
		return b.Name
	}
	return ""
}

// joinFields: a key is always there if both shapes always have it, or the other is never a map.
func joinFields(a, b *Shape) map[string]Field {
	out := map[string]Field{}
	for _, pair := range [][2]*Shape{{a, b}, {b, a}} {
		s, other := pair[0], pair[1]
		for _, name := range s.Fields() {
			f, _ := s.Field(name)
			g, known := other.Field(name)
			switch {
			case other.Kinds&Map == 0:
			case known:
				f = Field{Shape: join(f.Shape, g.Shape), Always: f.Always && g.Always}
			case other.elem != nil:
				f = Field{Shape: join(f.Shape, other.elem())}
			case other.Dynamic:
				f = Field{Shape: dynamic(f.Shape.Name, Any)}
			default:
				f.Always = false
			}
			out[name] = f
		}
	}
	return out
}
