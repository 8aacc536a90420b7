package schema

import "math"

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

// Shape is what is known of a value that is present: which kinds it can have, and what it holds.
// Shapes are shared, may contain themselves, and are never changed.
type Shape struct {
	// Name is the Go type or the schema that the shape comes from, for messages; it may be empty.
	Name string
	// Kinds that the value can have. Null among them: a field can be present and null.
	Kinds Kinds
	// NonEmpty lists, maps and strings have at least one item, entry or character.
	NonEmpty bool
	// Min and Max bound an int, inclusively.
	Min, Max int64
	// Text is what every string of the shape is, of those that functions of CEL parse.
	Text Text
	// Dynamic values are JSON of which nothing is known. A dynamic map may have any key, with any value.
	Dynamic bool

	fields func() map[string]Field // of a map with known keys, which has no others
	elem   func() *Shape           // of the items of a list, or of the values of a map with any keys
}

// Text is a format of strings.
type Text uint8

// The formats of strings that conversions need.
const (
	AnyText Text = iota
	TimeText     // RFC 3339: timestamp(x) does not fail
	DurationText // duration(x) does not fail
	QuantityText // quantity(x) does not fail
	Base64Text   // base64.decode(x) does not fail
)

// Field is one of the known keys of a map.
type Field struct {
	Shape *Shape
	// Always: the key is present in every object that the assumptions allow.
	Always bool
}

// Field returns a known key of the shape. known is false if the shape is no map or has no such key:
// then the key is never present, unless the shape is a map with any keys (see Elem) or Dynamic.
func (s *Shape) Field(name string) (f Field, known bool) {
	if s.fields == nil {
		return Field{}, false
	}
	f, known = s.fields()[name]
	return f, known
}

// Closed tells whether the known fields are all that the map can have.
func (s *Shape) Closed() bool { return s.fields != nil && s.elem == nil && !s.Dynamic }

// Elem is the shape of the items of a list, or of the values of a map with any keys; nil if the
// shape has neither.
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
	Server Assume = iota
	// Raw: objects are as people write them: only what decoding guarantees.
	Raw
)

// dynamic is the shape of a value of which nothing is known but its name.
func dynamic(name string) *Shape {
	return &Shape{Name: name, Kinds: Any, Min: math.MinInt64, Max: math.MaxInt64, Dynamic: true}
}
