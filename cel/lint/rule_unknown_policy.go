package lint

import "fmt"

var unknownPolicyRule = &Rule{
	Name:    "unknown-policy",
	Summary: "A binding names a policy that is not among the files.",
	Why: `The API server takes such a binding without a word, and it does nothing: the policy that it was meant
for is not applied. Mostly the name is misspelt, or the policy was renamed. If the policy is elsewhere,
give its file as well.`,
	Severity: Warning,
	Bad: []string{`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: size(object.spec.containers) < 10
    message: at most nine containers
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few-containers}
spec:
  policyName: few-container
  validationActions: [Deny]
`, `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers.example.com}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: "size(object.spec.containers) < 10"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: few-containers.example.com, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: in-test}
spec: {policyName: few-containers, validationActions: [Warn]}
`},
	Good: `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: size(object.spec.containers) < 10
    message: at most nine containers
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few-containers}
spec:
  policyName: few-containers
  validationActions: [Deny]
`,
	rest: func(in setInput) []Finding {
		var out []Finding
		for _, b := range in.set.Stray() {
			out = append(out, Finding{Severity: Warning, Policy: b.Spec.PolicyName, Binding: b.Name, Field: "policyName",
				Message: fmt.Sprintf("there is no policy %q, so that the binding does nothing", b.Spec.PolicyName)})
		}
		return out
	},
}
