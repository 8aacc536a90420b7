package witness

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/schema"
)

//go:embed skeletons.yaml
var skeletonText []byte

// skeleton is the least object of a kind that a server accepts.
type skeleton struct {
	// Kinds are group/version/Kind, of one shape.
	Kinds  []string       `json:"kinds"`
	Object map[string]any `json:"object"`
	// Others are further least objects, which are not like the first.
	Others []map[string]any `json:"others"`
	// Parts are what an object may have besides, by where that stands: the forms of the least of it
	// that a server accepts.
	Parts map[string][]any `json:"parts"`
	// Pod is where the object holds the spec of a pod, whose parts it has too.
	Pod string `json:"pod"`
	// Text are the only values that strings may have, by where they stand.
	Text map[string][]string `json:"text"`
}

type skeletons map[kschema.GroupVersionKind]*skeleton

// builtIn parses the file once; a malformed one is a defect of this package.
var builtIn = sync.OnceValue(func() skeletons {
	var list []*skeleton
	if err := yaml.UnmarshalStrict(skeletonText, &list); err != nil {
		panic(fmt.Sprintf("witness: skeletons.yaml: %v", err))
	}
	all := skeletons{}
	var pod *skeleton
	for _, s := range list {
		for i, k := range s.Kinds {
			gvk := kindOf(k)
			all[gvk] = s
			if i == 0 && gvk.Kind == "Pod" {
				pod = s
			}
		}
	}
	for _, s := range list {
		integers(s.Object)
		for _, o := range s.Others {
			integers(o)
		}
		if s.Parts == nil {
			s.Parts = map[string][]any{}
		}
		for _, forms := range s.Parts {
			integers(forms)
		}
		for at, v := range commonParts {
			s.Parts[at] = v
		}
		if s.Pod == "" || pod == nil {
			continue
		}
		for at, v := range pod.Parts {
			if strings.HasPrefix(at, "spec") {
				s.Parts[s.Pod+strings.TrimPrefix(at, "spec")] = integers(v).([]any)
			}
		}
		for at, v := range pod.Text {
			if s.Text == nil {
				s.Text = map[string][]string{}
			}
			if strings.HasPrefix(at, "spec") && s.Text[s.Pod+strings.TrimPrefix(at, "spec")] == nil {
				s.Text[s.Pod+strings.TrimPrefix(at, "spec")] = v
			}
		}
	}
	return all
})

// commonParts are what any object may have.
var commonParts = map[string][]any{
	"metadata.ownerReferences": {[]any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "0f5a4f2c-8f4c-4a3e-9c56-5f2f6d3a7b10"}}},
	"metadata.finalizers":      {[]any{"example.com/finalizer"}},
}

// kindOf reads version/Kind or group/version/Kind.
func kindOf(text string) kschema.GroupVersionKind {
	i := strings.LastIndexByte(text, '/')
	return kschema.FromAPIVersionAndKind(text[:i], text[i+1:])
}

// integers has the whole numbers of a document as int64, as decoders of Kubernetes have them.
func integers(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			x[k] = integers(x[k])
		}
	case []any:
		for i := range x {
			x[i] = integers(x[i])
		}
	case float64:
		if x == float64(int64(x)) {
			return int64(x)
		}
	}
	return v
}

// of is the skeleton of a kind. One that none is written for has what its shape says is always there.
func (all skeletons) of(t *schema.Table, kind kschema.GroupVersionKind) *skeleton {
	if s := all[kind]; s != nil {
		return s
	}
	for gvk, s := range all { // another version of the kind
		if gvk.GroupKind() == kind.GroupKind() && t.SameShape(gvk, kind) {
			return s
		}
	}
	s := &skeleton{Object: map[string]any{}, Parts: commonParts}
	if o, ok := least(t.ObjectShape(kind, schema.Server), 0).(map[string]any); ok {
		for _, k := range []string{"apiVersion", "kind", "metadata", "status"} {
			delete(o, k)
		}
		s.Object = o
	}
	return s
}

// object is a copy of the skeleton's object, or of one of its others.
func (s *skeleton) object(choice int) map[string]any {
	if n := choice % (2 + len(s.Others)); n > 1 {
		return runtime.DeepCopyJSON(s.Others[n-2])
	}
	return runtime.DeepCopyJSON(s.Object)
}

// part is the value that what stands at a path begins with, in one of its forms.
func (s *skeleton) part(at path, choice int) any {
	if forms := s.Parts[at.String()]; len(forms) > 0 {
		return runtime.DeepCopyJSONValue(forms[choice%len(forms)])
	}
	return nil
}

// required tells whether an object is not accepted without what is at a path: the skeleton has it,
// or all forms of the part that it stands in.
func (s *skeleton) required(p path) bool {
	p = slices.Clone(p)
	for i := range p {
		if p[i].kind == toIndex {
			p[i].index = 0
		}
	}
	if _, ok := get(s.Object, p); ok {
		return !slices.ContainsFunc(s.Others, func(o map[string]any) bool {
			_, has := get(o, p)
			return !has
		})
	}
	for i := len(p) - 1; i > 0; i-- {
		if forms := s.Parts[p[:i].String()]; len(forms) > 0 {
			return !slices.ContainsFunc(forms, func(form any) bool {
				_, has := get(form, p[i:])
				return !has
			})
		}
	}
	return false
}

// accepts tells whether an object has what the skeleton has, and each part what one of its forms has.
func (s *skeleton) accepts(o map[string]any) bool {
	if !like(o, s.Object) && !slices.ContainsFunc(s.Others, func(other map[string]any) bool { return like(o, other) }) {
		return false
	}
	for at, forms := range s.Parts {
		for _, v := range all(o, wordsPath(at)) {
			if v != nil && !isEmpty(v) && !slices.ContainsFunc(forms, func(form any) bool { return like(v, form) }) {
				return false
			}
		}
	}
	for at, words := range s.Text {
		for _, v := range all(o, wordsPath(at)) {
			if text, ok := v.(string); ok && text != "" && !slices.Contains(words, text) {
				return false
			}
		}
	}
	return true
}

// like tells whether a value has the form of another: its keys, items if it has any, and no zero where
// it has a number, which is a port or a count.
func like(v, form any) bool {
	switch f := form.(type) {
	case map[string]any:
		o, ok := v.(map[string]any)
		for k := range f {
			if inner, has := o[k]; !has || !like(inner, f[k]) {
				return false
			}
		}
		return ok
	case []any:
		list, ok := v.([]any)
		if len(f) == 0 || !ok {
			return ok
		}
		for _, item := range list {
			if !like(item, f[0]) {
				return false
			}
		}
		return len(list) > 0
	case string:
		s, ok := v.(string)
		_, number := v.(int64) // a quantity
		return ok && (s != "" || f == "") || number
	case int64:
		return v != nil && (f == 0 || v != int64(0))
	}
	return v != nil
}
