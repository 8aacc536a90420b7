// Package manifest reads Kubernetes objects from files, folders and streams: YAML with any number
// of documents, JSON, JSON lines, and lists, whose items become documents of their own.
//
// What is read may be hostile. Size, depth, alias expansion and counts are bounded (see Limits),
// nothing in a file makes the package open another file or a connection, and an input that two
// readers could understand differently (a repeated key, bytes that are not UTF-8, an integer
// beyond 64 bits) is refused with its file and line.
//
// Values mean what they mean to kubectl, which reads YAML through sigs.k8s.io/yaml: `yes`, `on`
// and `y` are booleans, 010 is eight, timestamps stay strings, merge keys are expanded. Objects
// are in JSON form: int64, float64, string, bool, nil, []any and map[string]any.
package manifest
