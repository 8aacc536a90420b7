package harness

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NamesAnnotation on a policy names its validations, comma-separated and in order, so that tools
// speak of "ttl" and not of "validations[3]".
const NamesAnnotation = "hangar.io/validation-names"

// ValidationNames returns a name for each validation of p: from NamesAnnotation where it names
// exactly as many as there are, else "validations[i]".
func ValidationNames(p *admissionv1.ValidatingAdmissionPolicy) []string {
	names := strings.Split(p.Annotations[NamesAnnotation], ",")
	if p.Annotations[NamesAnnotation] != "" && len(names) == len(p.Spec.Validations) {
		for i := range names {
			names[i] = strings.TrimSpace(names[i])
		}
		return names
	}
	names = make([]string, len(p.Spec.Validations))
	for i := range names {
		names[i] = indexed("validations", i)
	}
	return names
}

// defaultPolicy returns a copy of p with the defaults of the API
// (k8s.io/kubernetes pkg/apis/admissionregistration/v1/defaults.go). Without them a nil selector
// would make a policy with failurePolicy Fail refuse everything.
func defaultPolicy(p *admissionv1.ValidatingAdmissionPolicy) *admissionv1.ValidatingAdmissionPolicy {
	p = p.DeepCopy()
	if p.Spec.FailurePolicy == nil {
		fail := admissionv1.Fail
		p.Spec.FailurePolicy = &fail
	}
	defaultMatchResources(p.Spec.MatchConstraints)
	return p
}

func defaultBinding(b *admissionv1.ValidatingAdmissionPolicyBinding) *admissionv1.ValidatingAdmissionPolicyBinding {
	b = b.DeepCopy()
	defaultMatchResources(b.Spec.MatchResources)
	return b
}

func defaultMatchResources(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	if m.MatchPolicy == nil {
		equivalent := admissionv1.Equivalent
		m.MatchPolicy = &equivalent
	}
	if m.NamespaceSelector == nil {
		m.NamespaceSelector = &metav1.LabelSelector{}
	}
	if m.ObjectSelector == nil {
		m.ObjectSelector = &metav1.LabelSelector{}
	}
	for _, rules := range [][]admissionv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			if rules[i].Scope == nil {
				all := admissionv1.AllScopes
				rules[i].Scope = &all
			}
		}
	}
}
