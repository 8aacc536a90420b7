package manifest

import (
	"bytes"
	"iter"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// documents yields what a chunk holds: one document, the items of a list, or nothing.
func (c chunk) documents(file string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		doc, value, err := c.document(file)
		if err != nil {
			yield(Document{}, err)
			return
		}
		if doc.node == nil && doc.json == nil {
			return
		}
		object, ok := value.(map[string]any)
		if !ok {
			yield(Document{}, doc.Errorf(nil, "expected an object, found %s", describe(value)).
				WithHint("a document is one Kubernetes object; several stand behind lines of ---, or in a List"))
			return
		}
		doc.Object = object
		doc.flatten(yield)
	}
}

// document is the chunk's document without its object, and its value; it has neither a node nor
// JSON text if the chunk holds nothing.
func (c chunk) document(file string) (Document, any, error) {
	doc := Document{File: file, Line: c.line}
	if c.isJSON {
		doc.json = c.data
		return doc, c.value, nil
	}
	if at := invalidUTF8(c.data); at >= 0 {
		line := c.line + bytes.Count(c.data[:at], []byte{'\n'})
		return doc, nil, &Error{File: file, Line: line, Msg: "text that is not valid UTF-8", Hint: "save the file as UTF-8"}
	}
	node, value, fault := parseYAML(c.data)
	if fault != nil {
		return doc, nil, &Error{File: file, Line: c.line - 1 + fault.line, Msg: fault.msg, Hint: fault.hint}
	}
	if node != nil {
		doc.node, doc.base = node, c.line-1
		doc.Line = doc.base + node.Line
	}
	return doc, value, nil
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}

// isList tells a list (kind List, or the kind of a typed list such as PodList) from an object
// whose kind happens to end so: a list has items and no name.
func (d Document) isList() bool {
	if !strings.HasSuffix(d.Kind(), "List") || d.APIVersion() == "" {
		return false
	}
	items, has := d.Object["items"]
	if d.Kind() == "List" && d.APIVersion() == "v1" {
		return true
	}
	_, list := items.([]any)
	return has && (list || items == nil) && d.Name() == ""
}

// flatten yields the document or, if it is a list, its items, and those of lists among them.
func (d Document) flatten(yield func(Document, error) bool) bool {
	if !d.isList() {
		return yield(d, nil)
	}
	items, ok := d.Object["items"].([]any)
	if !ok {
		if v := d.Object["items"]; v != nil {
			return yield(Document{}, d.Errorf([]string{"items"}, "expected a list, found %s", describe(v)))
		}
		return true
	}
	at := d.items()
	for i, value := range items {
		object, ok := value.(map[string]any)
		if !ok {
			err := d.Errorf([]string{"items", strconv.Itoa(i)}, "expected an object, found %s", describe(value))
			if !yield(Document{}, err) {
				return false
			}
			continue
		}
		item := at(i)
		item.Object = d.typed(object)
		if !item.flatten(yield) {
			return false
		}
	}
	return true
}

// typed gives an item of a typed list the type that the API server leaves out there.
func (d Document) typed(item map[string]any) map[string]any {
	kind := strings.TrimSuffix(d.Kind(), "List")
	if kind == "" || item["kind"] != nil && item["apiVersion"] != nil {
		return item
	}
	item = maps.Clone(item)
	if item["kind"] == nil {
		item["kind"] = kind
	}
	if item["apiVersion"] == nil {
		item["apiVersion"] = d.APIVersion()
	}
	return item
}

// items returns a function from an item's index to a document at the item's place. Indexes must
// be asked for in ascending order.
func (d Document) items() func(int) Document {
	if d.node != nil {
		_, list := yamlChild(d.node, "items", 0)
		return func(i int) Document {
			line, node := yamlChild(list, strconv.Itoa(i), 0)
			for ; node.Kind == yaml.AliasNode; node = node.Alias {
			}
			return Document{File: d.File, Line: d.base + line, node: node, base: d.base}
		}
	}
	p := jsonParser{data: d.json}
	p.find("items")
	p.space()
	p.take('[')
	next, counted, line := 0, 0, d.Line
	return func(i int) Document {
		for ; ; next++ {
			p.space()
			if next == i {
				break
			}
			_, _ = p.value() // the whole list has been read once
			p.space()
			p.take(',')
		}
		line += bytes.Count(d.json[counted:p.pos], []byte{'\n'})
		counted = p.pos
		return Document{File: d.File, Line: line, json: d.json[p.pos:]}
	}
}
