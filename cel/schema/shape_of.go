package schema

// ListOf is the shape of a list of items.
func ListOf(item *Shape) *Shape { return &Shape{Kinds: List, elem: func() *Shape { return item }} }

// MapOf is the shape of a map with any keys.
func MapOf(value *Shape) *Shape { return &Shape{Kinds: Map, elem: func() *Shape { return value }} }

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
