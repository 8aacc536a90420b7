package schema

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed prepare.txt
var prepareLines string

// creation is what the server's registry does to a new object of a kind.
type creation struct {
	drops *typeDrops // nil: nothing
	// generation is the first minor version that sets generation 1, 0 for never.
	generation int
	// status replaces the object's if reset is set; nil then means none.
	reset  bool
	status any
}

// typeDrops are the fields of one Go type of the API that a new object cannot have, because their
// feature gate is off by default.
type typeDrops struct {
	fields   []string
	nulls    []string // cannot be absent
	children []childDrops
}

type childDrops struct {
	name, shape string
	of          *typeDrops
}

// kindCreations parses the generated table once; a malformed line is a defect of this package.
var kindCreations = sync.OnceValue(parseCreations)

func parseCreations() map[schema.GroupVersionKind]creation {
	types := map[string]*typeDrops{}
	kinds := map[schema.GroupVersionKind]creation{}
	var current *typeDrops
	for line := range strings.Lines(prepareLines) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6)
		switch {
		case f[0] == "#":
		case f[0] == "type" && len(f) == 2:
			current = &typeDrops{}
			types[f[1]] = current
		case f[0] == "-" && len(f) == 2:
			current.fields = append(current.fields, f[1])
		case f[0] == "0" && len(f) == 2:
			current.nulls = append(current.nulls, f[1])
		case f[0] == ">" && len(f) == 4 && types[f[3]] != nil:
			current.children = append(current.children, childDrops{f[1], f[2], types[f[3]]})
		case f[0] == "kind" && len(f) == 6:
			gv, _ := schema.ParseGroupVersion(f[1])
			kinds[gv.WithKind(f[2])] = parseCreation(types[f[3]], f[4], f[5])
		default:
			panic("schema: malformed line in prepare.txt: " + line)
		}
	}
	return kinds
}

func parseCreation(drops *typeDrops, generation, status string) creation {
	c := creation{drops: drops}
	if generation != "-" {
		n, err := strconv.Atoi(generation)
		if err != nil {
			panic("schema: malformed generation in prepare.txt: " + generation)
		}
		c.generation = n
	}
	if status != "-" {
		c.reset = true
		c.status = parseValue(status)
	}
	return c
}

// apply makes the changes that do not depend on values.
func (c creation) apply(minor int, obj map[string]any) {
	if c.drops != nil {
		c.drops.apply(obj)
	}
	if c.generation > 0 && minor >= c.generation {
		setGeneration(obj)
	}
	switch {
	case c.reset && c.status == nil:
		delete(obj, "status")
	case c.reset:
		obj["status"] = runtime.DeepCopyJSONValue(c.status)
	}
}

func setGeneration(obj map[string]any) {
	meta, ok := obj["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	meta["generation"] = int64(1)
}

func (d *typeDrops) apply(obj map[string]any) {
	for _, f := range d.fields {
		delete(obj, f)
	}
	for _, f := range d.nulls {
		obj[f] = nil
	}
	for _, c := range d.children {
		forEachObject(obj[c.name], c.shape, c.of.apply)
	}
}

// forEachObject visits the objects that a field of that shape holds: "." and "*" the object
// itself, "[]" its elements, "{}" its values.
func forEachObject(v any, shape string, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if shape != "{}" {
			visit(v)
			return
		}
		for _, e := range v {
			if m, ok := e.(map[string]any); ok {
				visit(m)
			}
		}
	case []any:
		for _, e := range v {
			if m, ok := e.(map[string]any); ok {
				visit(m)
			}
		}
	}
}
