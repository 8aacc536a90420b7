package mutate

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// conditionOperator makes a match condition hold always.
var conditionOperator = &Operator{
	Name:    "condition",
	Summary: "a match condition is removed",
	policy: func(c *changes) {
		for i, x := range c.def.Spec.MatchConditions {
			m := Mutant{Field: fmt.Sprintf("matchConditions[%d]", i), Name: x.Name, Before: x.Expression, Text: x.Expression}
			c.policy(m, func(s *admissionv1.ValidatingAdmissionPolicySpec) { s.MatchConditions[i].Expression = "true" })
		}
	},
}
