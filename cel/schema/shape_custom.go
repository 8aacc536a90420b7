package schema

import (
	"maps"
	"math"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// shape of the objects of a custom kind. What a policy sees may have been sent, or stored, in another
// version: it is valid there, and conversion without a webhook changes nothing but its apiVersion.
func (k *customKind) shape(kind schema.GroupVersionKind, a Assume) *Shape {
	v, ok := k.version(kind.Version)
	if !ok {
		return dynamic(kind.Kind, Map)
	}
	content := customRoot(v.schema, a)
	for _, other := range k.versions {
		if other.name != v.name && other.live && k.conversion == apiextensionsv1.NoneConverter {
			content = join(content, customRoot(other.schema, a))
		}
	}
	s := *content
	s.Name, s.Kinds, s.NonEmpty, s.elem = kind.Kind, Map, true, nil
	s.fields = sync.OnceValue(func() map[string]Field {
		fields := map[string]Field{}
		if content.fields != nil {
			maps.Copy(fields, content.fields())
		}
		fields["metadata"] = Field{Shape: customMetadata(k.namespaced, a), Always: true}
		return fields
	})
	return withKind(&s)
}

// customRoot is the content of an object beside its kind and its metadata. Nothing but those is
// certain of an object that has not been validated.
func customRoot(s *structural.Structural, a Assume) *Shape {
	if s == nil || a == Raw {
		return dynamic("", Map)
	}
	return customShape(s, false)
}

// customMetadata is that of a custom resource, which stays unstructured: what is decoded has the
// form of the Go type, what is patched later can hold empty values.
func customMetadata(namespaced bool, a Assume) *Shape {
	var promised *promise
	if a == Server {
		promised = storedPromise(namespaced).of("metadata")
	}
	return loose(place{metadataType, promised, a}.shape())
}

// loose is a struct's shape whose fields may be empty, but those that are always there.
func loose(of *Shape) *Shape {
	s := *of
	s.fields = sync.OnceValue(func() map[string]Field {
		fields := map[string]Field{}
		for name, f := range of.fields() {
			if !f.Always {
				may := *f.Shape
				may.NonEmpty = false
				f.Shape = &may
			}
			fields[name] = f
		}
		return fields
	})
	return &s
}

// customShape is the shape of values that are valid against a structural schema and have its
// defaults. preserve: unknown fields are kept although the schema itself does not say so.
func customShape(s *structural.Structural, preserve bool) *Shape {
	if s == nil {
		return dynamic("", Any)
	}
	preserve = preserve || s.XPreserveUnknownFields
	v := s.ValueValidation
	if v == nil {
		v = &structural.ValueValidation{}
	}
	out := &Shape{}
	switch s.Type {
	case "object":
		out.Kinds, out.NonEmpty = Map, atLeastOne(v.MinProperties)
		out.Dynamic = preserve
		out.fields = sync.OnceValue(func() map[string]Field { return customFields(s, v) })
		if s.AdditionalProperties != nil {
			out.elem = sync.OnceValue(func() *Shape { return customShape(s.AdditionalProperties.Structural, false) })
		}
	case "array":
		out.Kinds, out.NonEmpty = List, atLeastOne(v.MinItems)
		out.elem = sync.OnceValue(func() *Shape { return customShape(s.Items, preserve) })
	case "string":
		out.Kinds, out.NonEmpty = String, atLeastOne(v.MinLength)
	case "boolean":
		out.Kinds = Bool
	case "integer", "number":
		// 3.0 is a valid integer, and stays a double until it is stored.
		out.Kinds = Int | Double
		out.Min, out.Max = integers(v)
	default:
		if !s.XIntOrString {
			return dynamic("", Any)
		}
		out.Kinds = Int | Double | String | Null // a schema without a type does not refuse null
		out.Min, out.Max = math.MinInt64, math.MaxInt64
	}
	if s.Nullable {
		out.Kinds |= Null
	}
	return out
}

// customFields: required fields are there, and those with a default.
func customFields(s *structural.Structural, v *structural.ValueValidation) map[string]Field {
	out := map[string]Field{}
	for name, property := range s.Properties {
		out[name] = Field{
			Shape:  customShape(&property, false),
			Always: slices.Contains(v.Required, name) || property.Default.Object != nil,
		}
	}
	for _, name := range v.Required {
		if _, ok := out[name]; !ok {
			value := dynamic("", Any)
			if s.AdditionalProperties != nil {
				value = customShape(s.AdditionalProperties.Structural, false)
			}
			out[name] = Field{Shape: value, Always: true}
		}
	}
	if s.XEmbeddedResource {
		// apiextensions-apiserver pkg/apiserver/schema/objectmeta/validation.go.
		for _, name := range []string{"apiVersion", "kind"} {
			out[name] = Field{Shape: &Shape{Kinds: String, NonEmpty: true}, Always: true}
		}
		out["metadata"] = Field{
			Shape:  loose(place{metadataType, nil, Server}.shape()),
			Always: slices.Contains(v.Required, "metadata"),
		}
	}
	return out
}

func atLeastOne(n *int64) bool { return n != nil && *n > 0 }

// integers are the bounds of the integers that a schema allows.
func integers(v *structural.ValueValidation) (least, most int64) {
	least, most = math.MinInt64, math.MaxInt64
	const exact = 1 << 53 // beyond it, a float64 is no bound of integers
	if v.Minimum != nil && math.Abs(*v.Minimum) < exact {
		least = int64(math.Ceil(*v.Minimum))
		if v.ExclusiveMinimum && float64(least) == *v.Minimum {
			least++
		}
	}
	if v.Maximum != nil && math.Abs(*v.Maximum) < exact {
		most = int64(math.Floor(*v.Maximum))
		if v.ExclusiveMaximum && float64(most) == *v.Maximum {
			most--
		}
	}
	return least, most
}
