package policies

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kyaml "sigs.k8s.io/yaml"
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
		var b bytes.Buffer
		fmt.Fprintf(&b, "# Made by policygen render: change the source or the profile, and render again.\n")
		fmt.Fprintf(&b, "# source: policies/%s.go\n# profile: %s %s\n", p.Name, m.Profile.Name, m.Profile.Hash())
		for n, object := range []any{withoutStatus{p.TypeMeta, p.ObjectMeta, p.Spec}, m.Bindings[i]} {
			data, err := encode(object)
			if err != nil {
				return nil, fmt.Errorf("encode policy %s: %w", p.Name, err)
			}
			if n > 0 {
				b.WriteString("---\n")
			}
			b.Write(data)
		}
		files[i] = File{Path: p.Name + ".yaml", Data: b.Bytes()}
	}
	return files, nil
}

// YAML is all Files in one stream.
func (m Manifests) YAML() ([]byte, error) {
	files, err := m.Files()
	if err != nil {
		return nil, err
	}
	parts := make([][]byte, len(files))
	for i, f := range files {
		parts[i] = f.Data
	}
	return bytes.Join(parts, []byte("---\n")), nil
}

// withoutStatus is a ValidatingAdmissionPolicy as a person writes it.
type withoutStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              admissionv1.ValidatingAdmissionPolicySpec `json:"spec"`
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
	readable(&doc)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
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
