package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parse fills profile from YAML, strictly: one document, each key known and given once, each value
// of its field's type, no anchors and aliases. It notes the line of each field.
func parse(p *problems, data []byte, profile *Profile) {
	if len(data) > maxSize {
		p.addAt(0, "", "the file is larger than %d bytes: this is no profile", maxSize)
		return
	}
	if line := invalidLine(data); line > 0 {
		p.addAt(line, "", "invalid UTF-8: save the file as UTF-8")
		return
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			p.addAt(1, "", "the file is empty: start with tier: ground or tier: flight")
			return
		}
		p.syntax(err)
		return
	}
	var second yaml.Node
	if err := d.Decode(&second); err == nil {
		p.addAt(second.Line, "", "a second document: put each profile into a file of its own")
		return
	} else if !errors.Is(err, io.EOF) {
		p.syntax(err)
		return
	}
	p.lines[""] = doc.Content[0].Line
	p.decode(doc.Content[0], "", reflect.ValueOf(profile).Elem())
}

// yamlLine is how go.yaml.in/yaml/v3 (yaml.go, handleErr and parserc.go) tells the line.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

func (p *problems) syntax(err error) {
	line, text := 0, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = err.Error()[len(m[0]):]
	}
	p.addAt(line, "", "not YAML: %s", text)
}

func invalidLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			return line
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return 0
}

// decode puts a node's value into v, which is a struct, a map, a slice, a string, a bool or an int.
func (p *problems) decode(n *yaml.Node, field string, v reflect.Value) {
	switch {
	case n.Kind == yaml.AliasNode:
		p.add(field, "is an alias: write the value out")
		return
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		p.add(field, "has no value: give it one or remove the key")
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		p.decodeStruct(n, field, v)
	case reflect.Map:
		p.decodeMap(n, field, v)
	case reflect.Slice:
		p.decodeSlice(n, field, v)
	default:
		p.decodeScalar(n, field, v)
	}
}

func (p *problems) decodeScalar(n *yaml.Node, field string, v reflect.Value) {
	tag := n.ShortTag()
	switch {
	case v.Kind() == reflect.String && n.Kind == yaml.ScalarNode && tag == "!!str":
		v.SetString(n.Value)
	case v.Kind() == reflect.Bool && tag == "!!bool":
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case v.Kind() == reflect.Int && tag == "!!int":
		i, err := strconv.Atoi(n.Value)
		if err != nil {
			p.add(field, "is %q: write it as a decimal number", n.Value)
			return
		}
		v.SetInt(int64(i))
	case v.Kind() == reflect.String && n.Kind == yaml.ScalarNode:
		p.add(field, "is %s and not a string: put it in quotes", describe(n))
	default:
		p.add(field, "is %s: expected %s", describe(n), want(v.Kind()))
	}
}

func (p *problems) decodeSlice(n *yaml.Node, field string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		p.add(field, "is %s: expected a list", describe(n))
		return
	}
	if len(n.Content) == 0 {
		return // an empty list is no list, so that both have the same hash
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		path := fmt.Sprintf("%s[%d]", field, i)
		p.lines[path] = item.Line
		p.decode(item, path, list.Index(i))
	}
	v.Set(list)
}

func (p *problems) decodeMap(n *yaml.Node, field string, v reflect.Value) {
	m := reflect.MakeMap(v.Type())
	for key, value := range p.entries(n, field) {
		item := reflect.New(v.Type().Elem()).Elem()
		p.decode(value, join(field, key), item)
		m.SetMapIndex(reflect.ValueOf(key), item)
	}
	v.Set(m)
}

func (p *problems) decodeStruct(n *yaml.Node, field string, v reflect.Value) {
	known := map[string]int{}
	var names []string
	for i := range v.NumField() {
		if name := jsonName(v.Type().Field(i)); name != "" {
			known[name] = i
			names = append(names, name)
		}
	}
	for key, value := range p.entries(n, field) {
		i, ok := known[key]
		if !ok {
			p.add(join(field, key), "is not a field of a profile: expected one of %s", strings.Join(names, ", "))
			continue
		}
		p.decode(value, join(field, key), v.Field(i))
	}
}

// entries yields the keys and values of a mapping and notes the lines of the keys; a key that is
// given twice is yielded once.
func (p *problems) entries(n *yaml.Node, field string) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
			p.add(field, "is %s: expected a mapping", describe(n))
			return
		}
		first := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			switch tag := key.ShortTag(); {
			case tag == "!!merge":
				p.addAt(key.Line, field, "has a merge key <<: write the values out")
				continue
			case key.Kind != yaml.ScalarNode || tag != "!!str":
				p.addAt(key.Line, field, "has %s as a key: expected a name", describe(key))
				continue
			case first[key.Value] > 0:
				p.addAt(key.Line, join(field, key.Value), "is given a second time, first in line %d: remove one", first[key.Value])
				continue
			}
			first[key.Value] = key.Line
			p.lines[join(field, key.Value)] = key.Line
			if !yield(key.Value, value) {
				return
			}
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.TrimPrefix(name, "-")
}

func join(field, key string) string {
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == '.' || r > '~' }) || len(key) > 60 {
		key = strconv.Quote(shorten(key))
	}
	if field == "" {
		return key
	}
	return field + "." + key
}

func want(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a number"
	}
	return "a string"
}

// describe says what a node is.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!str":
		return strconv.Quote(shorten(n.Value))
	case "!!int", "!!float":
		return "the number " + printable(n.Value)
	case "!!bool":
		return "the bool " + printable(n.Value)
	case "!!null":
		return "null"
	}
	return printable(n.ShortTag()) + " " + strconv.Quote(shorten(n.Value))
}

// printable is a short value without its quotes: a tag can make a number of any text, and an escape
// in a tag can be a newline, which would end the line of the message.
func printable(s string) string {
	quoted := strconv.Quote(shorten(s))
	return quoted[1 : len(quoted)-1]
}

// shorten cuts a value to what an error message can show.
func shorten(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
