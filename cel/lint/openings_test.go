package lint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hangar.io/holdshort/cel/schema"
)

// opening is one thing that a shape leaves open of a value: that a field can be absent, or there, that a
// value can be null, empty, of one of several kinds, or text in no format. An expression depends on it and
// on nothing else.
type opening struct {
	path  []hop
	owner string // the type that has the field, or where the value stands
	what  string // absent, there, empty, format, or the name of a type of CEL
	text  string // the expression, which fails where the value is so
}

// hop is one step from a value to one that it holds.
type hop struct {
	name  string // of a field
	items bool   // to an item of a list, or a value of a map
}

func (o opening) String() string { return o.owner + "." + hops(o.path) + " " + o.what }

// key is what openings of one field of a type have in common.
func (o opening) key() string {
	last := len(o.path) - 1
	for last > 0 && o.path[last].items {
		last--
	}
	return o.owner + "." + hops(o.path[max(last, 0):]) + " " + o.what
}

func hops(path []hop) string {
	var words []string
	for _, s := range path {
		if s.items {
			words = append(words, "[]")
			continue
		}
		words = append(words, s.name)
	}
	return strings.Join(words, ".")
}

// openings finds what the shape of a variable leaves open, in a fixed order.
func openings(variable string, s *schema.Shape) []opening {
	w := &finder{}
	w.record(s, nil, variable, func(x string) string { return x }, nil)
	return w.found
}

// finder goes through a shape. On its way text is an expression for a value, and within puts an expression
// about it behind guards for all that could fail before.
type finder struct {
	found     []opening
	variables int
}

var identifiers = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// words that CEL reserves.
var reserved = []string{"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop", "null", "package", "namespace", "return", "true", "var", "void", "while"}

func (w *finder) record(s *schema.Shape, at []hop, text string, within func(string) string, types []string) {
	const deepest = 16
	if slices.Contains(types, s.Name) || len(at) > deepest || s.Elem() != nil {
		return
	}
	owner := s.Name
	if owner == "" {
		owner = hops(at)
	} else {
		types = append(slices.Clone(types), owner)
	}
	for _, name := range s.Fields() {
		f, _ := s.Field(name)
		read, has := text+"."+name, "has("+text+"."+name+")"
		if !identifiers.MatchString(name) || slices.Contains(reserved, name) {
			read, has = text+"['"+name+"']", "'"+name+"' in "+text
		}
		path := append(slices.Clone(at), hop{name: name})
		inner := within
		if !f.Always {
			w.add(path, owner, "absent", within("["+read+"] != []"))
			inner = func(x string) string { return within(has + " ? (" + x + ") : true") }
			if !s.Dynamic {
				w.add(path, owner, "there", inner("10 / (["+read+"].size() - 1) > 0"))
			}
		}
		w.value(f.Shape, path, owner, read, inner, types)
	}
}

func (w *finder) add(path []hop, owner, what, text string) {
	w.found = append(w.found, opening{path, owner, what, text})
}

// celTypes are the types of JSON.
var celTypes = []struct {
	kind schema.Kinds
	name string
}{{schema.Null, "null_type"}, {schema.Bool, "bool"}, {schema.Int, "int"}, {schema.Double, "double"}, {schema.String, "string"}, {schema.List, "list"}, {schema.Map, "map"}}

func (w *finder) value(s *schema.Shape, path []hop, owner, text string, within func(string) string, types []string) {
	if s.Dynamic {
		return
	}
	several := s.Kinds&(s.Kinds-1) != 0
	for _, t := range celTypes {
		if s.Kinds&t.kind == 0 {
			continue
		}
		inner := within
		if several {
			// No value has a field of this name.
			inner = func(x string) string { return within("type(" + text + ") == " + t.name + " ? (" + x + ") : true") }
			w.add(path, owner, t.name, inner(text+".noSuchField != 1"))
		}
		if t.kind&(schema.List|schema.Map|schema.String) != 0 && !s.NonEmpty && !anyAlways(s) {
			w.add(path, owner, "empty", inner("10 / size("+text+") > 0"))
		}
		if t.kind == schema.String && s.Text == schema.AnyText && ofObject(path) != "kind" && ofObject(path) != "apiVersion" {
			w.add(path, owner, "format", inner("timestamp("+text+") != timestamp('2020-01-01T00:00:00Z')"))
		}
		w.variables++
		v := fmt.Sprint("v", w.variables)
		next := append(slices.Clone(path), hop{items: true})
		switch {
		case t.kind == schema.List && s.Elem() != nil:
			w.value(s.Elem(), next, owner, v, func(x string) string { return inner(text + ".all(" + v + ", " + x + ")") }, types)
		case t.kind == schema.Map && s.Elem() != nil && len(s.Fields()) == 0:
			w.value(s.Elem(), next, owner, text+"["+v+"]", func(x string) string { return inner(text + ".all(" + v + ", " + x + ")") }, types)
		case t.kind == schema.Map:
			w.record(s, path, text, inner, types)
		}
	}
}

// ofObject is the name of a field of an object itself, "" for others.
func ofObject(path []hop) string {
	if len(path) != 1 {
		return ""
	}
	return path[0].name
}

// anyAlways tells whether a map has a key that is always there, so that it is never empty.
func anyAlways(s *schema.Shape) bool {
	return slices.ContainsFunc(s.Fields(), func(name string) bool { f, _ := s.Field(name); return f.Always })
}

// claimed is a shape that does not leave one thing open.
func claimed(s *schema.Shape, path []hop, what string) *schema.Shape {
	if len(path) == 0 {
		c := *s
		for _, t := range celTypes {
			if t.name == what {
				c.Kinds &^= t.kind
			}
		}
		c.NonEmpty = c.NonEmpty || what == "empty"
		if what == "format" {
			c.Text = schema.TimeText
		}
		return &c
	}
	var c *schema.Shape
	if path[0].items {
		c = schema.ListOf(claimed(s.Elem(), path[1:], what))
	} else {
		fields := map[string]schema.Field{}
		for _, name := range s.Fields() {
			fields[name], _ = s.Field(name)
		}
		f := fields[path[0].name]
		if len(path) == 1 && what == "absent" {
			f.Always = true
		} else {
			f.Shape = claimed(f.Shape, path[1:], what)
		}
		fields[path[0].name] = f
		if len(path) == 1 && what == "there" {
			delete(fields, path[0].name)
		}
		c = schema.RecordOf(fields)
	}
	c.Name, c.Kinds, c.NonEmpty, c.Min, c.Max, c.Text, c.Dynamic = s.Name, s.Kinds, s.NonEmpty, s.Min, s.Max, s.Text, s.Dynamic
	return c
}

// with is a value in which what an opening says is so: v, or the least value of the shape, with what the
// path needs to be there. If it is to be full, all else that the values on the path can hold is there too.
func with(v any, s *schema.Shape, path []hop, what string, full bool) any {
	if len(path) == 0 {
		if full && what == "null_type" && strings.HasSuffix(s.Name, "Time") {
			return "0001-01-01T00:00:00.000000Z" // is written as null
		}
		switch what {
		case "there":
			return sample(s, "full")
		case "format":
			if strings.HasSuffix(s.Name, "Time") {
				return "0000-01-01T00:00:00.000000Z"
			}
			return sample(s, "string")
		}
		return sample(s, what)
	}
	if v == nil {
		v = sample(s, "")
	}
	if path[0].items {
		switch x := v.(type) {
		case []any:
			if len(x) == 0 {
				x = []any{nil}
			}
			x[0] = with(x[0], s.Elem(), path[1:], what, full)
			return x
		case map[string]any:
			keys := append(slices.Sorted(maps.Keys(x)), "a")
			x[keys[0]] = with(x[keys[0]], s.Elem(), path[1:], what, full)
			return x
		}
		return v
	}
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for _, name := range s.Fields() {
		if _, has := m[name]; full && !has && name != "metadata" && s.Elem() == nil {
			f, _ := s.Field(name)
			m[name] = sample(f.Shape, "full")
		}
	}
	if len(path) == 1 && what == "absent" {
		delete(m, path[0].name)
		return m
	}
	f, _ := s.Field(path[0].name)
	m[path[0].name] = with(m[path[0].name], f.Shape, path[1:], what, full)
	return m
}

// sample is a value of a shape: empty, of a type, or any that is not null; full text is not empty.
func sample(s *schema.Shape, what string) any {
	texts := map[schema.Text]string{schema.TimeText: "2026-01-02T03:04:05.000000Z", schema.DurationText: "1h", schema.QuantityText: "1", schema.Base64Text: "YQ=="}
	for _, t := range celTypes {
		named := what == t.name
		if s.Kinds&t.kind == 0 || !named && (t.kind == schema.Null || what != "" && what != "empty" && what != "full") || what == "empty" && t.kind&(schema.List|schema.Map|schema.String) == 0 {
			continue
		}
		switch t.kind {
		case schema.Bool:
			return true
		case schema.Int:
			return min(s.Max, 1)
		case schema.Double:
			return 1.5
		case schema.String:
			switch text := texts[s.Text]; {
			case what == "empty":
				return ""
			case text != "":
				return text
			case strings.HasSuffix(s.Name, "Time"):
				return texts[schema.TimeText]
			case what == "" && !s.NonEmpty:
				return ""
			}
			return "a"
		case schema.List:
			if what != "empty" && s.NonEmpty && s.Elem() != nil {
				return []any{sample(s.Elem(), "")}
			}
			return []any{}
		case schema.Map:
			m := map[string]any{}
			for _, name := range s.Fields() {
				if f, _ := s.Field(name); f.Always {
					m[name] = sample(f.Shape, "")
				}
			}
			if s.NonEmpty && len(m) == 0 && s.Elem() != nil {
				m["a"] = sample(s.Elem(), "")
			}
			return m
		}
	}
	return nil
}
