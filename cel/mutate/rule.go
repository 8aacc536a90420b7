package mutate

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// ruleOperator removes a resource rule, or a resource from one. A policy keeps its last one.
var ruleOperator = &Operator{
	Name:    "rule",
	Summary: "a resource rule, or a resource of one, is removed",
	policy: func(c *changes) {
		match := c.def.Spec.MatchConstraints
		if match == nil {
			return
		}
		c.rules("resourceRules", match.ResourceRules, len(match.ResourceRules) > 1, func(m *admissionv1.MatchResources) *[]admissionv1.NamedRuleWithOperations { return &m.ResourceRules })
		c.rules("excludeResourceRules", match.ExcludeResourceRules, true, func(m *admissionv1.MatchResources) *[]admissionv1.NamedRuleWithOperations {
			return &m.ExcludeResourceRules
		})
	},
}

func (c *changes) rules(name string, rules []admissionv1.NamedRuleWithOperations, removable bool, of func(*admissionv1.MatchResources) *[]admissionv1.NamedRuleWithOperations) {
	for i, r := range rules {
		field := fmt.Sprintf("matchConstraints.%s[%d]", name, i)
		if removable {
			c.policy(Mutant{Field: field, Before: ruleText(r)}, func(s *admissionv1.ValidatingAdmissionPolicySpec) {
				list := of(s.MatchConstraints)
				*list = slices.Delete(*list, i, i+1)
			})
		}
		if len(r.Resources) < 2 {
			continue
		}
		for j, resource := range r.Resources {
			c.policy(Mutant{Field: field + ".resources", Before: resource}, func(s *admissionv1.ValidatingAdmissionPolicySpec) {
				list := &(*of(s.MatchConstraints))[i].Resources
				*list = slices.Delete(*list, j, j+1)
			})
		}
	}
}

// ruleText is a rule as in "CREATE, UPDATE pods, pods/exec".
func ruleText(r admissionv1.NamedRuleWithOperations) string {
	var operations []string
	for _, o := range r.Operations {
		operations = append(operations, string(o))
	}
	return strings.Join(operations, ", ") + " " + strings.Join(r.Resources, ", ")
}
