package schema

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
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

// checker compares values in their JSON form with shapes.
type checker struct {
	// ignored passes over what is promised of a field of a type.
	ignored func(typ, field string) bool
	// seen counts, by type and field, how often a value used what the shape leaves open.
	seen map[openness]int
	out  []string
}

// openness is one thing that a shape allows and need not: a field can be absent, null or empty, or
// there at all.
type openness struct{ typ, field, what string }

// misfits lists where a value is not what a shape says.
func misfits(v any, s *Shape, path string) []string {
	c := checker{}
	c.value(v, s, path)
	return c.out
}

func (c *checker) addf(path, format string, args ...any) {
	c.out = append(c.out, path+": "+fmt.Sprintf(format, args...))
}

func (c *checker) value(v any, s *Shape, path string) {
	if s.Kinds&kindOfValue(v) == 0 {
		c.addf(path, "%T is none of the kinds %b", v, s.Kinds)
		return
	}
	if s.NonEmpty && v != nil && isEmpty(v) {
		c.addf(path, "%#v is empty", v)
	}
	switch v := v.(type) {
	case int64:
		if v < s.Min || v > s.Max {
			c.addf(path, "%d is not in %d…%d", v, s.Min, s.Max)
		}
	case string:
		if err := s.Text.check(v); err != nil {
			c.addf(path, "%v", err)
		}
	case []any:
		for i, e := range v {
			if s.Elem() != nil {
				c.value(e, s.Elem(), fmt.Sprintf("%s[%d]", path, i))
			} else if !s.Dynamic {
				c.addf(path, "a list without a shape of its items")
			}
		}
	case map[string]any:
		c.object(v, s, path)
	}
}

func (c *checker) object(v map[string]any, s *Shape, path string) {
	for _, name := range s.Fields() {
		f, _ := s.Field(name)
		e, ok := v[name]
		if ignored := c.ignored != nil && c.ignored(s.Name, name); ignored && isEmpty(e) {
			continue
		}
		c.note(s.Name, name, "absent", !ok)
		c.note(s.Name, name, "there", ok)
		switch {
		case ok:
			c.note(s.Name, name, "null", e == nil)
			c.note(s.Name, name, "empty", e != nil && isEmpty(e))
			c.value(e, f.Shape, path+"."+name)
		case f.Always:
			c.addf(path, "no %s, which is always there", name)
		}
	}
	for key, e := range v {
		_, known := s.Field(key)
		switch {
		case known:
		case s.Elem() != nil:
			c.value(e, s.Elem(), path+"."+key)
		case s.Closed():
			c.addf(path, "%s cannot be there", key)
		case !s.Dynamic:
			c.addf(path, "a map without any shape")
		}
	}
}

func (c *checker) note(typ, field, what string, is bool) {
	if is && c.seen != nil {
		c.seen[openness{typ, field, what}]++
	}
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
func written(typed any) (map[string]any, error) {
	b, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	var obj map[string]any
	return obj, utiljson.Unmarshal(b, &obj)
}

func TestShapesAllowWhatEncodingWrites(t *testing.T) {
	for _, kind := range allKinds() {
		f := &filler{Rand: rand.New(rand.NewPCG(1, 2))}
		shape := BuiltIn(Newest).ObjectShape(kind, Raw)
		for range 20 {
			f.density = []float64{0.2, 0.5, 0.8, 0.95}[f.IntN(4)]
			typed := newTyped(kind)
			f.fill(reflect.ValueOf(typed).Elem(), 0)
			obj, err := written(typed)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			obj["apiVersion"], obj["kind"] = kind.ToAPIVersionAndKind()
			if m := misfits(obj, shape, kind.Kind); len(m) > 0 {
				t.Errorf("%s: %s", kind, strings.Join(m[:min(3, len(m))], "\n"))
				break
			}
		}
	}
}

// Whatever a shape leaves open of a field is seen in some value of the type, so a stronger shape
// would not pass.
func TestShapesAllowNoMoreThanEncodingWrites(t *testing.T) {
	types := map[reflect.Type]bool{}
	for _, kind := range allKinds() {
		structsOf(reflect.TypeOf(newTyped(kind)).Elem(), types)
	}
	facts := 0
	for typ := range types {
		f := &filler{Rand: rand.New(rand.NewPCG(1, 2))}
		c := checker{seen: map[openness]int{}}
		s := place{typ: typ, assume: Raw}.shape()
		for range 100 {
			f.density = []float64{0.5, 0.8}[f.IntN(2)]
			v := reflect.New(typ)
			f.fill(v.Elem(), 11)
			obj, err := written(v.Interface())
			if err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
			c.value(obj, s, s.Name)
		}
		if len(c.out) > 0 {
			t.Errorf("%s", strings.Join(c.out[:min(3, len(c.out))], "\n"))
		}
		for _, name := range s.Fields() {
			if former, ok := formerFields()[s.Name][name]; ok && (former.null || former.empty || former.gone) {
				continue // in older versions
			}
			field, _ := s.Field(name)
			for what, open := range field.open() {
				if open {
					facts++
				}
				if what == "absent" && formerFields()[s.Name][name].absent {
					continue // in older versions
				}
				if open && c.seen[openness{s.Name, name, what}] == 0 {
					t.Errorf("%s.%s is never %s: the shape is weaker than need be", s.Name, name, what)
				}
			}
		}
	}
	t.Logf("%d types, %d facts that are left open", len(types), facts)
}

// open is what a shape says can be of a field.
func (f Field) open() map[string]bool {
	mayBeEmpty := !f.Shape.NonEmpty && f.Shape.Kinds&(String|List|Map) != 0
	for _, name := range f.Shape.Fields() {
		if inner, _ := f.Shape.Field(name); inner.Always {
			mayBeEmpty = false // has a field
		}
	}
	return map[string]bool{
		"there": true, "absent": !f.Always,
		"null":  f.Shape.Kinds&Null != 0 && !f.Shape.Dynamic,
		"empty": mayBeEmpty && !f.Shape.Dynamic,
	}
}

// structsOf finds the structs that a type consists of, as JSON has them.
func structsOf(t reflect.Type, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		structsOf(t.Elem(), seen)
	case reflect.Struct:
		if seen[t] || t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
			return
		}
		seen[t] = true
		for _, f := range jsonFields(t) {
			structsOf(f.typ, seen)
		}
	}
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
		for i := range 24 {
			f.density = []float64{0.05, 0.2, 0.5, 0.8, 0.95}[f.IntN(5)]
			typed := newTyped(kind)
			f.fill(reflect.ValueOf(typed).Elem(), 0)
			obj, err := written(typed)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			born(obj, r.Namespaced)
			if err := Create(BuiltIn(Oldest+i%(Newest-Oldest+1)), kind, obj); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			total++
			c := checker{ignored: ignored}
			c.value(obj, shape, kind.Kind)
			if len(c.out) > 0 {
				t.Errorf("%s: %s", kind, strings.Join(c.out[:min(4, len(c.out))], "\n"))
				break
			}
		}
	}
	t.Logf("%d objects of %d kinds", total, len(allKinds()))
}

// born gives an object what its handler gives it before the registry.
func born(obj map[string]any, namespaced bool) {
	meta, _ := obj["metadata"].(map[string]any)
	maps.Copy(meta, map[string]any{"name": "x", "uid": "u", "creationTimestamp": "2024-01-02T03:04:05Z"})
	delete(meta, "deletionTimestamp")
	delete(meta, "namespace")
	if namespaced {
		meta["namespace"] = "ns"
	}
}

// The objects that hack/gen shows to be valid have all that is promised, in every version.
func TestValidObjectsHaveWhatIsPromised(t *testing.T) {
	text, err := os.ReadFile("../../hack/gen/testdata/valid.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		for minor := Oldest; minor <= Newest; minor++ {
			obj := object(t, doc)
			kind := schema.FromAPIVersionAndKind(obj["apiVersion"].(string), obj["kind"].(string))
			r, _ := anywhere(kind)
			born(obj, r.Namespaced)
			if err := Create(BuiltIn(minor), kind, obj); err != nil {
				t.Fatal(err)
			}
			for _, m := range misfits(obj, BuiltIn(minor).ObjectShape(kind, Server), kind.Kind) {
				t.Errorf("1.%d: %s", minor, m)
			}
		}
	}
}

func TestWhatTheServerPromises(t *testing.T) {
	for _, c := range []struct {
		kind   schema.GroupVersionKind
		path   string
		always bool
	}{
		{gvk("", "v1", "Pod"), "metadata.name", true},
		{gvk("", "v1", "Pod"), "metadata.namespace", true},
		{gvk("", "v1", "Pod"), "metadata.labels", false},
		{gvk("", "v1", "Pod"), "metadata.resourceVersion", false},
		{gvk("", "v1", "Pod"), "metadata.ownerReferences", false},
		{gvk("", "v1", "Pod"), "spec.restartPolicy", true},
		{gvk("", "v1", "Pod"), "spec.securityContext", true},
		{gvk("", "v1", "Pod"), "spec.hostNetwork", false},
		{gvk("", "v1", "Pod"), "spec.serviceAccountName", false},
		{gvk("", "v1", "Pod"), "spec.enableServiceLinks", true},
		{gvk("apps", "v1", "Deployment"), "spec.template.spec.enableServiceLinks", false},
		{gvk("apps", "v1", "Deployment"), "spec.template.metadata.name", false},
		{gvk("apps", "v1", "Deployment"), "spec.template.metadata.labels", false},
		{gvk("apps", "v1", "Deployment"), "spec.selector", true},
		{gvk("apps", "v1", "DaemonSet"), "metadata.annotations", true},
		{gvk("batch", "v1", "Job"), "spec.selector", true},
		{gvk("batch", "v1", "CronJob"), "spec.jobTemplate.spec.selector", false},
		{gvk("", "v1", "Namespace"), "metadata.namespace", false},
		{gvk("", "v1", "Namespace"), "metadata.labels", true},
		{gvk("", "v1", "PersistentVolumeClaim"), "status.phase", false},
		{gvk("autoscaling", "v1", "Scale"), "metadata.uid", false},
		{gvk("policy", "v1", "Eviction"), "metadata.creationTimestamp", false},
		{gvk("authentication.k8s.io", "v1", "TokenRequest"), "metadata.name", true},
		{gvk("authentication.k8s.io", "v1", "TokenRequest"), "metadata.uid", false},
		{gvk("autoscaling", "v2", "HorizontalPodAutoscaler"), "spec.minReplicas", true},
		// Filled in this version of the kind only: an object can have been sent in another.
		{gvk("autoscaling", "v2", "HorizontalPodAutoscaler"), "spec.metrics", false},
		{gvk("admissionregistration.k8s.io", "v1alpha1", "ValidatingAdmissionPolicyBinding"), "spec.paramRef.parameterNotFoundAction", false},
		// Filled since 1.37.
		{gvk("storage.k8s.io", "v1", "CSIDriver"), "spec.attachRequired", true},
		{gvk("storage.k8s.io", "v1", "CSIDriver"), "spec.preventPodSchedulingIfMissing", false},
	} {
		f := Field{Shape: BuiltIn(Newest).ObjectShape(c.kind, Server)}
		for name := range strings.SplitSeq(c.path, ".") {
			f, _ = f.Shape.Field(name)
			if f.Shape == nil {
				t.Fatalf("%s has no %s", c.kind.Kind, c.path)
			}
		}
		if f.Always != c.always {
			t.Errorf("%s %s: always %v", c.kind.Kind, c.path, f.Always)
		}
	}
}

func TestFieldsOfEarlierVersionsAreKnown(t *testing.T) {
	spec, _ := BuiltIn(Newest).ObjectShape(gvk("", "v1", "Pod"), Server).Field("spec")
	if f, known := spec.Shape.Field("workloadRef"); !known || f.Always || !f.Shape.Dynamic {
		t.Errorf("a field that 1.35 had: %+v, %v", f, known)
	}
	template, _ := BuiltIn(Newest).ObjectShape(gvk("", "v1", "PodTemplate"), Server).Field("template")
	meta, _ := template.Shape.Field("metadata")
	if f, _ := meta.Shape.Field("creationTimestamp"); f.Always || f.Shape.Kinds != String|Null {
		t.Errorf("a time that was null until 1.33 and is absent since: %+v %+v", f, f.Shape)
	}
}
