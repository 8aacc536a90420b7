package manifest

import (
	"errors"
	"io"
	"strconv"

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

// yamlLine is the line of the value at path, of its deepest part that exists. For a key, the line
// is the key's.
func yamlLine(n *yaml.Node, path []string) int {
	line := n.Line
	for _, part := range path {
		at, next := yamlChild(n, part, 0)
		if next == nil {
			break
		}
		line, n = at, next
	}
	return line
}

// yamlChild finds the entry of a collection, looking through aliases and merge keys; hops bounds
// the latter.
func yamlChild(n *yaml.Node, key string, hops int) (line int, child *yaml.Node) {
	for ; n.Kind == yaml.AliasNode; n = n.Alias {
	}
	if n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(n.Content) {
			return n.Content[i].Line, n.Content[i]
		}
		return 0, nil
	}
	if n.Kind != yaml.MappingNode || hops > maxDepth {
		return 0, nil
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		name, value := n.Content[i], n.Content[i+1]
		if isMerge(name) {
			sources := []*yaml.Node{value}
			if value.Kind == yaml.SequenceNode {
				sources = value.Content
			}
			for _, source := range sources {
				if line, child := yamlChild(source, key, hops+1); child != nil {
					return line, child
				}
			}
			continue
		}
		if text, err := (&converter{}).key(name); err == nil && text == key {
			return name.Line, value
		}
	}
	return 0, nil
}
