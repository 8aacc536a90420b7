package mutate

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// actionOperator makes a binding that refuses only warn.
var actionOperator = &Operator{
	Name:    "action",
	Summary: "a binding that denies only warns",
	policy: func(c *changes) {
		for i, b := range c.maker.bindings {
			if !slices.Contains(b.Spec.ValidationActions, admissionv1.Deny) {
				continue
			}
			c.binding(i, Mutant{Field: "validationActions", Before: string(admissionv1.Deny), After: string(admissionv1.Warn)},
				func(s *admissionv1.ValidatingAdmissionPolicyBindingSpec) {
					s.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn}
				})
		}
	},
}
