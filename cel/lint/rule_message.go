package lint

var messageCanErrorRule = &Rule{
	Name:    "message-can-error",
	Summary: "A message expression fails to evaluate on some requests.",
	Why: `The API server then takes the field message, or a text made of the expression, so that the request is
refused as it should be: but the person who reads the refusal does not learn what was wrong.`,
	Severity: Warning,
	Bad: []string{`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owned}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations:
  - expression: object.metadata.?labels[?'owner'].orValue('') in ['a', 'b']
    messageExpression: "'unknown owner ' + object.metadata.labels['owner']"
`, `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owned}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  variables:
  - name: owner
    expression: object.metadata.labels.owner
  validations:
  - expression: object.spec.replicas < 10
    message: too many replicas
    messageExpression: |
      'too many replicas for ' + variables.owner
`},
	Good: `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owned}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations:
  - expression: object.metadata.?labels[?'owner'].orValue('') in ['a', 'b']
    messageExpression: "'unknown owner ' + object.metadata.?labels[?'owner'].orValue('(none)')"
`,
	policy: func(in *input) []Finding {
		var out []Finding
		for _, p := range in.proofs {
			if p.Err == nil && !p.Proved() && isMessage(p.Field) {
				out = append(out, in.open(p, sitesOf(p)[0]))
			}
		}
		return out
	},
}
