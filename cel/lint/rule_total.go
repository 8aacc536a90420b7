package lint

import "slices"

var totalRule = &Rule{
	Name:    "total",
	Summary: "An expression fails to evaluate on some requests.",
	Why: `An expression that fails refuses the request under failurePolicy Fail, whatever it wanted to say, and
lets it pass unjudged under Ignore. In a match condition it does so for every request that reaches
the policy. The API server's type check does not see it: it skips match conditions, and never asks
for a guard.

An error has a witness: a request on which the API server's own evaluator fails. A warning means that
the analysis could not exclude the error, and no request with it was found.

Read an optional field behind has(), a label behind 'key' in the map, a list item behind its size; or
give a default with optional fields: object.?metadata.?labels.orValue({}).`,
	Severity: Error,
	Bad: []string{`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-debug}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods, "pods/*"]}]
  matchConditions:
  - name: no-eviction
    expression: "!(request.subResource in ['binding', 'eviction'])"
  validations:
  - expression: object.spec.containers.size() < 10
    message: at most nine containers
`, `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owned}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  variables:
  - name: labels
    expression: object.metadata.labels
  validations:
  - expression: |
      'owner' in variables.labels
    message: a deployment has an owner
`},
	Good: `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-debug}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods, "pods/*"]}]
  matchConditions:
  - name: no-eviction
    expression: "!has(request.subResource) || !(request.subResource in ['binding', 'eviction'])"
  validations:
  - expression: object.spec.containers.size() < 10
    message: at most nine containers
`,
	policy: func(in *input) []Finding {
		var out []Finding
		for _, p := range in.proofs {
			if p.Err == nil && !p.Proved() && !isVariable(p.Field) && !isMessage(p.Field) {
				out = append(out, in.broken(p)...)
			}
		}
		return out
	},
}

// broken looks for a witness of each error that is not excluded. What else may fail in an expression
// that is broken is told by its errors.
func (in *input) broken(p Proof) []Finding {
	var broken, unproved []Finding
	for _, at := range sitesOf(p) {
		f := in.open(p, at)
		if w, c := in.witness(p, at); w != nil {
			f.Severity, f.Case, f.Witness = Error, &c, w
			broken = append(broken, in.mended(f, p, at))
			continue
		}
		unproved = append(unproved, in.mended(f, p, at))
	}
	if len(broken) > 0 {
		return broken
	}
	return unproved
}

// open is the finding that an error is not excluded.
func (in *input) open(p Proof, at site) Finding {
	f := Finding{Severity: Warning, Field: at.Field, Name: p.Name, Text: p.Text, Message: at.Why, Case: &at.Open.Case, of: p.Field}
	if at.Field != p.Field {
		f.Message += ", and " + p.Field + " reads it"
		i := slices.IndexFunc(in.proofs, func(read Proof) bool { return read.Field == at.Field })
		f.Name, f.Text = in.proofs[i].Name, in.proofs[i].Text
	}
	f.Start, f.End = span([]rune(f.Text), []rune(at.Source), at.Start, at.End)
	return f
}

// mended is the finding with the guard that helps, if there is one.
func (in *input) mended(f Finding, p Proof, at site) Finding {
	if f.Fix = in.fix(p, at, f.Witness); f.Fix == nil {
		return f
	}
	f.Hint = "guard it: " + f.Fix.Part
	if f.Fix.Field != f.Field {
		f.Hint = "guard it in " + f.Fix.Field + ": " + f.Fix.Part
	}
	return f
}
