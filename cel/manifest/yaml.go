package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// nodeError is a fault at a node's line.
type nodeError struct {
	line int // counted from 1 in the chunk
	msg  string
	hint string
}

func (e *nodeError) Error() string { return e.msg }

// parseYAML reads the one document in data. The node is nil if data holds none, as when there
// are only comments.
func parseYAML(data []byte) (node *yaml.Node, value any, err *nodeError) {
	if line := tooManyMarks(data); line > 0 {
		return nil, nil, &nodeError{line: line, hint: "split it into several documents",
			msg: fmt.Sprintf("a YAML document may hold %d of the characters , [ { : - ?, this one holds more", maxYAMLMarks)}
	}
	node, err = yamlTree(data)
	if err != nil || node == nil {
		return nil, nil, err
	}
	if loose := findLooseTag(data, node); loose != nil {
		return nil, nil, &nodeError{line: loose.Line, msg: "the tag ! without a name", hint: "quote the value instead"}
	}
	c := converter{open: map[*yaml.Node]bool{}}
	value, err = c.value(node)
	return node, value, err
}

// tooManyMarks is the line on which data passes maxYAMLMarks, or 0.
func tooManyMarks(data []byte) int {
	if len(data) <= maxYAMLMarks {
		return 0
	}
	marks := 0
	for i, c := range data {
		switch c {
		case ',', '[', '{', ':', '-', '?':
			if marks++; marks > maxYAMLMarks {
				return 1 + bytes.Count(data[:i], []byte{'\n'})
			}
		}
	}
	return 0
}

// yamlTree parses data, which must hold at most one document.
func yamlTree(data []byte) (node *yaml.Node, fault *nodeError) {
	// The parser is not under this package's control and its input is hostile: should it
	// panic, one document is lost and not the process.
	defer func() {
		if p := recover(); p != nil {
			node, fault = nil, &nodeError{line: 1, msg: fmt.Sprintf("the YAML parser gave up: %v", p)}
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxFault(err)
	}
	if len(doc.Content) != 1 {
		return nil, nil
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, &nodeError{line: more.Line, msg: "a second document begins without a line --- between them"}
	case !errors.Is(err, io.EOF):
		return nil, syntaxFault(err)
	}
	if root := doc.Content[0]; root.Kind != yaml.ScalarNode || root.Value != "" || root.Style != 0 || root.Anchor != "" {
		return root, nil
	}
	return nil, nil // nothing but a marker or comments
}

var yamlErrorLine = regexp.MustCompile(`^line (\d+): `)

// syntaxFault takes the line out of the parser's message.
func syntaxFault(err error) *nodeError {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	fault := &nodeError{line: 1, msg: msg}
	if m := yamlErrorLine.FindStringSubmatch(msg); m != nil {
		fault.line, _ = strconv.Atoi(m[1])
		fault.msg = msg[len(m[0]):]
	}
	fault.msg = "expected YAML or JSON: " + fault.msg
	switch {
	case strings.Contains(msg, "cannot start any token"), strings.Contains(msg, "found character that"):
		fault.hint = "indent with spaces, and quote text that begins with a tab, @ or %"
	case strings.Contains(msg, "mapping values are not allowed"):
		fault.hint = "quote text that holds ': '"
	case strings.Contains(msg, "did not find expected"):
		fault.hint = "check the indentation and the quotes above"
	case strings.Contains(msg, "unknown anchor"):
		fault.hint = "an anchor holds in its own document only"
	}
	return fault
}

// place is a line and a column, both counted from 1, the column in characters.
type place struct{ line, column int }

// findLooseTag finds a plain scalar behind a tag "!", which makes it text in YAML and to kubectl
// and which yaml/v3 does not report.
func findLooseTag(data []byte, root *yaml.Node) *yaml.Node {
	tags := looseTags(data)
	if len(tags) == 0 {
		return nil
	}
	var find func(n *yaml.Node) *yaml.Node
	find = func(n *yaml.Node) *yaml.Node {
		if n.Kind == yaml.ScalarNode && n.Style == 0 && tags[place{n.Line, n.Column}] {
			return n
		}
		for _, child := range n.Content {
			if found := find(child); found != nil {
				return found
			}
		}
		return nil
	}
	return find(root)
}

// looseTags are the places of exclamation marks with white space behind them.
func looseTags(data []byte) map[place]bool {
	if !bytes.Contains(data, []byte{'!'}) {
		return nil
	}
	tags := map[place]bool{}
	at := place{1, 1}
	for i, c := range string(data) {
		switch {
		case c == '\n':
			at = place{at.line + 1, 1}
			continue
		case c == '!' && (i+1 == len(data) || strings.IndexByte(" \t\r\n", data[i+1]) >= 0):
			tags[at] = true
		}
		at.column++
	}
	return tags
}

// converter turns nodes into JSON-form values. Aliases become copies, so that no two parts of an
// object share memory; what they expand to is counted.
type converter struct {
	nodes   int
	aliased int // of them, those within aliases
	within  int // aliases being expanded
	depth   int
	open    map[*yaml.Node]bool // anchored collections being converted
}

func fault(n *yaml.Node, hint, format string, args ...any) *nodeError {
	return &nodeError{line: n.Line, msg: fmt.Sprintf(format, args...), hint: hint}
}

// count takes note of a value to come.
func (c *converter) count(n *yaml.Node) *nodeError {
	if c.nodes++; c.nodes > maxNodes {
		return fault(n, "split it into several documents", "a document may hold %d values, this one holds more", maxNodes)
	}
	if c.within > 0 {
		if c.aliased++; c.aliased > maxAliased {
			return fault(n, "write out what they stand for", "aliases may expand to %d values, these expand to more", maxAliased)
		}
	}
	return nil
}

func (c *converter) value(n *yaml.Node) (any, *nodeError) {
	if err := c.count(n); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.AliasNode:
		c.within++
		defer func() { c.within-- }()
		return c.value(n.Alias)
	case yaml.ScalarNode:
		return c.scalar(n)
	case yaml.SequenceNode:
		return c.sequence(n)
	case yaml.MappingNode:
		object := make(map[string]any, len(n.Content)/2)
		if err := c.mapping(n, object); err != nil {
			return nil, err
		}
		return object, nil
	}
	return nil, fault(n, "", "a node of an unknown kind")
}

// enter and leave enclose the conversion of a collection.
func (c *converter) enter(n *yaml.Node) *nodeError {
	if c.depth++; c.depth > maxDepth {
		return fault(n, "", "values may be nested %d deep, these are deeper", maxDepth)
	}
	if n.Anchor != "" {
		if c.open[n] {
			return fault(n, "", "the anchor %q contains itself", clip(n.Anchor))
		}
		c.open[n] = true
	}
	return nil
}

func (c *converter) leave(n *yaml.Node) {
	c.depth--
	if n.Anchor != "" {
		delete(c.open, n)
	}
}

func (c *converter) sequence(n *yaml.Node) (any, *nodeError) {
	if err := c.enter(n); err != nil {
		return nil, err
	}
	defer c.leave(n)
	list := make([]any, len(n.Content))
	for i, item := range n.Content {
		var err *nodeError
		if list[i], err = c.value(item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// mapping puts n's entries into object. As in yaml/v2, entries act in their order: a merge key
// replaces what stands before it and is replaced by what follows.
func (c *converter) mapping(n *yaml.Node, object map[string]any) *nodeError {
	if err := c.enter(n); err != nil {
		return err
	}
	defer c.leave(n)
	var given map[string]bool // the keys that n itself holds, once object holds others as well
	if len(object) > 0 {
		given = map[string]bool{}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			if given == nil {
				given = make(map[string]bool, len(object))
				for k := range object {
					given[k] = true
				}
			}
			if err := c.merge(value, object); err != nil {
				return err
			}
			continue
		}
		name, err := c.key(key)
		if err != nil {
			return err
		}
		if _, dup := object[name]; dup && (given == nil || given[name]) {
			return fault(key, "remove one of them", "the key %q is given twice", clip(name))
		}
		if given != nil {
			given[name] = true
		}
		if object[name], err = c.value(value); err != nil {
			return err
		}
	}
	return nil
}

// isMerge tells a merge key, written << without quotes.
func isMerge(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!merge" && n.Value == "<<"
}

// merge puts the mapping behind a merge key, or the mappings of a list, into object. Of a list,
// earlier ones take precedence.
func (c *converter) merge(n *yaml.Node, object map[string]any) *nodeError {
	c.within++ // what is merged is written elsewhere
	defer func() { c.within-- }()
	sources := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		sources = n.Content
	}
	for i := len(sources) - 1; i >= 0; i-- {
		source := sources[i]
		if source.Kind == yaml.AliasNode {
			source = source.Alias
		}
		if source.Kind != yaml.MappingNode {
			return fault(n, "", "expected an object or a list of objects behind the merge key <<")
		}
		if err := c.count(n); err != nil {
			return err
		}
		if err := c.mapping(source, object); err != nil {
			return err
		}
	}
	return nil
}

// key is the text of a mapping's key.
func (c *converter) key(n *yaml.Node) (string, *nodeError) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", fault(n, "templates must be rendered first, and text with braces be quoted", "expected text as a key, found a list or an object")
	}
	v, err := scalar(n)
	if err != nil {
		return "", fault(n, "", "%v", err)
	}
	name, ok := keyText(v)
	if !ok {
		return "", fault(n, "quote the key", "expected text as a key, found %q", clip(n.Value))
	}
	return name, nil
}

func (c *converter) scalar(n *yaml.Node) (any, *nodeError) {
	v, err := scalar(n)
	if err != nil {
		return nil, fault(n, "", "%v", err)
	}
	switch v := v.(type) {
	case bigInt:
		return nil, fault(n, hintBigInt, "the integer %s does not fit in 64 bits", clip(string(v)))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fault(n, "quote it if text is meant", "%s is no number in JSON", clip(n.Value))
		}
		return jsonFloat(v), nil
	}
	return v, nil
}
