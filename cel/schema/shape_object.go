package schema

import "k8s.io/apimachinery/pkg/runtime/schema"

// ObjectShape is what object and oldObject can be for a kind, where they are not null. A kind that
// the table does not know is dynamic.
func (t *Table) ObjectShape(kind schema.GroupVersionKind, a Assume) *Shape {
	return dynamic(kind.Kind)
}

// ParamShape is what params can be for a kind of params, where they are not null.
func (t *Table) ParamShape(kind schema.GroupVersionKind) *Shape {
	return dynamic(kind.Kind)
}
