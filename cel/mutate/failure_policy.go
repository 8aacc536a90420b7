package mutate

import admissionv1 "k8s.io/api/admissionregistration/v1"

// failurePolicyOperator lets pass what cannot be evaluated.
var failurePolicyOperator = &Operator{
	Name:    "failure-policy",
	Summary: "failurePolicy is Ignore",
	policy: func(c *changes) {
		if *c.def.Spec.FailurePolicy != admissionv1.Fail {
			return
		}
		ignore := admissionv1.Ignore
		c.policy(Mutant{Field: "failurePolicy", Before: string(admissionv1.Fail), After: string(ignore)},
			func(s *admissionv1.ValidatingAdmissionPolicySpec) { s.FailurePolicy = &ignore })
	},
}
