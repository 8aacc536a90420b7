package proof

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Promise is a line of cel/schema/valid.txt: a field that every object of a server has.
type Promise struct {
	// Scope is "type", wherever the Go type is, or "kind", at the root of an object.
	Scope, Type, Path string
	NonEmpty          bool
	Source            string
}

// String names the promise.
func (p Promise) String() string { return fmt.Sprintf("%s %s (%s)", p.Type, p.Path, p.Source) }

// ReadPromises reads valid.txt.
func ReadPromises(file string) ([]Promise, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []Promise
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		if len(f) != 5 {
			return nil, fmt.Errorf("%s: malformed line: %s", file, line)
		}
		all = append(all, Promise{f[0], f[1], f[2], f[3] == "nonempty", f[4]})
	}
	return all, nil
}

// Places are the objects within an object that stand where the field is promised, and its name there.
func (p Promise) Places(o *unstructured.Unstructured) (holders []map[string]any, name string, err error) {
	typed, err := types().New(o.GroupVersionKind())
	if err != nil {
		return nil, "", err
	}
	root := reflect.TypeOf(typed).Elem()
	if p.Scope == "type" {
		holders = ofType(o.Object, root, p.Type)
	} else if typeName(root) == p.Type {
		holders = []map[string]any{o.Object}
	}
	steps := strings.Split(p.Path, ".")
	for _, s := range steps[:len(steps)-1] {
		var next []map[string]any
		for _, h := range holders {
			next = append(next, objects(h[s])...)
		}
		holders = next
	}
	return holders, steps[len(steps)-1], nil
}

// Less are the forms in which a field is not what is promised; nil is an absent one.
func (p Promise) Less(v any) []any {
	out := []any{nil}
	if !p.NonEmpty {
		return out
	}
	switch v.(type) {
	case string:
		out = append(out, "")
	case []any:
		out = append(out, []any{})
	case map[string]any:
		out = append(out, map[string]any{})
	}
	return out
}

// Kept tells whether all places of an object have the field as it is promised.
func (p Promise) Kept(o *unstructured.Unstructured) (bool, error) {
	holders, name, err := p.Places(o)
	if err != nil {
		return false, err
	}
	for _, h := range holders {
		v := h[name]
		if v == nil || p.NonEmpty && reflect.ValueOf(v).Kind() != reflect.Int64 && reflect.ValueOf(v).Kind() != reflect.Bool && reflect.ValueOf(v).Len() == 0 {
			return false, nil
		}
	}
	return true, nil
}

func objects(v any) []map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []any:
		var out []map[string]any
		for _, e := range v {
			out = append(out, objects(e)...)
		}
		return out
	}
	return nil
}

// types are the Go types of built-in kinds.
var types = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
})

// typeName is as in valid.txt: core/v1.Pod.
func typeName(t reflect.Type) string {
	p := strings.Split(t.PkgPath(), "/")
	return strings.Join(p[max(0, len(p)-2):], "/") + "." + t.Name()
}

// ofType finds the objects that stand where a Go type has a struct of that name.
func ofType(o map[string]any, t reflect.Type, name string) []map[string]any {
	var out []map[string]any
	if typeName(t) == name {
		out = append(out, o)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		elem := structOf(f.Type)
		switch {
		case elem == nil:
		case key == "": // inlined
			out = append(out, ofType(o, elem, name)...)
		default:
			for _, v := range objects(o[key]) {
				out = append(out, ofType(v, elem, name)...)
			}
		}
	}
	return out
}

// structOf is the struct that a field holds, itself or in a pointer or list; nil if it holds none.
func structOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}
