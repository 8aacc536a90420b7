package schema

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// misfits lists where a value in its JSON form is not what a shape says. ignored passes over what is
// promised of a field of a type.
func misfits(v any, s *Shape, path string, ignored func(typ, field string) bool) []string {
	var out []string
	addf := func(format string, args ...any) { out = append(out, path+": "+fmt.Sprintf(format, args...)) }
	kind := kindOfValue(v)
	if s.Kinds&kind == 0 {
		addf("%T is none of the kinds %b", v, s.Kinds)
		return out
	}
	switch v := v.(type) {
	case int64:
		if v < s.Min || v > s.Max {
			addf("%d is not in %d…%d", v, s.Min, s.Max)
		}
	case string:
		if s.NonEmpty && v == "" {
			addf("empty string")
		}
		if err := s.Text.check(v); err != nil {
			addf("%v", err)
		}
	case []any:
		if s.NonEmpty && len(v) == 0 {
			addf("empty list")
		}
		for i, e := range v {
			if elem := s.Elem(); elem != nil {
				out = append(out, misfits(e, elem, fmt.Sprintf("%s[%d]", path, i), ignored)...)
			} else if !s.Dynamic {
				addf("a list without a shape of its items")
			}
		}
	case map[string]any:
		out = append(out, misfitsOfMap(v, s, path, ignored)...)
	}
	return out
}

func misfitsOfMap(v map[string]any, s *Shape, path string, ignored func(typ, field string) bool) []string {
	var out []string
	addf := func(format string, args ...any) { out = append(out, path+": "+fmt.Sprintf(format, args...)) }
	if s.NonEmpty && len(v) == 0 {
		addf("empty map")
	}
	for _, name := range s.Fields() {
		if f, _ := s.Field(name); f.Always && !ignored(s.Name, name) {
			if _, ok := v[name]; !ok {
				addf("no %s, which is always there", name)
			}
		}
	}
	for key, e := range v {
		f, known := s.Field(key)
		switch {
		case known && ignored(s.Name, key) && isEmpty(e):
		case known:
			out = append(out, misfits(e, f.Shape, path+"."+key, ignored)...)
		case s.Elem() != nil:
			out = append(out, misfits(e, s.Elem(), path+"."+key, ignored)...)
		case s.Closed():
			addf("%s cannot be there", key)
		case !s.Dynamic:
			addf("a map without any shape")
		}
	}
	return out
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func kindOfValue(v any) Kinds {
	switch v.(type) {
	case nil:
		return Null
	case bool:
		return Bool
	case int64:
		return Int
	case float64:
		return Double
	case string:
		return String
	case []any:
		return List
	case map[string]any:
		return Map
	}
	return 0
}

func (x Text) check(s string) (err error) {
	switch x {
	case TimeText:
		_, err = time.Parse(time.RFC3339, s)
	case DurationText:
		_, err = time.ParseDuration(s)
	case QuantityText:
		_, err = resource.ParseQuantity(s)
	case Base64Text:
		_, err = base64.StdEncoding.DecodeString(s)
	}
	return err
}

func nothing(string, string) bool { return false }

// filler sets Go values to any value that decoding can give them, zero and empty ones among them.
type filler struct {
	*rand.Rand
	density float64
}

func (f *filler) fill(v reflect.Value, depth int) {
	if depth > 14 || f.Float64() > f.density && depth > 1 {
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		*x = metav1.Time{Time: []time.Time{{}, time.Unix(1e9, 0), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)}[f.IntN(3)]}
		return
	case *metav1.MicroTime:
		*x = metav1.MicroTime{Time: []time.Time{{}, time.Unix(1e9, 7000)}[f.IntN(2)]}
		return
	case *resource.Quantity:
		*x = []resource.Quantity{{}, resource.MustParse("100m"), resource.MustParse("1Gi")}[f.IntN(3)]
		return
	case *intstr.IntOrString:
		*x = []intstr.IntOrString{{}, intstr.FromInt32(80), intstr.FromString(""), intstr.FromString("a")}[f.IntN(4)]
		return
	case *runtime.RawExtension:
		x.Raw = [][]byte{nil, []byte(`{"a":1}`), []byte(`"s"`), []byte(`null`)}[f.IntN(4)]
		return
	case *metav1.FieldsV1:
		*x = *metav1.NewFieldsV1([]string{`{}`, `{"f:a":{}}`}[f.IntN(2)])
		return
	}
	if v.Addr().Type().Implements(marshaler) {
		if v.Kind() == reflect.Struct && v.NumField() == 1 && v.Field(0).Kind() == reflect.Slice && v.Field(0).CanSet() {
			v.Field(0).SetBytes([][]byte{nil, []byte(`[1]`), []byte(`true`)}[f.IntN(3)])
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		n := f.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.IntN(3) {
			e := reflect.New(v.Type().Elem()).Elem()
			f.fill(e, depth+1)
			v.SetMapIndex(reflect.ValueOf([]string{"", "a", "b.c/d"}[f.IntN(3)]).Convert(v.Type().Key()), e)
		}
	case reflect.String:
		v.SetString([]string{"", "a", "0"}[f.IntN(3)])
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 1<<31 - 1, -1 << 31}[f.IntN(5)])
	case reflect.Uint8:
		v.SetUint(uint64(f.IntN(256)))
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}

// allKinds are those of the resource tables that have a Go type, in a fixed order.
func allKinds() []schema.GroupVersionKind {
	kinds := map[schema.GroupVersionKind]bool{}
	for minor := Oldest; minor <= Newest; minor++ {
		for _, r := range BuiltIn(minor).Resources() {
			if newTyped(r.Kind) != nil {
				kinds[r.Kind] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
}

// written is a typed object as encoding/json has it.
func written(typed any, kind schema.GroupVersionKind) (map[string]any, error) {
	b, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(b, &obj); err != nil {
		return nil, err
	}
	obj["apiVersion"], obj["kind"] = kind.ToAPIVersionAndKind()
	return obj, nil
}

func TestShapesAllowAllThatEncodingWrites(t *testing.T) {
	total := 0
	for _, kind := range allKinds() {
		f := &filler{Rand: rand.New(rand.NewPCG(1, 2))}
		shape := BuiltIn(Newest).ObjectShape(kind, Raw)
		for range 60 {
			f.density = []float64{0.2, 0.5, 0.8, 0.95}[f.IntN(4)]
			typed := newTyped(kind)
			f.fill(reflect.ValueOf(typed).Elem(), 0)
			obj, err := written(typed, kind)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			total++
			if m := misfits(obj, shape, kind.Kind, nothing); len(m) > 0 {
				t.Errorf("%s: %s", kind, strings.Join(m[:min(3, len(m))], "\n"))
				break
			}
		}
	}
	t.Logf("%d objects of %d kinds", total, len(allKinds()))
}

// A completed object has what the server promises, but for what validation promises of valid ones.
func TestNewObjectsHaveWhatTheServerFills(t *testing.T) {
	validated := map[string]bool{"apiVersion": true, "kind": true, "name": true, "uid": true} // of owners
	for line := range strings.Lines(validLines) {
		if f := strings.Fields(line); strings.Contains(f[len(f)-1], "validation") {
			validated[f[2][strings.LastIndex(f[2], ".")+1:]] = true
		}
	}
	ignored := func(typ, field string) bool { return validated[field] && typ != "meta/v1.ObjectMeta" }
	total := 0
	for _, kind := range allKinds() {
		r, ok := anywhere(kind)
		if !ok || r.Subresource != "" || !r.Serves("get") {
			continue
		}
		f := &filler{Rand: rand.New(rand.NewPCG(3, 4))}
		shape := BuiltIn(Newest).ObjectShape(kind, Server)
		for i := range 40 {
			f.density = []float64{0.05, 0.2, 0.5, 0.8, 0.95}[f.IntN(5)]
			typed := newTyped(kind)
			f.fill(reflect.ValueOf(typed).Elem(), 0)
			obj, err := written(typed, kind)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			meta, _ := obj["metadata"].(map[string]any)
			for _, f := range []string{"name", "uid"} {
				meta[f] = "x"
			}
			meta["creationTimestamp"] = "2024-01-02T03:04:05Z"
			delete(meta, "deletionTimestamp")
			delete(meta, "namespace")
			if r.Namespaced {
				meta["namespace"] = "x"
			}
			if err := Create(BuiltIn(Oldest+i%(Newest-Oldest+1)), kind, obj); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			total++
			if m := misfits(obj, shape, kind.Kind, ignored); len(m) > 0 {
				t.Errorf("%s: %s", kind, strings.Join(m[:min(4, len(m))], "\n"))
				break
			}
		}
	}
	t.Logf("%d objects of %d kinds", total, len(allKinds()))
}
