package schema

// ListOf is the shape of a list of items.
func ListOf(item *Shape) *Shape { return &Shape{Kinds: List, elem: func() *Shape { return item }} }

// MapOf is the shape of a map with any keys.
func MapOf(value *Shape) *Shape { return &Shape{Kinds: Map, elem: func() *Shape { return value }} }
