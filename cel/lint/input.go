package lint

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/witness"
)

// setInput is a set of policies as the rules look at it.
type setInput struct {
	ctx     context.Context
	set     *harness.Set
	options Options
}

// input is one policy as the rules look at it, with what several of them need, made once. It is not
// safe for concurrent use; those of different policies have nothing in common that changes.
type input struct {
	setInput
	// def has the defaults of the API. So have its bindings, which are sorted by name.
	def      *admissionv1.ValidatingAdmissionPolicy
	bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	// checked are all expressions and proofs what is known of each, in the order of their fields.
	checked []harness.Checked
	proofs  []Proof

	searches map[Case]*search
}

func newInput(in setInput, policy string) (*input, error) {
	run, err := newTotality(in.set, policy, in.options)
	if err != nil {
		return nil, err
	}
	return &input{
		setInput: in, def: run.def, bindings: run.bindings, checked: run.checked, proofs: run.prove(), searches: map[Case]*search{},
	}, nil
}

// suppressions are those in the policy and its bindings.
func (in *input) suppressions() []*suppression {
	all := annotated(in.def.Name, "", in.def.Annotations)
	for _, b := range in.bindings {
		all = append(all, annotated(in.def.Name, b.Name, b.Annotations)...)
	}
	for _, p := range in.proofs {
		all = append(all, commentsOf(p)...)
	}
	return all
}

// search is the search for witnesses in one case; it knows what it has tried.
type search = witness.Search

// searchSteps bounds the search for a witness of one target.
const searchSteps = 1000

// search is that of a case, nil if no request of it can be made.
func (in *input) search(c Case) *search {
	s, known := in.searches[c]
	if known {
		return s
	}
	s, err := witness.New(in.set, in.def.Name, witness.Case{
		Operation: c.Operation, Resource: c.Resource, Subresource: c.Subresource, Kind: c.Kind, Namespaced: c.Namespaced,
	}, witness.Options{Resources: in.options.Resources, Assume: in.options.Assume, Steps: searchSteps})
	if err != nil {
		s = nil
	}
	in.searches[c] = s
	return s
}
