package schema

import (
	"maps"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ObjectShape is what object and oldObject can be for a kind, where they are not null: in every
// supported version of Kubernetes, whichever the table is of. A kind that the table does not know
// is dynamic.
func (t *Table) ObjectShape(kind schema.GroupVersionKind, a Assume) *Shape {
	if k, ok := t.custom[kind.GroupKind()]; ok {
		return k.shape(kind, a)
	}
	key := objectKey{kind, a}
	if s, ok := objectShapes.Load(key); ok {
		return s.(*Shape)
	}
	s, _ := objectShapes.LoadOrStore(key, builtInShape(kind, a))
	return s.(*Shape)
}

// ParamShape is what params can be for a kind of params, where they are not null: objects as the
// server stores them. Those of built-in kinds are typed (apiserver
// pkg/admission/plugin/policy/generic/policy_source.go, ensureParamsForPolicyLocked).
func (t *Table) ParamShape(kind schema.GroupVersionKind) *Shape { return t.ObjectShape(kind, Server) }

type objectKey struct {
	kind   schema.GroupVersionKind
	assume Assume
}

var objectShapes sync.Map // of objectKey: *Shape

func builtInShape(kind schema.GroupVersionKind, a Assume) *Shape {
	typed := newTyped(kind)
	if typed == nil {
		return dynamic(kind.Kind, Map)
	}
	root := place{typ: reflect.TypeOf(typed).Elem(), assume: a}
	if a == Server {
		root.promised = promisesOf(kind).and(valid().kinds[typeName(root.typ)]).below()
	}
	return withKind(root.shape())
}

// withKind adds what an object has when it is converted for a policy (apiserver
// pkg/admission/conversion.go, ConvertToGVK).
func withKind(of *Shape) *Shape {
	s := *of
	s.fields = sync.OnceValue(func() map[string]Field {
		fields := maps.Clone(of.fields())
		for _, name := range []string{"apiVersion", "kind"} {
			fields[name] = Field{Shape: &Shape{Kinds: String, NonEmpty: true}, Always: true}
		}
		return fields
	})
	return &s
}

var metadataType = reflect.TypeFor[metav1.ObjectMeta]()
