package manifest

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Document is one object of an input. The zero Document is one that came from no file.
type Document struct {
	// File is the path as it was given or found in a folder, "stdin" for "-".
	File string
	// Line is that of the object's first key, counted from 1.
	Line int
	// Object is never nil in a Document that Read yields.
	Object map[string]any

	node     *yaml.Node // of a YAML document
	base     int        // line of the chunk's first line, less one
	json     []byte     // of a JSON document, with Line being that of its first byte
	inFolder bool       // its file was found in a folder, nobody named it
}

// APIVersion is the object's apiVersion, empty if it has none.
func (d Document) APIVersion() string { s, _ := d.Object["apiVersion"].(string); return s }

// Kind is the object's kind, empty if it has none.
func (d Document) Kind() string { s, _ := d.Object["kind"].(string); return s }

// GroupVersionKind is the object's type; what it does not say or says wrongly is empty.
func (d Document) GroupVersionKind() schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(d.APIVersion())
	if err != nil {
		return schema.GroupVersionKind{Kind: d.Kind()}
	}
	return gv.WithKind(d.Kind())
}

// Name is metadata.name, empty if there is none.
func (d Document) Name() string { return d.metadata("name") }

// Namespace is metadata.namespace, empty if there is none.
func (d Document) Namespace() string { return d.metadata("namespace") }

func (d Document) metadata(key string) string {
	m, _ := d.Object["metadata"].(map[string]any)
	s, _ := m[key].(string)
	return s
}

// String names the document's place: file and line.
func (d Document) String() string {
	if d.Line == 0 {
		return d.File
	}
	return d.File + ":" + strconv.Itoa(d.Line)
}

// LineOf is the line of the field at path, whose parts are keys and indexes:
// d.LineOf("spec", "validations", "0"). If the document does not hold the whole path, it is the
// line of the deepest part that it holds.
func (d Document) LineOf(path ...string) int {
	switch {
	case d.node != nil:
		return d.base + yamlLine(d.node, path)
	case d.json != nil:
		return d.Line + jsonLine(d.json, path)
	}
	return d.Line
}

// Errorf is an error about the field at path; no path is the document itself.
func (d Document) Errorf(path []string, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{File: d.File, Line: d.LineOf(path...), Field: FieldPath(path...), Msg: err.Error(), Err: err}
}

// WithHint returns e with a hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// missingType says what a document lacks to be a Kubernetes object, or returns nil.
func (d Document) missingType() *Error {
	var missing []string
	for _, key := range []string{"apiVersion", "kind"} {
		switch v := d.Object[key].(type) {
		case nil:
			missing = append(missing, key)
		case string:
			if v == "" {
				missing = append(missing, key)
			}
		default:
			return d.Errorf([]string{key}, "expected text, found %s", describe(v))
		}
	}
	if missing != nil {
		return d.Errorf(nil, "expected a Kubernetes object, found one without %s", strings.Join(missing, " and ")).
			WithHint("give manifest files only; values of a chart are no manifest")
	}
	if _, err := schema.ParseGroupVersion(d.APIVersion()); err != nil {
		return d.Errorf([]string{"apiVersion"}, "expected a version or group/version, found %q", d.APIVersion())
	}
	return nil
}

const hintBoolean = "YAML reads y, n, yes, no, on and off as booleans: quote the text"

// CheckMetadata tells whether what identifies the object is text: names that YAML reads as a
// boolean or a number are a common mistake, which the server refuses as well.
func (d Document) CheckMetadata() error {
	m, ok := d.Object["metadata"].(map[string]any)
	if v := d.Object["metadata"]; !ok && v != nil {
		return d.Errorf([]string{"metadata"}, "expected an object, found %s", describe(v))
	}
	for _, key := range []string{"name", "namespace", "generateName"} {
		switch v := m[key].(type) {
		case nil, string:
		case bool:
			return d.Errorf([]string{"metadata", key}, "expected text, found a boolean").WithHint(hintBoolean)
		default:
			return d.Errorf([]string{"metadata", key}, "expected text, found %s", describe(v)).WithHint("quote it")
		}
	}
	return nil
}

// describe names the JSON type of a value for messages.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return fmt.Sprintf("%T", v)
	}
}
