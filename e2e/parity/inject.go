package parity

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
)

// Tampered is the suite with one policy only, whose messages are others for the harness than for
// the server. Judging it has to find a fault in every denial: that is how the tests know that a
// wrong text would be found.
func (s *Suite) Tampered(policy string) (*Suite, error) {
	wrong := &Suite{Name: fmt.Sprintf("%s with injected texts", s.Name)}
	for _, g := range s.Groups {
		if g.Policy == policy {
			wrong.Groups = []Group{g}
		}
	}
	wrong.Bindings = s.bindings(policy)
	var tampered []*admissionv1.ValidatingAdmissionPolicy
	for _, p := range s.Policies {
		if p.Name != policy {
			continue
		}
		wrong.Policies = append(wrong.Policies, p)
		p = p.DeepCopy()
		for i := range p.Spec.Validations {
			p.Spec.Validations[i].Message, p.Spec.Validations[i].MessageExpression = "an injected text", ""
		}
		tampered = append(tampered, p)
	}
	if len(wrong.Groups) == 0 || len(wrong.Policies) == 0 {
		return nil, fmt.Errorf("%s has no policy %s", s.Name, policy)
	}
	var err error
	wrong.Set, err = harness.Compile(tampered, wrong.Bindings)
	return wrong, err
}
