package schema

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// jsonField is a field of a Go struct in its JSON form, fields of embedded structs included.
type jsonField struct {
	name string
	typ  reflect.Type
	// declared names the struct that has the field.
	declared            string
	omitEmpty, omitZero bool
}

// jsonFields lists the fields of a struct as encoding/json has them.
func jsonFields(t reflect.Type) []jsonField {
	var out []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		name, options := tag[0], tag[1:]
		switch {
		case name == "-" && len(options) == 0 || !f.IsExported():
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			out = append(out, jsonFields(f.Type)...)
		default:
			if name == "" {
				name = f.Name
			}
			j := jsonField{name: name, typ: f.Type, declared: typeName(t)}
			for _, o := range options {
				j.omitEmpty = j.omitEmpty || o == "omitempty"
				j.omitZero = j.omitZero || o == "omitzero"
			}
			out = append(out, j)
		}
	}
	return out
}

// typeName shortens a type to its API package: core/v1.Container.
func typeName(t reflect.Type) string {
	p := strings.Split(t.PkgPath(), "/")
	if p[len(p)-1] == "schema" {
		return "apiregistration/v1." + strings.Replace(t.Name(), "api", "API", 1) // see apiservice.go
	}
	return strings.Join(p[max(0, len(p)-2):], "/") + "." + t.Name()
}

// place is a struct type where a kind has it: what is promised there differs from kind to kind.
type place struct {
	typ      reflect.Type
	promised *promise
	assume   Assume
}

var placeShapes sync.Map // of place: *Shape

// shape of a struct. Its fields are looked at when they are asked for: types may contain themselves.
func (p place) shape() *Shape {
	if s, ok := placeShapes.Load(p); ok {
		return s.(*Shape)
	}
	s := &Shape{Name: typeName(p.typ), Kinds: Map, fields: sync.OnceValue(p.fields)}
	shared, _ := placeShapes.LoadOrStore(p, s)
	return shared.(*Shape)
}

func (p place) fields() map[string]Field {
	promised := p.promised
	if p.assume == Server {
		promised = promised.and(valid().types[typeName(p.typ)])
	}
	out := map[string]Field{}
	for _, f := range jsonFields(p.typ) {
		out[f.name] = f.shape(promised.of(f.name), p.assume)
		for name, former := range formerFields()[f.declared] {
			if former.gone {
				out[name] = Field{Shape: dynamic(f.declared+" "+name, Any)}
			}
		}
	}
	return out
}

// shape applies the rule by which a field of a Go struct is there: it is absent if it says omitempty
// and is empty, or omitzero and is zero (apiserver pkg/cel/common/valuesschemalesstyped.go,
// lookupField; older versions have encoding/json's form). What is not omitted is null if it is nil.
func (f jsonField) shape(promised *promise, a Assume) Field {
	typ, absent := f.typ, f.omitZero
	if f.omitEmpty && typ.Kind() == reflect.Pointer {
		typ, absent = typ.Elem(), true // what it points to may still be a time that is written as null
	}
	s := *valueShape(typ, promised, a)
	switch k := f.typ.Kind(); {
	case f.omitZero && isTime(typ):
		s.Kinds &^= Null
	case f.omitEmpty && (k == reflect.String || k == reflect.Slice || k == reflect.Map):
		s.Kinds &^= Null
		s.NonEmpty, absent = true, true
	case f.omitEmpty && k != reflect.Struct:
		absent = true
	}
	former := formerFields()[f.declared][f.name]
	if former.null {
		s.Kinds |= Null
	}
	s.NonEmpty = s.NonEmpty && !former.empty
	if promised == nil {
		return Field{Shape: &s, Always: !absent && !former.absent}
	}
	if promised.present {
		s.Kinds &^= Null
		absent = false
	}
	s.NonEmpty = s.NonEmpty || promised.nonEmpty
	s.Text = max(s.Text, promised.text)
	return Field{Shape: &s, Always: !absent && !former.absent}
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func isTime(t reflect.Type) bool {
	return t == reflect.TypeFor[metav1.Time]() || t == reflect.TypeFor[metav1.MicroTime]()
}

// valueShape is the shape of any value of a Go type in its JSON form. Times need not be readable by
// timestamp(): 0000-01-01 can be sent, and the last day of 9999 west of Greenwich is written as one
// of 10000.
func valueShape(t reflect.Type, promised *promise, a Assume) *Shape {
	switch {
	case isTime(t):
		return &Shape{Name: typeName(t), Kinds: String | Null, NonEmpty: true}
	case t == reflect.TypeFor[metav1.Duration]():
		return &Shape{Name: typeName(t), Kinds: String, NonEmpty: true, Text: DurationText}
	case t == reflect.TypeFor[resource.Quantity]():
		return &Shape{Name: typeName(t), Kinds: String, NonEmpty: true, Text: QuantityText}
	case t == reflect.TypeFor[intstr.IntOrString]():
		return &Shape{Name: typeName(t), Kinds: Int | String, Min: math.MinInt32, Max: math.MaxInt32}
	case t.Kind() != reflect.Pointer && (t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)):
		return dynamic(typeName(t), Any)
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := *valueShape(t.Elem(), promised, a)
		s.Kinds |= Null
		return &s
	case reflect.Struct:
		return place{t, promised.below(), a}.shape()
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &Shape{Kinds: String | Null, Text: Base64Text}
		}
		return &Shape{Kinds: List | Null, elem: sync.OnceValue(func() *Shape { return valueShape(t.Elem(), promised, a) })}
	case reflect.Map:
		return mapShape(t, promised, a)
	case reflect.String:
		return text()
	case reflect.Bool:
		return &Shape{Kinds: Bool}
	case reflect.Int32:
		return &Shape{Kinds: Int, Min: math.MinInt32, Max: math.MaxInt32}
	case reflect.Int, reflect.Int64:
		return &Shape{Kinds: Int, Min: math.MinInt64, Max: math.MaxInt64}
	case reflect.Uint8:
		return &Shape{Kinds: Int, Max: math.MaxUint8}
	case reflect.Float64:
		// Of a type that is written by itself, 1.0 is 1.
		return &Shape{Kinds: Int | Double, Min: math.MinInt64, Max: math.MaxInt64}
	}
	return dynamic(t.String(), Any)
}

// mapShape: what is promised of a map of structs holds for each of them, what is promised of a map of
// other values for the keys that it names.
func mapShape(t reflect.Type, promised *promise, a Assume) *Shape {
	s := &Shape{Kinds: Map | Null, elem: sync.OnceValue(func() *Shape { return valueShape(t.Elem(), promised, a) })}
	if promised.below() != nil && t.Elem().Kind() == reflect.String {
		keys := map[string]Field{}
		for name, p := range promised.fields {
			keys[name] = Field{Shape: text(), Always: p.present}
		}
		s.fields = func() map[string]Field { return keys }
	}
	return s
}
