package witness

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// valid tells whether a server could hand the request to policies: API validation comes before them.
// It knows the rules that all kinds share, and what shapes say.
func (s *Search) valid(r harness.Request) bool {
	if s.kase.Operation == admission.Connect {
		return r.Object == nil || fits(s.shape, r.Object)
	}
	for _, o := range []map[string]any{r.Object, r.OldObject} {
		if o == nil {
			continue
		}
		if !fits(s.shape, o) {
			return false
		}
		if s.options.Assume == schema.Server && r.Subresource == "" && !validMetadata(o, r.Namespace != "" && r.Resource.Resource != "namespaces") {
			return false
		}
		if s.options.Assume == schema.Server && (!s.skeleton.accepts(o) || !validTogether(r, o)) {
			return false
		}
	}
	return true
}

// validMetadata applies the server's own validation of metadata.
func validMetadata(o map[string]any, namespaced bool) bool {
	data, err := json.Marshal(o["metadata"])
	if err != nil {
		return false
	}
	m := &metav1.ObjectMeta{}
	if json.Unmarshal(data, m) != nil {
		return false
	}
	return len(validation.ValidateObjectMeta(m, namespaced, validation.NameIsDNSSubdomain, field.NewPath("metadata"))) == 0
}

// validTogether applies rules that hold between fields: a workload's selector matches its template, a
// service of type ExternalName has one, and others have ports or are headless (kubernetes
// pkg/apis/core/validation/validation.go, ValidateService).
func validTogether(r harness.Request, o map[string]any) bool {
	text := func(names ...string) string {
		v, _ := get(o, keys(names...))
		s, _ := v.(string)
		return s
	}
	if r.Kind.Kind == "Service" && r.Resource.Group == "" {
		ports, _ := get(o, keys("spec", "ports"))
		list, _ := ports.([]any)
		outer := text("spec", "type") == "ExternalName"
		if outer && text("spec", "externalName") == "" || !outer && len(list) == 0 && text("spec", "clusterIP") != "None" {
			return false
		}
	}
	selector, _ := get(o, keys("spec", "selector", "matchLabels"))
	labels, hasTemplate := get(o, keys("spec", "template", "metadata", "labels"))
	want, _ := selector.(map[string]any)
	have, _ := labels.(map[string]any)
	for k := range want {
		if hasTemplate && have[k] != want[k] {
			return false
		}
	}
	return true
}

// wordsPath reads a path as skeletons.yaml has it.
func wordsPath(text string) path {
	var p path
	for len(text) > 0 {
		end := 0
		for end < len(text) && text[end] != '.' && text[end] != '[' {
			end++
		}
		if end > 0 {
			p = append(p, step{key: text[:end]})
		}
		text = text[end:]
		switch {
		case len(text) > 1 && text[0] == '[':
			p, text = append(p, step{kind: toAny}), text[2:]
		case len(text) > 0:
			text = text[1:]
		}
	}
	return p
}

// all are the values at a path, of every item of lists.
func all(v any, p path) []any {
	if len(p) == 0 {
		return []any{v}
	}
	var out []any
	switch x := v.(type) {
	case map[string]any:
		if inner, ok := x[p[0].key]; ok && p[0].kind == toKey {
			return all(inner, p[1:])
		}
	case []any:
		if p[0].kind == toAny {
			for _, item := range x {
				out = append(out, all(item, p[1:])...)
			}
		}
	}
	return out
}
