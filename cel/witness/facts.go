package witness

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/cel/harness"
)

// factsOf is a policy whose validations are the facts of a condition, so that the API server's own
// evaluator tells whether they hold; nil if there are none but of expressions, which a trace tells.
func (s *Search) factsOf(c Condition) (*harness.Set, error) {
	def := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "facts"}}
	def.Spec.ParamKind = s.policy.Spec.ParamKind
	def.Spec.MatchConstraints = s.policy.Spec.MatchConstraints
	for _, f := range c {
		if f.Is == True || f.Is == False {
			if s.expressions[f.Path] == nil {
				return nil, fmt.Errorf("the fact %q: policy %s has no such expression", f, s.policy.Name)
			}
			continue
		}
		text, err := f.expression()
		if err != nil {
			return nil, err
		}
		def.Spec.Validations = append(def.Spec.Validations, admissionv1.Validation{Expression: text})
	}
	if len(def.Spec.Validations) == 0 {
		return nil, nil
	}
	binding := s.binding.DeepCopy()
	binding.Name, binding.Spec.PolicyName = def.Name, def.Name
	binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Deny}
	set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{def}, []*admissionv1.ValidatingAdmissionPolicyBinding{binding})
	if err != nil {
		return nil, err
	}
	for _, p := range set.Problems() {
		return nil, fmt.Errorf("a fact cannot be asked for: %s: %w", p.Text, p.Err)
	}
	return set, nil
}
