package mutate

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// operationOperator removes an operation from a rule that has several.
var operationOperator = &Operator{
	Name:    "operation",
	Summary: "an operation of a resource rule is removed",
	policy: func(c *changes) {
		if c.def.Spec.MatchConstraints == nil {
			return
		}
		for i, r := range c.def.Spec.MatchConstraints.ResourceRules {
			if len(r.Operations) < 2 {
				continue
			}
			for j, o := range r.Operations {
				m := Mutant{Field: fmt.Sprintf("matchConstraints.resourceRules[%d].operations", i), Before: string(o)}
				c.policy(m, func(s *admissionv1.ValidatingAdmissionPolicySpec) {
					list := &s.MatchConstraints.ResourceRules[i].Operations
					*list = slices.Delete(*list, j, j+1)
				})
			}
		}
	},
}
