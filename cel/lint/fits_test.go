package lint

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"hangar.io/holdshort/cel/schema"
)

// TestObjectsHaveWhatIsClaimed compares the objects of the soundness run, completed and in the form that
// the evaluator sees, with all that the shapes claim of them: what is always there, never null or empty,
// of certain kinds, in a format.
func TestObjectsHaveWhatIsClaimed(t *testing.T) {
	requests := 100
	if soaking() {
		requests = 2000
	}
	f := &fitting{always: map[string]bool{}}
	objects := 0
	for _, k := range soundKinds(t, rand.New(rand.NewPCG(5, 6)), requests) {
		for _, q := range k.requests {
			shape := corpusResources().ObjectShape(q.request.Kind, schema.Server)
			if q.op == "CONNECT" {
				shape = schema.OptionsShape(q.request.Resource.Resource + "/" + q.request.Subresource)
			}
			for _, object := range []map[string]any{q.request.Object, q.request.OldObject} {
				if object == nil {
					continue
				}
				objects++
				f.value(seen(t, q.request.Kind.GroupVersion().String(), object), shape, q.op+" "+k.resource, shape.Name)
			}
		}
	}
	for i, m := range f.misfits {
		if i < 10 {
			t.Error(m)
		}
	}
	if len(f.misfits) > 0 {
		t.Errorf("%d claims do not hold", len(f.misfits))
	}
	if len(f.always) < 300 {
		t.Errorf("only %d claims of presence were compared", len(f.always))
	}
	t.Logf("%d objects have the %d fields that are claimed to be always there", objects, len(f.always))
}

// seen is an object as a policy sees it: built-in kinds were decoded into their Go types.
func seen(t *testing.T, groupVersion string, object map[string]any) map[string]any {
	kind := object["kind"].(string)
	gv, _, _ := strings.Cut(groupVersion, " ")
	typed, err := runtime.Object(nil), error(nil)
	for gvk := range clientscheme.Scheme.AllKnownTypes() {
		if gvk.Kind == kind && gvk.GroupVersion().String() == gv {
			typed, err = clientscheme.Scheme.New(gvk)
		}
	}
	if typed == nil || err != nil {
		return object
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, typed); err != nil {
		t.Fatal(err)
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	out["apiVersion"], out["kind"] = object["apiVersion"], object["kind"]
	return out
}

// fitting compares values with shapes.
type fitting struct {
	misfits []string
	always  map[string]bool // types and fields
}

func (f *fitting) misfit(at, format string, args ...any) {
	f.misfits = append(f.misfits, at+": "+fmt.Sprintf(format, args...))
}

func (f *fitting) value(v any, s *schema.Shape, at, owner string) {
	kind, size := schema.Null, 1
	switch x := v.(type) {
	case bool:
		kind = schema.Bool
	case int64:
		kind = schema.Int
		if x < s.Min || x > s.Max {
			f.misfit(at, "%d is not in %d…%d", x, s.Min, s.Max)
		}
	case float64:
		kind = schema.Double
	case string:
		kind, size = schema.String, len(x)
		if !formatted(x, s.Text) {
			f.misfit(at, "%q has not the format %d", x, s.Text)
		}
	case []any:
		kind, size = schema.List, len(x)
		for i, item := range x {
			if s.Elem() != nil {
				f.value(item, s.Elem(), fmt.Sprintf("%s[%d]", at, i), owner)
			}
		}
	case map[string]any:
		kind, size = schema.Map, len(x)
		f.fields(x, s, at, owner)
	}
	if s.Kinds&kind == 0 {
		f.misfit(at, "%v is none of %s", v, kindNames(s.Kinds))
	}
	if s.NonEmpty && kind != schema.Null && size == 0 {
		f.misfit(at, "%v is empty", v)
	}
}

func (f *fitting) fields(m map[string]any, s *schema.Shape, at, owner string) {
	if s.Name != "" {
		owner = s.Name
	}
	for _, name := range s.Fields() {
		field, _ := s.Field(name)
		v, has := m[name]
		if field.Always {
			f.always[owner+"."+name] = true
		}
		switch {
		case has:
			f.value(v, field.Shape, at+"."+name, owner+"."+name)
		case field.Always:
			f.misfit(at, "no %s of %s, which is always there", name, owner)
		}
	}
	for name, v := range m {
		_, known := s.Field(name)
		switch {
		case known:
		case s.Closed():
			f.misfit(at, "a field %s, which is never there", name)
		case s.Elem() != nil:
			f.value(v, s.Elem(), at+"."+name, owner)
		}
	}
}

func formatted(text string, format schema.Text) bool {
	var err error
	switch format {
	case schema.TimeText:
		_, err = time.Parse(time.RFC3339, text)
	case schema.DurationText:
		_, err = time.ParseDuration(text)
	case schema.QuantityText:
		_, err = resource.ParseQuantity(text)
	case schema.Base64Text:
		_, err = base64.StdEncoding.DecodeString(text)
	}
	return err == nil
}
