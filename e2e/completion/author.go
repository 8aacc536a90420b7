// Package completion proves that the completion of hand-written objects is the server's: random
// objects of many kinds are completed by the harness and sent to a real API server, whose
// admission must see the same object, apart from what plugins and storage add.
package completion

import (
	_ "embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"go.yaml.in/yaml/v3"
)

//go:embed kinds.yaml
var kindsFile []byte

//go:embed pod.yaml
var podFile []byte

// Author writes random objects: those of the files, with some of their fields left out. The
// objects of one seed are always the same.
type Author struct {
	random *rand.Rand
	kinds  []*yaml.Node
	pod    *yaml.Node
}

// NewAuthor returns an author.
func NewAuthor(seed uint64) (*Author, error) {
	a := &Author{random: rand.New(rand.NewPCG(seed, seed))}
	var kinds, pod yaml.Node
	if err := yaml.Unmarshal(kindsFile, &kinds); err != nil {
		return nil, fmt.Errorf("kinds.yaml: %w", err)
	}
	if err := yaml.Unmarshal(podFile, &pod); err != nil {
		return nil, fmt.Errorf("pod.yaml: %w", err)
	}
	a.kinds, a.pod = kinds.Content[0].Content, pod.Content[0]
	return a, nil
}

// Kinds is how many objects the files have.
func (a *Author) Kinds() int { return len(a.kinds) }

// Write makes object i of the files with at most most fields left out.
func (a *Author) Write(i, most int) (map[string]any, error) {
	value, err := a.value(a.kinds[i])
	if err != nil {
		return nil, fmt.Errorf("kinds.yaml:%d: %w", a.kinds[i].Line, err)
	}
	o, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("kinds.yaml:%d: not an object", a.kinds[i].Line)
	}
	for range a.random.IntN(most + 1) {
		a.leaveOut(o)
	}
	return o, nil
}

// value makes the JSON value of a node.
func (a *Author) value(n *yaml.Node) (any, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return a.value(n.Alias)
	case n.Tag == "!any":
		return a.value(n.Content[a.random.IntN(len(n.Content))])
	case n.Tag == "!pod":
		return a.merged(a.pod, n)
	case n.Kind == yaml.MappingNode:
		return a.mapping(n)
	case n.Kind == yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := a.value(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	if i, ok := v.(int); ok {
		return int64(i), nil
	}
	return v, nil
}

func (a *Author) mapping(n *yaml.Node) (map[string]any, error) {
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		v, err := a.value(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		if v != nil {
			m[n.Content[i].Value] = v
		}
	}
	return m, nil
}

// merged is a mapping with the keys of another in it.
func (a *Author) merged(base, over *yaml.Node) (any, error) {
	m, err := a.mapping(base)
	if err != nil {
		return nil, err
	}
	further, err := a.mapping(over)
	maps.Copy(m, further)
	return m, err
}

// leaveOut takes one field or list element out of an object, each level with the same
// probability, so that whole branches go as often as leaves.
func (a *Author) leaveOut(o map[string]any) {
	var at any = o
	for {
		switch v := at.(type) {
		case map[string]any:
			keys := slices.DeleteFunc(slices.Sorted(maps.Keys(v)), func(k string) bool { return k == "apiVersion" || k == "kind" || k == "name" })
			if len(keys) == 0 {
				return
			}
			key := keys[a.random.IntN(len(keys))]
			if !inner(v[key]) || (a.random.IntN(3) == 0 && !kept[key]) {
				if !kept[key] {
					delete(v, key)
				}
				return
			}
			if list, ok := v[key].([]any); ok && len(list) > 1 && a.random.IntN(3) == 0 {
				v[key] = slices.Delete(list, 0, 1)
				return
			}
			at = v[key]
		case []any:
			if len(v) == 0 {
				return
			}
			at = v[a.random.IntN(len(v))]
		default:
			return
		}
	}
}

// kept are fields without which hardly an object is valid: leaving them out proves nothing.
var kept = map[string]bool{"metadata": true, "spec": true, "template": true, "containers": true, "selector": true, "matchLabels": true, "labels": true, "app": true}

// inner tells whether a value has values in it.
func inner(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}
