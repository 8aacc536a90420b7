package schema

import "math"

// Unknown is the shape of a value of which nothing is known, not even that it is JSON.
var Unknown = unknown()

func unknown() *Shape {
	s := &Shape{Kinds: Every, Min: math.MinInt64, Max: math.MaxInt64, Dynamic: true}
	s.elem = func() *Shape { return s }
	return s
}

// Values is the shape of everything that the lists, maps and optionals of s hold.
func (s *Shape) Values() *Shape {
	if s.elem == nil && s.Dynamic {
		return dynamic("", Any)
	}
	if s.elem == nil && s.fields == nil {
		return Unknown
	}
	out := &Shape{}
	if s.elem != nil {
		out = s.elem()
	}
	for _, name := range s.Fields() {
		f, _ := s.Field(name)
		out = join(out, f.Shape)
	}
	return out
}

// ListOf is the shape of a list of items.
func ListOf(item *Shape) *Shape { return &Shape{Kinds: List, elem: func() *Shape { return item }} }

// MapOf is the shape of a map with any keys.
func MapOf(value *Shape) *Shape { return &Shape{Kinds: Map, elem: func() *Shape { return value }} }

// OptionalOf is the shape of an optional that holds a value, if it holds one.
func OptionalOf(value *Shape) *Shape {
	return &Shape{Kinds: Optional, elem: func() *Shape { return value }}
}

// RecordOf is the shape of a map with these keys and no others.
func RecordOf(fields map[string]Field) *Shape { return record("", fields) }

// Join is the shape of a value that has one of two shapes.
func Join(a, b *Shape) *Shape { return join(a, b) }

// With is the shape of the values of s that have one of these kinds.
func (s *Shape) With(k Kinds) *Shape {
	if s.Kinds == k {
		return s
	}
	c := *s
	c.Kinds = k
	return &c
}

// ResourceShape is what object and oldObject can be for a custom resource of which only its name is
// known: it has the metadata that all objects have, and any other fields.
func ResourceShape(namespaced bool, a Assume) *Shape {
	s := dynamic("", Map)
	s.fields = func() map[string]Field {
		return map[string]Field{"metadata": {Shape: customMetadata(namespaced, a), Always: true}}
	}
	return withKind(s)
}
