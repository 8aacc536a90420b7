package lint

import "strings"

var compileRule = &Rule{
	Name:    "compile",
	Summary: "An expression does not compile.",
	Why: `The API server refuses to create a policy with such an expression. In a policy that it has stored
already, because an older server took it, the expression fails on each request.`,
	Severity: Error,
	Bad: []string{`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: size(object.spec.containers < 10
    message: at most nine containers
`, `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  variables:
  - name: count
    expression: object.spec.containers.length()
  validations:
  - expression: variables.count < 10
    message: at most nine containers
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
`,
	policy: func(in *input) []Finding {
		var out []Finding
		for _, p := range in.proofs {
			if p.Err != nil {
				out = append(out, Finding{Severity: Error, Field: p.Field, Name: p.Name, Text: p.Text, Message: "does not compile: " + strings.TrimSpace(p.Err.Error())})
			}
		}
		return out
	},
}
