package manifest

import (
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// Part is the object at a path within the document as a document of its own, with its place.
// ok is false if there is no object there.
func (d Document) Part(path ...string) (part Document, ok bool) {
	var value any = d.Object
	node, data := d.node, d.json
	part = Document{File: d.File, Line: d.LineOf(path...), base: d.base}
	for _, key := range path {
		object, _ := value.(map[string]any)
		value = object[key]
		switch {
		case node != nil:
			_, node = yamlChild(node, key, 0)
		case data != nil:
			p := jsonParser{data: data}
			if _, found := p.find(key); found {
				data = data[p.pos:]
			}
		}
	}
	part.Object, ok = value.(map[string]any)
	if !ok {
		return Document{}, false
	}
	for ; node != nil && node.Kind == yaml.AliasNode; node = node.Alias {
	}
	part.node, part.json = node, data
	if data != nil {
		// A part's line is that of its key; positions within count from its bracket.
		part.Line = d.Line + jsonLinesBefore(d.json, data)
	}
	return part, true
}

// jsonLinesBefore counts the line breaks of whole before its suffix rest.
func jsonLinesBefore(whole, rest []byte) int {
	n := 0
	for _, c := range whole[:len(whole)-len(rest)] {
		if c == '\n' {
			n++
		}
	}
	return n
}

// Value reads the one document of r, which may be of any type; nil if there is none. It is for
// files that hold no Kubernetes objects.
func Value(name string, r io.Reader, limits Limits) (any, error) {
	limits.setDefaults()
	s := newSplitter(name, r, limits)
	var value any
	for found := false; ; found = true {
		c, err := s.next()
		if errors.Is(err, io.EOF) {
			return value, nil
		}
		var stop end
		if errors.As(err, &stop) {
			return nil, stop.error
		}
		if err != nil {
			return nil, err
		}
		if found {
			return nil, &Error{File: name, Line: c.line, Msg: "a second document, expected one in this file"}
		}
		if _, value, err = c.document(name); err != nil {
			return nil, err
		}
	}
}
