package witness

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"hangar.io/holdshort/cel"
)

// step is one step of a path: a key of a map, an index of a list, or any of either.
type step struct {
	key   string
	index int
	kind  stepKind
}

type stepKind uint8

const (
	toKey stepKind = iota
	toIndex
	toAny
)

// path leads to a value of a world.
type path []step

func keys(names ...string) path {
	p := make(path, len(names))
	for i, n := range names {
		p[i] = step{key: n}
	}
	return p
}

func (p path) then(s step) path { return append(slices.Clone(p), s) }

func (p path) root() string {
	if len(p) == 0 {
		return ""
	}
	return p[0].key
}

// String writes the path with [] for any index, as the keys of skeletons.yaml are written.
func (p path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.kind != toKey:
			b.WriteString("[]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// parsePath reads a path as facts have it.
func parsePath(text string) path {
	var p path
	for text != "" {
		switch {
		case strings.HasPrefix(text, "['"):
			end := strings.Index(text, "']")
			if end < 0 {
				return nil
			}
			p, text = p.then(step{key: text[2:end]}), text[end+2:]
		case text[0] == '[':
			end := strings.IndexByte(text, ']')
			if end > 0 && text[1:end] == "*" {
				p, text = p.then(step{kind: toAny}), text[end+1:]
				continue
			}
			n, err := strconv.Atoi(text[1:max(end, 1)])
			if err != nil {
				return nil
			}
			p, text = p.then(step{kind: toIndex, index: n}), text[end+1:]
		default:
			text = strings.TrimPrefix(text, ".")
			end := strings.IndexAny(text, ".[")
			if end < 0 {
				end = len(text)
			}
			p, text = p.then(step{key: text[:end]}), text[end:]
		}
	}
	return p
}

// optional is the step in CEL, of a value that may not have it.
func (s step) optional() (string, error) {
	if s.kind == toIndex {
		return "[?" + strconv.Itoa(s.index) + "]", nil
	}
	if isField.MatchString(s.key) && s.key != "in" && s.key != "null" && s.key != "true" && s.key != "false" {
		return ".?" + s.key, nil
	}
	quoted, err := cel.Quote(s.key)
	return "[?" + quoted + "]", err
}

var isField = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// get finds the value at a path.
func get(v any, p path) (any, bool) {
	for _, s := range p {
		switch x := v.(type) {
		case map[string]any:
			k := s.key
			if s.kind == toAny && len(x) > 0 {
				k = slices.Sorted(maps.Keys(x))[0]
			}
			inner, ok := x[k]
			if !ok || s.kind == toIndex {
				return nil, false
			}
			v = inner
		case []any:
			if s.kind == toKey || s.index < 0 || s.index >= len(x) {
				return nil, false
			}
			v = x[s.index]
		default:
			return nil, false
		}
	}
	return v, true
}

// filler gives the value that a new element at a path begins with, nil if none is known.
type filler func(at path) any

// set returns v with the value at a path replaced. What is missing on the way is made.
func set(v any, p path, value any, at path, fill filler) any {
	if len(p) == 0 {
		return runtime.DeepCopyJSONValue(value)
	}
	s := p[0]
	if v == nil {
		v = fill(at)
	}
	list, isList := v.([]any)
	object, isMap := v.(map[string]any)
	if s.kind == toIndex && !isList || s.kind == toAny && !isList && !isMap {
		list, isList = nil, true
	}
	if isList && s.kind != toKey {
		i := max(s.index, 0)
		if i > 20 {
			return v
		}
		for len(list) <= i {
			list = append(list, newItem(list, at.then(s), fill))
		}
		list[i] = set(list[i], p[1:], value, at.then(s), fill)
		return list
	}
	if !isMap {
		object = map[string]any{}
	}
	k := s.key
	if s.kind == toAny {
		k = "example"
		if len(object) > 0 {
			k = slices.Sorted(maps.Keys(object))[0]
		}
	}
	object[k] = set(object[k], p[1:], value, at.then(step{key: k, kind: s.kind}), fill)
	return object
}

// newItem is a further item of a list: as the first, under another name.
func newItem(list []any, at path, fill filler) any {
	var item any
	if len(list) > 0 {
		item = runtime.DeepCopyJSONValue(list[0])
	} else {
		if parent, ok := fill(at[:len(at)-1]).([]any); ok && len(parent) > 0 {
			item = parent[0]
		}
	}
	if m, ok := item.(map[string]any); ok && len(list) > 0 {
		if name, ok := m["name"].(string); ok {
			m["name"] = name + "-" + strconv.Itoa(len(list)+1)
		}
	}
	return item
}

// remove returns v without what is at a path, of any step the whole list or map's values.
func remove(v any, p path) any {
	s := p[0]
	switch x := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			switch {
			case s.kind == toIndex || s.kind == toKey && k != s.key:
			case len(p) == 1:
				delete(x, k)
			default:
				x[k] = remove(x[k], p[1:])
			}
		}
	case []any:
		if s.kind == toKey {
			return x
		}
		for i := range x {
			if len(p) > 1 && (s.kind == toAny || s.index == i) {
				x[i] = remove(x[i], p[1:])
			}
		}
		switch {
		case len(p) > 1:
		case s.kind == toAny:
			return []any{}
		case s.index >= 0 && s.index < len(x):
			return slices.Delete(x, s.index, s.index+1)
		}
		return x
	}
	return v
}
