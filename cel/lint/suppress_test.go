package lint_test

import (
	"slices"
	"strings"
	"testing"

	"hangar.io/holdshort/cel/lint"
)

// suppressed is a policy whose expression fails without labels, with a comment, annotations, and a
// binding with annotations.
func suppressed(comment, policy, binding string) string {
	annotations := func(text string) string {
		return "  annotations:\n    hangar.io/lint-ignore: |\n      " + strings.ReplaceAll(text, "\n", "\n      ") + "\n"
	}
	return `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: owned
` + annotations(policy) + `spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  variables:
  - name: owner
    expression: object.metadata.labels['owner']
  validations:
  - expression: |
      variables.owner == 'https://a' ` + comment + `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: everywhere
` + annotations(binding) + `spec: {policyName: owner, validationActions: [Deny]}
`
}

func TestSuppressions(t *testing.T) {
	const unknown = "unknown-policy: the policy is in another repository"
	for _, c := range []struct {
		name, comment, policy, binding string
		want                           []string // rule, and the reason or message of each finding
	}{
		{"nothing is suppressed", "", "", "", []string{"total", "total", "unknown-policy"}},
		{"a comment where the variable is read", "// holdshort:ignore total: labelled by the pipeline", "", unknown,
			[]string{"total - labelled by the pipeline", "total - labelled by the pipeline", "unknown-policy - the policy is in another repository"}},
		{"no spaces", "//holdshort:ignore total:x", "", unknown, []string{"total - x", "total - x", "unknown-policy - the policy is in another repository"}},
		{"the whole policy", "", "total: a: reason", "", []string{"total - a: reason", "total - a: reason", "unknown-policy"}},
		{"the field with the fault", "", "total variables[0]: later", "", []string{"total - later", "total - later", "unknown-policy"}},
		{"the name of the field", "", "total owner: later", "", []string{"total - later", "total - later", "unknown-policy"}},
		{"another field", "", "total validations[7]: later", "", []string{"total", "total", "idle-suppression: there is no finding of total to suppress in validations[7]", "unknown-policy"}},
		{"another rule", "// holdshort:ignore message-can-error: later", "", "", []string{"total", "total", "idle-suppression: there is no finding of message-can-error to suppress", "unknown-policy"}},
		{"no reason", "// holdshort:ignore total", "total:", "total", []string{"total", "total",
			"idle-suppression: the suppression does not count: gives no reason to suppress total", "idle-suppression: the suppression does not count: gives no reason to suppress total",
			"unknown-policy", "idle-suppression: the suppression does not count: gives no reason to suppress total"}},
		{"no rule", "// holdshort:ignore", "totla: x", "idle-suppression: x", []string{"total", "total",
			"idle-suppression: the suppression does not count: names no rule", `idle-suppression: the suppression does not count: there is no rule "totla"`,
			"unknown-policy", "idle-suppression: the suppression does not count: findings of idle-suppression cannot be suppressed"}},
		{"a field in a comment", "// holdshort:ignore total owner: x", "compile: x", "", []string{"total", "total",
			"idle-suppression: the suppression does not count: names a field, but a comment is about the expression that it stands in",
			"idle-suppression: the suppression does not count: findings of compile cannot be suppressed", "unknown-policy"}},
		{"another directive", "// holdshort:nolint total: x", "", "", []string{"total", "total",
			`idle-suppression: the suppression does not count: "holdshort:nolint total: x" is nothing that lint knows`, "unknown-policy"}},
		{"another comment", "// total: x", "", "", []string{"total", "total", "unknown-policy"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var have []string
			for _, f := range findings(t, suppressed(c.comment, c.policy, c.binding)) {
				switch {
				case f.Suppression != nil:
					have = append(have, f.Rule+" - "+f.Suppression.Reason)
				case f.Rule == "idle-suppression":
					have = append(have, f.Rule+": "+f.Message)
				default:
					have = append(have, f.Rule)
				}
			}
			slices.Sort(have)
			slices.Sort(c.want)
			if !slices.Equal(have, c.want) {
				t.Errorf("have\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestAnAcceptedErrorIsStillCounted: a proof does not come from a comment.
func TestAnAcceptedErrorIsStillCounted(t *testing.T) {
	var tally lint.Tally
	for _, r := range reports(t, compiled(t, suppressed("// holdshort:ignore total: later", "", ""))) {
		tally.Add(r)
	}
	if c := tally.Counts(); c != (lint.Counts{Expressions: 1, Broken: 1}) {
		t.Errorf("the counts are %+v", c)
	}
}
