package mutate

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
)

// validationOperator makes a validation hold always: the others keep their places and names.
var validationOperator = &Operator{
	Name:    "validation",
	Summary: "a validation is removed",
	policy: func(c *changes) {
		names := harness.ValidationNames(c.def)
		for i, v := range c.def.Spec.Validations {
			m := Mutant{Field: fmt.Sprintf("validations[%d]", i), Name: names[i], Before: v.Expression, Text: v.Expression}
			c.policy(m, func(s *admissionv1.ValidatingAdmissionPolicySpec) { s.Validations[i].Expression = "true" })
		}
	},
}
