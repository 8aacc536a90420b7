package policies

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"

	"hangar.io/holdshort/policies/profile"
)

// File is a file to write.
type File struct {
	Path string
	Data []byte
}

// Files are the manifests as YAML, one file a policy with its binding behind it. The same rule set
// and Profile give the same bytes.
func (m Manifests) Files() ([]File, error) {
	files := make([]File, len(m.Policies))
	for i, p := range m.Policies {
		name := strings.TrimSuffix(p.Name, StaticSuffix)
		f, err := NewFile(m.Profile, m.target, name+".yaml", "policies/"+name+".go", p, m.Bindings[i])
		if err != nil {
			return nil, err
		}
		files[i] = f
	}
	return files, nil
}

// NewFile is a file of objects in this order, as a person would write them, under a header that
// names the target of policygen render, their source and the Profile.
func NewFile(x profile.Profile, target, path, source string, objects ...any) (File, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by policygen render --target %s: change the source or the profile, and render again.\n", target)
	fmt.Fprintf(&b, "# source: %s\n# profile: %s %s\n", source, x.Name, x.Hash())
	for i, object := range objects {
		data, err := encode(object)
		if err != nil {
			return File{}, fmt.Errorf("encode %s: %w", path, err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(data)
	}
	return File{Path: path, Data: b.Bytes()}, nil
}

// Join is files as one stream of documents.
func Join(files []File) []byte {
	parts := make([][]byte, len(files))
	for i, f := range files {
		parts[i] = f.Data
	}
	return bytes.Join(parts, []byte("---\n"))
}

// encode writes an object for people who review it: names first, expressions as they stand in the
// source, no folded lines.
func encode(object any) ([]byte, error) {
	data, err := kyaml.Marshal(object)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	withoutStatus(doc.Content[0])
	readable(&doc)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// withoutStatus takes away the status, which a cluster writes.
func withoutStatus(object *yaml.Node) {
	for i := 0; i < len(object.Content); i += 2 {
		if object.Content[i].Value == "status" {
			object.Content = slices.Delete(object.Content, i, i+2)
		}
	}
}

// readable sets the style of the values of an object and puts the name of each list item first.
func readable(n *yaml.Node) {
	for _, c := range n.Content {
		readable(c)
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		switch key, value := n.Content[i], n.Content[i+1]; key.Value {
		case "expression":
			value.Style = yaml.LiteralStyle
		case "name":
			pair := []*yaml.Node{key, value}
			copy(n.Content[2:], n.Content[:i])
			copy(n.Content, pair)
		}
	}
}
