package schema

import (
	_ "embed"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed shapes.txt
var shapeLines string

// shapePair is two versions of a kind, as the generated list has them.
type shapePair struct {
	kind          schema.GroupKind
	first, second string
}

// sameShapes parses the generated list once; a malformed line is a defect of this package.
var sameShapes = sync.OnceValue(func() map[shapePair]bool {
	out := map[shapePair]bool{}
	for line := range strings.Lines(shapeLines) {
		if line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 4 {
			panic("schema: malformed line in shapes.txt: " + line)
		}
		gk := schema.GroupKind{Group: f[1], Kind: f[0]}
		out[shapePair{gk, f[2], f[3]}] = true
		out[shapePair{gk, f[3], f[2]}] = true
	}
	return out
})

// SameShape tells whether objects of two kinds differ in nothing but their apiVersion, so that one
// can be read as the other: the same kind, versions of a custom kind with conversion strategy
// None, and the pairs of built-in versions that convert so in all of hack/gen's experiments. False
// also means not known.
func (t *Table) SameShape(a, b schema.GroupVersionKind) bool {
	if a == b {
		return true
	}
	if a.GroupKind() != b.GroupKind() {
		return false
	}
	if k, ok := t.custom[a.GroupKind()]; ok {
		_, hasA := k.version(a.Version)
		_, hasB := k.version(b.Version)
		return hasA && hasB && k.conversion == apiextensionsv1.NoneConverter
	}
	return sameShapes()[shapePair{a.GroupKind(), a.Version, b.Version}]
}
