package main

import (
	"encoding/json"
	"reflect"
	"strings"
)

// jsonField is a field of a struct as JSON has it, embedded ones included.
type jsonField struct {
	name string
	typ  reflect.Type
}

// jsonFields lists a struct's fields in their order.
func jsonFields(t reflect.Type) []jsonField {
	var out []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case strings.Contains(options, "inline") || f.Anonymous && name == "":
			if f.Type.Kind() == reflect.Struct {
				out = append(out, jsonFields(f.Type)...)
			}
		case name != "":
			out = append(out, jsonField{name, f.Type})
		}
	}
	return out
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// structShape tells how a field holds structs, and which; the shape is empty if it holds none.
// Types with a JSON form of their own (times, quantities) are values, and metadata is not looked
// into: nothing is filled there that depends on presence alone.
func structShape(t reflect.Type) (string, reflect.Type) {
	shape := "."
	switch t.Kind() {
	case reflect.Pointer:
		shape, t = "*", t.Elem()
	case reflect.Slice:
		shape, t = "[]", t.Elem()
	case reflect.Map:
		shape, t = "{}", t.Elem()
	}
	if t.Kind() == reflect.Pointer && shape != "*" {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return "", nil
	}
	if name := typeName(t); name == "meta/v1.ObjectMeta" || name == "meta/v1.ListMeta" {
		return "", nil
	}
	return shape, t
}

// typeName shortens a type to its API package: core/v1.Container.
func typeName(t reflect.Type) string {
	p := strings.Split(t.PkgPath(), "/")
	return strings.Join(p[max(0, len(p)-2):], "/") + "." + t.Name()
}
