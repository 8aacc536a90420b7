package kyverno

import (
	"errors"
	"fmt"
	"strings"

	policiesv1 "github.com/kyverno/api/api/policies.kyverno.io/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNotCompiled says that Kyverno makes no ValidatingAdmissionPolicy of a policy, but judges requests
// itself.
var ErrNotCompiled = errors.New("it is judged by a webhook of Kyverno")

// replacements are texts of a validation that Kyverno replaces (pkg/admissionpolicy/builder.go, 144-150).
var replacements = [][2]string{
	{"exceptions.allowedImages", "variables.allowedImages"},
	{"exceptions.allowedValues", "variables.allowedValues"},
}

// Translate returns what Kyverno makes of a ValidatingPolicy to which there are no PolicyExceptions:
// an admission policy and its binding, as Kyverno creates them, without the API's defaults and without
// their owner.
//
// What Kyverno leaves behind is left behind here: the failure policy, so that the result fails closed,
// and the labels and annotations.
func Translate(p *policiesv1.ValidatingPolicy) (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding, error) {
	if err := compiled(p); err != nil {
		return nil, nil, fmt.Errorf("policy %s: %w", p.Name, err)
	}
	spec := p.Spec.DeepCopy()
	for i := range spec.Validations {
		for _, pair := range replacements {
			spec.Validations[i].Expression = strings.ReplaceAll(spec.Validations[i].Expression, pair[0], pair[1])
		}
	}
	// pkg/controllers/admissionpolicygenerator/generate-vap.go, 34, and builder.go, 219; labels: 172 and 238
	name := "vpol-" + p.Name
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": "kyverno"}}
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: meta(name),
		// builder.go, 163-170: there is no failure policy among these.
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: spec.MatchConstraints,
			Variables:        spec.Variables,
			Validations:      spec.Validations,
			AuditAnnotations: spec.AuditAnnotations,
			MatchConditions:  spec.MatchConditions,
		},
	}
	// builder.go, 173-176
	if _, excluded := p.Labels["reports.kyverno.io/disabled"]; excluded {
		policy.Labels["reports.kyverno.io/disabled"] = "true"
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: meta(name + "-binding"), // pkg/controllers/admissionpolicygenerator/utils.go, 149-151
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{ // builder.go, 232-236
			PolicyName: name, ValidationActions: spec.ValidationActions(),
		},
	}
	return policy, binding, nil
}

// compiled follows handleVAPGeneration (pkg/controllers/admissionpolicygenerator/generate-vap.go, 76-105)
// and what Kyverno's own webhook demands of a policy (pkg/cel/policies/vpol/validate.go, 32-34).
func compiled(p *policiesv1.ValidatingPolicy) error {
	if p.Spec.MatchConstraints == nil || len(p.Spec.MatchConstraints.ResourceRules) == 0 {
		return errors.New("spec.matchConstraints has no resource rule: Kyverno refuses it")
	}
	if !p.Spec.GenerateValidatingAdmissionPolicyEnabled() {
		return fmt.Errorf("%w: spec.autogen.validatingAdmissionPolicy is not enabled", ErrNotCompiled)
	}
	if podsAlone(*p.Spec.MatchConstraints) && controllers(p) {
		return fmt.Errorf("%w: it is about pods alone, and spec.autogen.podControllers.controllers is not an empty list", ErrNotCompiled)
	}
	return nil
}

// controllers tells whether Kyverno makes variants of a policy for the controllers of pods: for all of
// them without a list (pkg/cel/policies/vpol/autogen/autogen.go, 27-32). Kyverno ignores a name in the
// list that stands for no resource; here it counts like the others.
func controllers(p *policiesv1.ValidatingPolicy) bool {
	a := p.Spec.AutogenConfiguration
	if a == nil || a.PodControllers == nil || a.PodControllers.Controllers == nil {
		return true
	}
	return len(a.PodControllers.Controllers) > 0
}

// podsAlone is CanAutoGen (pkg/cel/autogen/support.go, 13-42).
func podsAlone(m admissionv1.MatchResources) bool {
	if s := m.ObjectSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		return false
	}
	if len(m.ExcludeResourceRules) > 0 || len(m.ResourceRules) != 1 {
		return false
	}
	r := m.ResourceRules[0]
	return len(r.ResourceNames) == 0 && only(r.APIGroups, "") && only(r.APIVersions, "v1") && only(r.Resources, "pods")
}

func only(list []string, value string) bool { return len(list) == 1 && list[0] == value }
