package schema

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

//go:embed defaults.txt
var defaultLines string

// typeDefaults is what API defaulting fills in one Go type of the API, wherever its parent is
// present.
type typeDefaults struct {
	fields   []fieldDefault
	children []childDefaults
}

type fieldDefault struct {
	name  string
	value any
	// zero: the field cannot be absent, so its zero value counts as unset.
	zero bool
	// since is the first minor version that fills it, 0 for all.
	since int
}

type childDefaults struct {
	name  string
	shape string // "." struct that is always there, "*" pointer, "[]" list, "{}" map
	of    *typeDefaults
}

// kindDefaults parses the generated table once; a malformed line is a defect of this package.
var kindDefaults = sync.OnceValue(parseDefaults)

func parseDefaults() map[schema.GroupVersionKind]*typeDefaults {
	types := map[string]*typeDefaults{}
	kinds := map[schema.GroupVersionKind]*typeDefaults{}
	var current *typeDefaults
	for line := range strings.Lines(defaultLines) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		switch {
		case line[0] == '#':
		case f[0] == "type" && len(f) == 2:
			current = &typeDefaults{}
			types[f[1]] = current
		case f[0] == ">" && len(f) == 4 && types[f[3]] != nil:
			current.children = append(current.children, childDefaults{f[1], f[2], types[f[3]]})
		case f[0] == "kind" && len(f) == 4 && types[f[3]] != nil:
			gv, _ := schema.ParseGroupVersion(f[1])
			kinds[gv.WithKind(f[2])] = types[f[3]]
		case line[0] == '=' || line[0] == '0':
			current.fields = append(current.fields, parseDefault(line))
		default:
			panic("schema: malformed line in defaults.txt: " + line)
		}
	}
	return kinds
}

func parseDefault(line string) fieldDefault {
	f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
	if len(f) != 3 {
		panic("schema: malformed line in defaults.txt: " + line)
	}
	d := fieldDefault{name: f[1], zero: f[0][0] == '0'}
	if s := f[0][1:]; s != "" {
		since, err := strconv.Atoi(s)
		if err != nil {
			panic("schema: malformed line in defaults.txt: " + line)
		}
		d.since = since
	}
	d.value = parseValue(f[2])
	return d
}

// parseValue reads JSON, scalars on a short cut: the tables are read at every start.
func parseValue(text string) (v any) {
	switch text[0] {
	case '"':
		if !strings.Contains(text, "\\") {
			return text[1 : len(text)-1]
		}
	case 't', 'f':
		return text == "true"
	case '{', '[', 'n':
	default:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	if err := utiljson.Unmarshal([]byte(text), &v); err != nil {
		panic(fmt.Sprintf("schema: malformed value in a table: %s: %v", text, err))
	}
	return v
}

// apply fills an object of the type. Values of another form than the type's are passed over.
func (d *typeDefaults) apply(minor int, obj map[string]any) {
	for _, f := range d.fields {
		if minor < f.since {
			continue
		}
		if v, ok := obj[f.name]; !ok || v == nil || f.zero && isZero(v) {
			obj[f.name] = runtime.DeepCopyJSONValue(f.value)
		}
	}
	for _, c := range d.children {
		v, ok := obj[c.name]
		if (!ok || v == nil) && c.shape == "." {
			v = map[string]any{}
			obj[c.name] = v
		}
		forEachObject(v, c.shape, func(o map[string]any) { c.of.apply(minor, o) })
	}
}

// isZero tells whether a scalar is the zero value of its Go type.
func isZero(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case int64:
		return v == 0
	case float64:
		return v == 0
	case bool:
		return !v
	}
	return false
}
