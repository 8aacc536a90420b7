package schema

import (
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const widgetText = `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size, port, list, name, maybe, free]
            properties:
              size: {type: integer, minimum: 1, maximum: 10, exclusiveMaximum: true}
              ratio: {type: number, default: 0.5}
              port: {x-kubernetes-int-or-string: true}
              name: {type: string, minLength: 1}
              note: {type: string, nullable: true, default: x}
              flag: {type: boolean}
              maybe: {type: string, nullable: true}
              list: {type: array, minItems: 1, items: {type: object, required: [a], properties: {a: {type: string}, b: {type: integer, default: 3}}}}
              loose: {type: array, x-kubernetes-preserve-unknown-fields: true, items: {type: object, properties: {a: {type: string}}}}
              labels: {type: object, additionalProperties: {type: string}, minProperties: 1}
              any: {type: object, additionalProperties: true}
              free: {x-kubernetes-preserve-unknown-fields: true}
              half: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: string}}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              defaulted: {type: object, default: {}, properties: {inner: {type: integer, default: 1}}}
              shut: {type: object}
          status: {type: object, properties: {phase: {type: string}}}
`

func definition(t testing.TB, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object(t, text), &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}

// sketch writes values that fit a schema more often than not.
type sketch struct{ *rand.Rand }

func (k sketch) value(s *structural.Structural) any {
	if s == nil || k.IntN(80) == 0 || s.Type == "" && k.IntN(2) == 0 {
		return []any{nil, "", "s", int64(3), 3.0, 2.5, true, []any{}, map[string]any{}, map[string]any{"x": int64(1)}}[k.IntN(10)]
	}
	switch s.Type {
	case "object":
		out := map[string]any{}
		for name, p := range s.Properties {
			if k.IntN(14) > 0 {
				out[name] = k.value(&p)
			}
		}
		if s.AdditionalProperties != nil || k.IntN(10) == 0 {
			for range k.IntN(3) {
				var of *structural.Structural
				if s.AdditionalProperties != nil {
					of = s.AdditionalProperties.Structural
				}
				out[[]string{"x", "y", "known"}[k.IntN(3)]] = k.value(of)
			}
		}
		if s.XEmbeddedResource {
			out["apiVersion"], out["kind"] = "v1", "Pod"
			out["metadata"] = map[string]any{"labels": map[string]any{}, "name": "x", "else": "y"}
		}
		return out
	case "array":
		out := []any{}
		for range k.IntN(3) {
			out = append(out, k.value(s.Items))
		}
		return out
	case "string":
		return []any{"", "a", "b", "c", "d"}[k.IntN(5)]
	case "boolean":
		return k.IntN(2) == 0
	case "integer":
		return []any{int64(0), int64(1), int64(9), int64(4), int64(5), 3.0}[k.IntN(6)]
	case "number":
		return []any{int64(2), 2.5, 3.0}[k.IntN(3)]
	}
	return []any{int64(80), "http", ""}[k.IntN(3)]
}

// Objects that the server's own validation accepts, after its pruning and defaulting, have the shape.
func TestCustomShapesAllowValidObjects(t *testing.T) {
	crd := definition(t, widgetText)
	table, err := BuiltIn(Newest).WithCRDs(crd)
	if err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		t.Fatal(err)
	}
	s, err := structural.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	kind := gvk("example.com", "v1", "Widget")
	shape, raw := table.ObjectShape(kind, Server), table.ObjectShape(kind, Raw)
	k := sketch{rand.New(rand.NewPCG(1, 2))}
	valid, absent, double := 0, map[string]bool{}, false
	for range 5000 {
		obj, ok := k.value(s).(map[string]any)
		if !ok {
			continue
		}
		obj["apiVersion"], obj["kind"] = kind.ToAPIVersionAndKind()
		obj["metadata"] = map[string]any{"name": "x", "namespace": "n", "uid": "u", "creationTimestamp": "2024-01-02T03:04:05Z"}
		if err := Create(table, kind, obj); err != nil {
			continue
		}
		for _, m := range misfits(obj, raw, "object") {
			t.Fatal(m)
		}
		if len(validation.ValidateCustomResource(nil, obj, validator))+len(objectmeta.Validate(t.Context(), (*field.Path)(nil), obj, s, true)) > 0 {
			continue
		}
		valid++
		for _, m := range misfits(obj, shape, "object") {
			t.Fatalf("%s\n%v", m, obj)
		}
		spec := obj["spec"].(map[string]any)
		if _, ok := spec["size"].(float64); ok {
			double = true
		}
		for name := range s.Properties["spec"].Properties {
			if _, ok := spec[name]; !ok {
				absent[name] = true
			}
		}
	}
	if valid < 300 {
		t.Errorf("only %d of the objects are valid: they prove too little", valid)
	}
	if !double {
		t.Error("3.0 is no valid integer: then an integer need not be a double too")
	}
	spec, _ := shape.Field("spec")
	if !spec.Always {
		t.Fatal("a required field is always there")
	}
	for _, name := range spec.Shape.Fields() {
		f, _ := spec.Shape.Field(name)
		if f.Always == absent[name] {
			t.Errorf("spec.%s: always %v, absent in some object %v", name, f.Always, absent[name])
		}
	}
}

func TestCustomShapes(t *testing.T) {
	table, err := BuiltIn(Newest).WithCRDs(definition(t, widgetText))
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := table.ObjectShape(gvk("example.com", "v1", "Widget"), Server).Field("spec")
	for _, c := range []struct {
		field  string
		always bool
		kinds  Kinds
		more   func(*Shape) bool
	}{
		{"size", true, Int | Double, func(s *Shape) bool { return s.Min == 1 && s.Max == 9 }},
		{"ratio", true, Int | Double, nil},
		{"name", true, String, func(s *Shape) bool { return s.NonEmpty }},
		{"note", true, String | Null, func(s *Shape) bool { return !s.NonEmpty }},
		{"flag", false, Bool, nil},
		{"list", true, List, func(s *Shape) bool { b, _ := s.Elem().Field("b"); return s.NonEmpty && b.Always }},
		{"loose", false, List, func(s *Shape) bool { return s.Elem().Dynamic && !s.Elem().Closed() }},
		{"labels", false, Map, func(s *Shape) bool { return s.NonEmpty && s.Elem().Kinds == String && !s.Closed() }},
		{"any", false, Map, func(s *Shape) bool { return s.Elem().Dynamic }},
		{"free", true, Any, func(s *Shape) bool { return s.Dynamic }},
		{"half", false, Map, func(s *Shape) bool { f, ok := s.Field("known"); return ok && !f.Shape.Dynamic && s.Dynamic }},
		{"template", false, Map, func(s *Shape) bool { f, _ := s.Field("kind"); return f.Always && s.Dynamic }},
		{"shut", false, Map, func(s *Shape) bool { return s.Closed() && len(s.Fields()) == 0 }},
	} {
		f, known := spec.Shape.Field(c.field)
		if !known || f.Always != c.always || f.Shape.Kinds != c.kinds || c.more != nil && !c.more(f.Shape) {
			t.Errorf("%s: %+v %+v", c.field, f, f.Shape)
		}
	}
}

// An object of one version is seen in another one too.
func TestAShapeOfSeveralVersionsAllowsObjectsOfEach(t *testing.T) {
	text := strings.Replace(widgetText, "  - name: v1\n", `  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string}, old: {type: boolean}}}}}}
  - name: v1
`, 1)
	for _, c := range []struct {
		strategy apiextensionsv1.ConversionStrategyType
		kinds    Kinds
		always   bool
	}{
		{apiextensionsv1.NoneConverter, Int | Double | String, false},
		{apiextensionsv1.WebhookConverter, Int | Double, true},
	} {
		crd := definition(t, text)
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: c.strategy}
		table, err := BuiltIn(Newest).WithCRDs(crd)
		if err != nil {
			t.Fatal(err)
		}
		spec, _ := table.ObjectShape(gvk("example.com", "v1", "Widget"), Server).Field("spec")
		size, _ := spec.Shape.Field("size")
		if size.Always != c.always || size.Shape.Kinds != c.kinds {
			t.Errorf("%s: %+v %+v", c.strategy, size, size.Shape)
		}
		if _, known := spec.Shape.Field("old"); known == c.always {
			t.Errorf("%s: a field of the other version: %v", c.strategy, known)
		}
	}
}

func TestOtherKindsAreDynamic(t *testing.T) {
	for _, kind := range []string{"Gadget", "Widget"} {
		s := BuiltIn(Newest).ObjectShape(gvk("example.com", "v1", kind), Server)
		if !s.Dynamic || s.Name != kind || s.Kinds != Map {
			t.Errorf("%s: %+v", kind, s)
		}
	}
}
