package lint

import (
	"context"
	"testing"

	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/cel/witness"
)

// TestTheCorpusHasWitnesses: every expression of the corpus that can fail has a request that makes it
// fail, found without being told; none that cannot fail has one.
func TestTheCorpusHasWitnesses(t *testing.T) {
	for _, file := range []string{"right.yaml", "wrong.yaml"} {
		for _, c := range corpus(t, file) {
			t.Run(c.Name, func(t *testing.T) {
				set := c.set(t)
				p := c.proof(t, set)
				found := ""
				var last *witness.Search
				for _, o := range p.Open {
					k := o.Case
					options := witness.Options{Resources: corpusResources()}
					if c.Raw {
						options.Assume = schema.Raw
					}
					s, err := witness.New(set, "case", witness.Case{
						Operation: k.Operation, Resource: k.Resource, Subresource: k.Subresource, Kind: k.Kind, Namespaced: k.Namespaced}, options)
					if err != nil {
						t.Fatal(err)
					}
					last = s
					w, err := s.Find(context.Background(), witness.Target{Expression: p.Field, Field: o.Field, Node: o.Node, Hints: o.When})
					if err != nil {
						t.Fatal(err)
					}
					if w != nil {
						found = w.Error
						break
					}
				}
				if found == "" && last != nil { // the error may come from a node beside
					w, err := last.Find(context.Background(), witness.Target{Expression: p.Field})
					if err != nil {
						t.Fatal(err)
					}
					if w != nil {
						found = w.Error
					}
				}
				if wrong := file == "wrong.yaml"; wrong != (found != "") {
					t.Errorf("%s\nfails with %q\n\t%s", p.Text, found, opens(p))
				}
			})
		}
	}
}
