package harness

import admissionv1 "k8s.io/api/admissionregistration/v1"

// ExpressionAt is the text of the expression of a policy at a field, as Expression and Checked name
// fields, for reading and for writing; nil if there is none.
func ExpressionAt(p *admissionv1.ValidatingAdmissionPolicy, field string) *string {
	spec := &p.Spec
	for i := range spec.MatchConditions {
		if field == indexed("matchConditions", i) {
			return &spec.MatchConditions[i].Expression
		}
	}
	for i := range spec.Variables {
		if field == indexed("variables", i) {
			return &spec.Variables[i].Expression
		}
	}
	for i := range spec.Validations {
		switch field {
		case indexed("validations", i):
			return &spec.Validations[i].Expression
		case indexed("validations", i) + ".messageExpression":
			return &spec.Validations[i].MessageExpression
		}
	}
	for i := range spec.AuditAnnotations {
		if field == indexed("auditAnnotations", i)+".valueExpression" {
			return &spec.AuditAnnotations[i].ValueExpression
		}
	}
	return nil
}
