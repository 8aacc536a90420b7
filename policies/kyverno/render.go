// Package kyverno writes the rule set for Kyverno, as ValidatingPolicies that it compiles into
// ValidatingAdmissionPolicies: the API server then judges requests, also while Kyverno is down. It
// tells what Kyverno makes of such a policy, too. Lines of Kyverno's source are those of v1.19.1.
package kyverno

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	policiesv1 "github.com/kyverno/api/api/policies.kyverno.io/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"hangar.io/holdshort/cel"
	"hangar.io/holdshort/policies"
)

// target is the word for these manifests on the command line.
const target = "kyverno"

// Files are the manifests for Kyverno: one file a policy, and the roles that Kyverno needs for them.
func Files(m policies.Manifests) ([]policies.File, error) {
	all, err := Render(m)
	if err != nil {
		return nil, err
	}
	var files []policies.File
	for _, p := range all {
		object, err := explicit(p)
		if err != nil {
			return nil, err
		}
		f, err := policies.NewFile(m.Profile, target, p.Name+".yaml", "policies/"+p.Name+".go", object)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	roles, err := policies.NewFile(m.Profile, target, "kyverno-roles.yaml", "policies/kyverno/roles.go", roles(m.Profile)...)
	return append(files, roles), err
}

// explicit spells out that there are no variants for the controllers of pods. The API types leave an
// empty list out, and Kyverno reads an absent one as all of them.
func explicit(p *policiesv1.ValidatingPolicy) (map[string]any, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode policy %s: %w", p.Name, err)
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("encode policy %s: %w", p.Name, err)
	}
	return object, unstructured.SetNestedSlice(object, []any{}, "spec", "autogen", "podControllers", "controllers")
}

// Render makes a ValidatingPolicy of each policy. What Kyverno cannot do, or does otherwise than the
// API server, is an error that names policy, field and reason.
func Render(m policies.Manifests) ([]*policiesv1.ValidatingPolicy, error) {
	var all []*policiesv1.ValidatingPolicy
	var errs []error
	for i, p := range m.Policies {
		errs = append(errs, refuse(p, m.Bindings[i]))
		all = append(all, convert(p, m.Bindings[i]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return all, nil
}

func convert(p *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) *policiesv1.ValidatingPolicy {
	yes, no := true, false
	spec := p.Spec.DeepCopy()
	return &policiesv1.ValidatingPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: policiesv1.GroupVersion.String(), Kind: "ValidatingPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Labels: maps.Clone(p.Labels), Annotations: maps.Clone(p.Annotations)},
		Spec: policiesv1.ValidatingPolicySpec{
			MatchConstraints: spec.MatchConstraints,
			MatchConditions:  spec.MatchConditions,
			Variables:        spec.Variables,
			Validations:      spec.Validations,
			AuditAnnotations: spec.AuditAnnotations,
			FailurePolicy:    spec.FailurePolicy,
			ValidationAction: slices.Clone(b.Spec.ValidationActions),
			AutogenConfiguration: &policiesv1.ValidatingPolicyAutogenConfiguration{
				// A policy on pods alone would get variants for Deployments and others, and then not be
				// compiled but judged by a webhook (pkg/controllers/admissionpolicygenerator/generate-vap.go, 80-86).
				PodControllers:            &policiesv1.PodControllersGenerationConfiguration{Controllers: []string{}},
				ValidatingAdmissionPolicy: &policiesv1.VapGenerationConfiguration{Enabled: &yes},
			},
			EvaluationConfiguration: &policiesv1.EvaluationConfiguration{
				Admission: &policiesv1.AdmissionConfiguration{Enabled: &yes},
				// These policies are about who asks, which a scan of what exists does not know.
				Background: &policiesv1.BackgroundConfiguration{Enabled: &no},
			},
		},
	}
}

// refuse reports all for which Kyverno has no place, and all that would come to mean something else.
func refuse(p *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) error {
	r := refusals{policy: p.Name}
	s := p.Spec
	switch {
	case s.MatchConstraints == nil || len(s.MatchConstraints.ResourceRules) == 0:
		r.add("spec.matchConstraints", "has no resource rule, which Kyverno demands")
	case s.ParamKind != nil:
		r.add("spec.paramKind", "is set: a ValidatingPolicy has no params")
	}
	if s.FailurePolicy != nil && *s.FailurePolicy != admissionv1.Fail {
		r.add("spec.failurePolicy", "is %s: Kyverno compiles every policy into one that fails closed", *s.FailurePolicy)
	}
	if b.Spec.ParamRef != nil {
		r.add("the binding's spec.paramRef", "is set: a ValidatingPolicy has no params")
	}
	if b.Spec.MatchResources != nil {
		r.add("the binding's spec.matchResources", "is set: Kyverno binds a policy to all requests that it matches")
	}
	for i, c := range s.MatchConditions {
		field := fmt.Sprintf("spec.matchConditions[%d].expression", i)
		r.expression(field, c.Expression)
		r.names(field, c.Expression, "namespaceObject", "which is null there once the policy is compiled, and the namespace while Kyverno judges itself")
	}
	for i, v := range s.Variables {
		r.expression(fmt.Sprintf("spec.variables[%d].expression", i), v.Expression)
	}
	for i, v := range s.Validations {
		field := fmt.Sprintf("spec.validations[%d].expression", i)
		r.expression(field, v.Expression)
		r.replaced(field, v.Expression)
		r.expression(fmt.Sprintf("spec.validations[%d].messageExpression", i), v.MessageExpression)
	}
	for i, a := range s.AuditAnnotations {
		r.expression(fmt.Sprintf("spec.auditAnnotations[%d].valueExpression", i), a.ValueExpression)
	}
	return errors.Join(r.errs...)
}

type refusals struct {
	policy string
	errs   []error
}

func (r *refusals) add(field, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("policy %s cannot be rendered for Kyverno: %s %s", r.policy, field, fmt.Sprintf(format, args...)))
}

// expression refuses what Kyverno does not declare when it compiles a policy that is created
// (pkg/cel/policies/vpol/compiler/compiler.go, 213-221).
func (r *refusals) expression(field, expr string) {
	for _, name := range []string{"authorizer", "params"} {
		r.names(field, expr, name, "which Kyverno does not have")
	}
}

func (r *refusals) names(field, expr, name, why string) {
	if expr == "" {
		return
	}
	names, err := cel.Names(expr)
	switch {
	case err != nil:
		r.add(field, "is broken: %s", err)
	case slices.Contains(names, name):
		r.add(field, "uses %s, %s", name, why)
	}
}

// replaced refuses text that Kyverno replaces wherever it stands, in string literals too.
func (r *refusals) replaced(field, expr string) {
	for _, pair := range replacements {
		if strings.Contains(expr, pair[0]) {
			r.add(field, "holds the text %s, which Kyverno replaces by %s", pair[0], pair[1])
		}
	}
}
