package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Insertion is text that is added to a text value before the character At of it.
type Insertion struct {
	At   int
	Text string
}

// Edit is additions to one text value of a document, in the order of their places.
type Edit struct {
	Document   Document
	Path       []string
	Insertions []Insertion
}

// Apply makes edits in the text of the file that their documents were read from. Only the bytes of the
// values change: comments, quotes, line breaks and the style of blocks stay. Where a plain YAML
// scalar cannot hold the new text, it gets quotes.
//
// What Apply returns has been read again: its documents differ from those of data by the edits alone.
// An edit for which that cannot be done is an error, an *Error with its place, and then nothing is
// edited: a value that an anchor shares, or one that is written with tags.
func Apply(data []byte, edits []Edit) ([]byte, error) {
	var splices []splice
	for _, e := range edits {
		s, err := e.splices(data)
		if err != nil {
			return nil, err
		}
		splices = append(splices, s...)
	}
	out := apply(data, splices)
	if !reflect.DeepEqual(edited(data, edits), objects(out)) {
		return nil, edits[0].refuse("the texts cannot be changed together")
	}
	return out, nil
}

// splices finds how the edit can be written.
func (e Edit) splices(data []byte) ([]splice, error) {
	want := edited(data, []Edit{e})
	s, err := e.inserted(data)
	if err != nil || reflect.DeepEqual(want, objects(apply(data, s))) {
		return s, err
	}
	// A plain scalar means something else with what was added: ': ' or a leading '!'.
	if s, err = e.quoted(data); err != nil || reflect.DeepEqual(want, objects(apply(data, s))) {
		return s, err
	}
	return nil, e.refuse("the text cannot be changed where it is written")
}

func (e Edit) refuse(why string) *Error {
	return e.Document.Errorf(e.Path, "%s", why).WithHint("change it by hand")
}

// splice is text that takes the place of bytes.
type splice struct {
	start, end int
	text       string
}

func apply(data []byte, splices []splice) []byte {
	sorted := slices.Clone(splices)
	slices.SortStableFunc(sorted, func(a, b splice) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	last := 0
	for _, s := range sorted {
		out = append(append(out, data[last:s.start]...), s.text...)
		last = s.end
	}
	return append(out, data[last:]...)
}

// objects are those of a file, an error among them as its text.
func objects(data []byte) []any {
	var all []any
	for doc, err := range Parse("", bytes.NewReader(data), Limits{}) {
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		all = append(all, doc.Object)
	}
	return all
}

// edited are the objects of a file with the edits made in them.
func edited(data []byte, edits []Edit) []any {
	var all []any
	for doc, err := range Parse("", bytes.NewReader(data), Limits{}) {
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		for _, e := range edits {
			if e.Document.Line == doc.Line && e.Document.Name() == doc.Name() && e.Document.Kind() == doc.Kind() {
				e.set(doc.Object)
			}
		}
		all = append(all, doc.Object)
	}
	return all
}

// set makes the edit in an object.
func (e Edit) set(object map[string]any) {
	var at any = object
	for _, key := range e.Path[:len(e.Path)-1] {
		at = child(at, key)
	}
	last := e.Path[len(e.Path)-1]
	if m, ok := at.(map[string]any); ok {
		if text, ok := m[last].(string); ok {
			m[last] = e.after(text)
		}
	}
}

func child(of any, key string) any {
	switch of := of.(type) {
	case map[string]any:
		return of[key]
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(of) {
			return of[i]
		}
	}
	return nil
}

func (e Edit) after(text string) string {
	runes := []rune(text)
	var b strings.Builder
	last := 0
	for _, i := range e.Insertions {
		b.WriteString(string(runes[last:i.At]) + i.Text)
		last = i.At
	}
	return b.String() + string(runes[last:])
}

// before is the value that the edit changes.
func (e Edit) before() (string, bool) {
	var at any = e.Document.Object
	for _, key := range e.Path {
		at = child(at, key)
	}
	text, ok := at.(string)
	return text, ok
}

// inserted is the edit as bytes that are added.
func (e Edit) inserted(data []byte) ([]splice, error) {
	w, err := e.written(data)
	if err != nil {
		return nil, err
	}
	var out []splice
	for _, i := range e.Insertions {
		at := w.at[i.At]
		out = append(out, splice{at, at, w.escape(i.Text)})
	}
	return out, nil
}

// quoted is the edit with quotes around a plain value.
func (e Edit) quoted(data []byte) ([]splice, error) {
	w, err := e.written(data)
	if err != nil || !w.plain {
		return nil, cmp.Or[error](err, e.refuse("the text cannot be changed where it is written"))
	}
	before, _ := e.before()
	text := e.after(before)
	quote := `"`
	if strings.ContainsAny(text, `"\`) {
		quote = "'"
		text = strings.ReplaceAll(text, "'", "''")
	}
	if strings.Contains(text, "\n") {
		return nil, e.refuse("the text of several lines cannot be changed where it is written")
	}
	return []splice{{w.at[0], w.at[len(w.at)-1], quote + text + quote}}, nil
}

// written is a text value as a file holds it: for each of its characters, and its end, the byte where
// it is written.
type written struct {
	at     []int
	escape func(string) string
	plain  bool
}

func (e Edit) written(data []byte) (written, error) {
	want, ok := e.before()
	if !ok {
		return written{}, e.refuse("there is no text")
	}
	var text []rune
	var w written
	var err error
	if e.Document.json != nil {
		text, w, err = e.writtenJSON(data)
	} else {
		text, w, err = e.writtenYAML(data)
	}
	if err != nil {
		return written{}, err
	}
	if string(text) != want || len(w.at) != len(text)+1 {
		return written{}, e.refuse("the text is written in a form that cannot be changed in place")
	}
	return w, nil
}

func (e Edit) writtenJSON(data []byte) ([]rune, written, error) {
	d := e.Document
	from := lineStart(data, d.Line)
	offset := bytes.Index(data[from:], d.json)
	if offset < 0 {
		return nil, written{}, e.refuse("the file is not the one that was read")
	}
	p := jsonParser{data: d.json}
	for _, key := range e.Path {
		if _, ok := p.find(key); !ok {
			return nil, written{}, e.refuse("there is no text")
		}
	}
	text, at := scanQuoted(data, from+offset+p.pos, jsonEscapes)
	return text, written{at: at, escape: escapeDouble}, nil
}

// lineStart is the byte that a line begins at, counted from 1.
func lineStart(data []byte, line int) int {
	at := 0
	for range line - 1 {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return len(data)
		}
		at += n + 1
	}
	return at
}

// scalarNode is the node of the value, if nothing else of the file shares it.
func (e Edit) scalarNode() (*yaml.Node, error) {
	n := e.Document.node
	for _, key := range append([]string{""}, e.Path...) {
		if key != "" {
			_, n = ownChild(n, key)
		}
		switch {
		case n == nil, n.Kind == yaml.AliasNode:
			return nil, e.refuse("the text comes from an anchor elsewhere, which other values may share")
		case n.Anchor != "":
			return nil, e.refuse(fmt.Sprintf("the anchor &%s makes the text one that other values may share", n.Anchor))
		}
	}
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 {
		return nil, e.refuse("the text has a tag")
	}
	return n, nil
}

// ownChild is yamlChild without what merge keys bring.
func ownChild(n *yaml.Node, key string) (line int, found *yaml.Node) {
	line, found = yamlChild(n, key, 0)
	if n.Kind != yaml.SequenceNode && !slices.Contains(n.Content, found) {
		return 0, nil
	}
	return line, found
}

func (e Edit) writtenYAML(data []byte) ([]rune, written, error) {
	n, err := e.scalarNode()
	if err != nil {
		return nil, written{}, err
	}
	start := lineStart(data, e.Document.base+n.Line)
	for range n.Column - 1 { // columns count characters
		start += runeLength(data[start:])
	}
	switch n.Style &^ yaml.FlowStyle {
	case yaml.LiteralStyle, yaml.FoldedStyle:
		text, at := scanBlock(data, start, n.Style&yaml.FoldedStyle != 0)
		return text, written{at: at, escape: func(s string) string { return s }}, nil
	case yaml.SingleQuotedStyle:
		text, at := scanQuoted(data, start, nil)
		return text, written{at: at, escape: func(s string) string { return strings.ReplaceAll(s, "'", "''") }}, nil
	case yaml.DoubleQuotedStyle:
		text, at := scanQuoted(data, start, yamlEscapes)
		return text, written{at: at, escape: escapeDouble}, nil
	}
	text, at := scanPlain(data, start, n.Value)
	return text, written{at: at, escape: func(s string) string { return s }, plain: true}, nil
}

func escapeDouble(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}
