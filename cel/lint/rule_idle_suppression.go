package lint

const idleSuppressionName = "idle-suppression"

var idleSuppressionRule = &Rule{
	Name:    idleSuppressionName,
	Summary: "A suppression has no reason, names no rule, or suppresses nothing.",
	Why: `A finding is accepted by a comment in its expression, // holdshort:ignore RULE: reason, or by the
annotation hangar.io/lint-ignore of the policy or binding, with a line RULE: reason for the whole of it
or RULE FIELD: reason for one field. The reason is for those who read it later. An accepted finding does
not fail lint; it is counted, and an expression that it breaks still counts as broken. Findings of
compile cannot be accepted, because a server refuses the policy.

A suppression that suppresses nothing hides the next fault of that kind: remove it. In YAML an expression
with a comment has to keep its lines, as after expression: |. After > the comment goes on to the end.`,
	Severity: Warning,
	Bad: []string{`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owned}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations:
  - expression: object.metadata.?labels[?'owner'].orValue('') in ['a', 'b']
    messageExpression: |
      // holdshort:ignore message-can-error
      'unknown owner ' + object.metadata.labels['owner']
`, `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: few-containers
  annotations:
    hangar.io/lint-ignore: |
      total validations[0]: every pod has containers
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: size(object.spec.containers) < 10}]
`, `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  variables:
  - name: count
    expression: |
      size(object.spec.containers) //holdshort:ignore totality: every pod has containers
  validations: [{expression: variables.count < 10}]
`},
	Good: `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owned}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations:
  - expression: object.metadata.?labels[?'owner'].orValue('') in ['a', 'b']
    messageExpression: |
      // holdshort:ignore message-can-error: without an owner the plain message says enough
      'unknown owner ' + object.metadata.labels['owner']
`,
}
