package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/registry/core/pod"
)

// promised is one line of cel/schema/valid.txt.
type promised struct {
	scope, typ, path string
	nonEmpty         bool
	file             string
	line             int
}

func (p promised) String() string { return p.scope + " " + p.typ + " " + p.path }

func readPromised(t *testing.T) []promised {
	t.Helper()
	text, err := os.ReadFile("../../cel/schema/valid.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []promised
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		file, at, _ := strings.Cut(f[4], ":")
		n, err := strconv.Atoi(at)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, promised{f[0], f[1], f[2], f[3] == "nonempty", file, n})
	}
	return out
}

// example is an object that the server accepts.
type example struct {
	kind    schema.GroupVersionKind
	content map[string]any
}

func readExamples(t *testing.T) []example {
	t.Helper()
	text, err := os.ReadFile("testdata/valid.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []example
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var obj map[string]any
		if err := d.Decode(&obj); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		kind := schema.FromAPIVersionAndKind(obj["apiVersion"].(string), obj["kind"].(string))
		out = append(out, example{kind, whole(obj).(map[string]any)})
	}
}

// whole has integers where the decoder reads numbers.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}

// places are the objects within an object that hold the field which is promised, and its name.
func (p promised) places(e example) (holders []map[string]any, name string) {
	typed, err := scheme.New(e.kind)
	if err != nil {
		panic(err)
	}
	root := reflect.TypeOf(typed).Elem()
	steps := strings.Split(p.path, ".")
	if p.scope == "type" {
		holders = ofType(e.content, root, p.typ)
	} else if typeName(root) == p.typ {
		holders = []map[string]any{e.content}
	}
	for _, s := range steps[:len(steps)-1] {
		var next []map[string]any
		for _, h := range holders {
			next = append(next, inner(h[s])...)
		}
		holders = next
	}
	return holders, steps[len(steps)-1]
}

func inner(v any) []map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []any:
		var out []map[string]any
		for _, e := range v {
			out = append(out, inner(e)...)
		}
		return out
	}
	return nil
}

// ofType finds the objects that stand where their parent's type has a struct of that name.
func ofType(obj map[string]any, t reflect.Type, name string) []map[string]any {
	var out []map[string]any
	if typeName(t) == name {
		out = append(out, obj)
	}
	for _, f := range jsonFields(t) {
		if _, elem := structShape(f.typ); elem != nil {
			for _, v := range inner(obj[f.name]) {
				out = append(out, ofType(v, elem, name)...)
			}
		}
	}
	return out
}

type validator interface {
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
}

type updater interface {
	PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
}

func contextFor(kind schema.GroupVersionKind) context.Context {
	ctx := request.WithRequestInfo(context.Background(), &request.RequestInfo{APIGroup: kind.Group, APIVersion: kind.Version})
	return request.WithNamespace(ctx, "ns")
}

// strategy is the strategy that judges an object; that of a pod with a debug container is of the
// subresource which adds it to the pod without.
func (e example) strategy() any {
	if e.debugged() {
		return pod.EphemeralContainersStrategy
	}
	return strategies[e.kind.GroupKind()]
}

func (e example) debugged() bool {
	spec, _ := e.content["spec"].(map[string]any)
	return spec["ephemeralContainers"] != nil
}

// accepted is what the server makes of an object, new or over an old one, or why it refuses it.
func accepted(e example, old runtime.Object) (runtime.Object, error) {
	object, err := received(e.kind, runtime.DeepCopyJSON(e.content))
	if err != nil {
		return nil, err
	}
	ctx := contextFor(e.kind)
	if e.debugged() && old == nil {
		plain := runtime.DeepCopyJSON(e.content)
		delete(plain["spec"].(map[string]any), "ephemeralContainers")
		if old, err = accepted(example{e.kind, plain}, nil); err != nil {
			return nil, err
		}
	}
	if old != nil {
		strategy := e.strategy().(updater)
		strategy.PrepareForUpdate(ctx, object, old)
		return object, strategy.ValidateUpdate(ctx, object, old.DeepCopyObject()).ToAggregate()
	}
	e.strategy().(creator).PrepareForCreate(ctx, object)
	return object, e.strategy().(validator).Validate(ctx, object).ToAggregate()
}

// TestWhatIsPromisedCannotBeTakenAway takes each promised field out of objects that the server
// accepts, and empties it: the server refuses what is left, or fills the field again.
func TestWhatIsPromisedCannotBeTakenAway(t *testing.T) {
	examples := readExamples(t)
	lines := readPromised(t)
	for _, f := range []string{"apiVersion", "kind", "name", "uid"} {
		lines = append(lines, promised{scope: "kind", typ: "core/v1.Pod", path: "metadata.ownerReferences." + f, nonEmpty: true})
	}
	for _, e := range examples {
		e.content["metadata"].(map[string]any)["resourceVersion"] = "1"
		if _, err := accepted(e, nil); err != nil {
			t.Fatalf("%s is not valid: %v", e.kind, err)
		}
	}
	for _, p := range lines {
		found := 0
		for _, e := range examples {
			valid, err := accepted(e, nil)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := encoded(valid, e.kind) // with defaults, so that they can be taken away
			if err != nil {
				t.Fatal(err)
			}
			if shown["spec"] != nil {
				e.content["spec"] = shown["spec"]
			}
			holders, name := p.places(e)
			for _, h := range holders {
				had, ok := h[name]
				if !ok {
					continue
				}
				found++
				for _, less := range emptier(had, p.nonEmpty) {
					delete(h, name)
					if less != nil {
						h[name] = less
					}
					if err := p.holds(e, nil); err != nil {
						t.Errorf("%s: a new %s without it (%v): %v", p, e.kind.Kind, less, err)
					}
					if err := p.holds(e, valid); err != nil {
						t.Errorf("%s: an updated %s without it (%v): %v", p, e.kind.Kind, less, err)
					}
					h[name] = had
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: no object of testdata/valid.yaml has it", p)
		}
	}
	t.Logf("%d promises", len(lines))
}

// emptier are the forms in which a field is not what is promised; nil is an absent field.
func emptier(v any, nonEmpty bool) []any {
	out := []any{nil}
	if !nonEmpty {
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

// holds tells whether the server refuses an object or fills the field again.
func (p promised) holds(e example, old runtime.Object) error {
	object, err := accepted(e, old)
	if err != nil {
		return nil
	}
	shown, err := encoded(object, e.kind)
	if err != nil {
		return err
	}
	holders, name := p.places(example{e.kind, shown})
	for _, h := range holders {
		switch v := h[name].(type) {
		case nil:
			return fmt.Errorf("accepted, and it is not there")
		case string:
			if v == "" && p.nonEmpty {
				return fmt.Errorf("accepted, and it is empty")
			}
		case []any:
			if len(v) == 0 && p.nonEmpty {
				return fmt.Errorf("accepted, and it is empty")
			}
		}
	}
	return nil
}

var check = regexp.MustCompile(`field\.[A-Z][A-Za-z]+\([^"]*("[^"]*")?|\S+ = `)

// TestPromisesHaveTheirSources looks at the line that each entry names, which the oldest supported
// version must have too.
func TestPromisesHaveTheirSources(t *testing.T) {
	newest, oldest := sources[len(sources)-1], sources[0]
	for _, p := range readPromised(t) {
		text, err := sourceText(newest, p.file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(text, "\n")
		what := ""
		if p.line <= len(lines) {
			what = check.FindString(lines[p.line-1])
		}
		if what == "" {
			t.Errorf("%s: %s:%d neither fills nor checks a field", p, p.file, p.line)
			continue
		}
		before, err := sourceText(oldest, p.file)
		if err != nil || !strings.Contains(before, what) {
			t.Errorf("%s: Kubernetes %s has no %q in %s: %v", p, oldest.version, what, p.file, err)
		}
	}
}

// sourceText reads a file of Kubernetes, or of the library that begins its path.
func sourceText(r release, file string) (string, error) {
	module, version := "k8s.io/kubernetes", r.version
	if first, rest, _ := strings.Cut(file, "/"); first != "pkg" {
		module, version, file = "k8s.io/"+first, strings.Replace(r.version, "v1.", "v0.", 1), rest
	}
	dir, err := moduleDir(module + "@" + version)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	return string(text), err
}
