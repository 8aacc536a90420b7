package policies

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/cel"
	"hangar.io/holdshort/policies/profile"
)

// NamesAnnotation names a rendered policy's validations, comma-separated and in order, so that
// tools speak of "ttl" and not of "validations[3]".
const NamesAnnotation = "hangar.io/validation-names"

// Options of Render. The zero value denies.
type Options struct {
	// Action is what a failing validation does; empty means Deny.
	Action admissionv1.ValidationAction
}

// Manifests are the policies of one cluster. Policies and Bindings go together by index and are
// sorted by name.
type Manifests struct {
	Profile  profile.Profile
	Policies []*admissionv1.ValidatingAdmissionPolicy
	Bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	target   string
}

// Render makes the policies that apply to a Profile, one binding each, with all API defaults
// spelled out: what is rendered is what a cluster stores.
func Render(x profile.Profile, o Options) (Manifests, error) {
	m := Manifests{Profile: x, target: "vap"}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(x.Tiers)) {
		if _, err := Get(name); err != nil {
			errs = append(errs, fmt.Errorf("profile %s: tiers: %w", x.Name, err))
		}
	}
	for _, p := range All() {
		if !p.AppliesTo(x) {
			continue
		}
		rendered, err := p.render(x)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m.Policies = append(m.Policies, rendered)
		m.Bindings = append(m.Bindings, p.binding(o))
	}
	if err := errors.Join(errs...); err != nil {
		return Manifests{}, err
	}
	return m, nil
}

func (p Policy) binding(o Options) *admissionv1.ValidatingAdmissionPolicyBinding {
	action := admissionv1.Deny
	if o.Action != "" {
		action = o.Action
	}
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Labels: labels()},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: p.Name, ValidationActions: []admissionv1.ValidationAction{action},
		},
	}
}

func labels() map[string]string { return map[string]string{"app.kubernetes.io/part-of": "holdshort"} }

func (p Policy) render(x profile.Profile) (*admissionv1.ValidatingAdmissionPolicy, error) {
	r := renderer{policy: p, profile: x, value: p.lookup(x)}
	fail, equivalent := admissionv1.Fail, admissionv1.Equivalent
	spec := admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionv1.MatchResources{
			MatchPolicy:       &equivalent,
			NamespaceSelector: &metav1.LabelSelector{},
			ObjectSelector:    &metav1.LabelSelector{},
		},
	}
	for _, rule := range p.Match {
		spec.MatchConstraints.ResourceRules = append(spec.MatchConstraints.ResourceRules, rule.rule())
	}
	for _, c := range p.Conditions {
		if on(c.Tiers, x.Tier) {
			spec.MatchConditions = append(spec.MatchConditions, admissionv1.MatchCondition{
				Name: c.Name, Expression: r.expression(c.Name, c.Expr),
			})
		}
	}
	for _, v := range p.Variables {
		if on(v.Tiers, x.Tier) {
			spec.Variables = append(spec.Variables, admissionv1.Variable{Name: v.Name, Expression: r.expression(v.Name, v.Expr)})
		}
	}
	var names []string
	for _, v := range p.Validations {
		if on(v.Tiers, x.Tier) {
			names = append(names, v.Name)
			spec.Validations = append(spec.Validations, r.validation(v))
		}
	}
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name: p.Name, Labels: labels(),
			Annotations: map[string]string{NamesAnnotation: strings.Join(names, ",")},
		},
		Spec: spec,
	}, errors.Join(r.errs...)
}

// renderer puts the values of a Profile into the texts of a policy and collects what goes wrong.
type renderer struct {
	policy  Policy
	profile profile.Profile
	value   func(string) (any, bool)
	errs    []error
}

func (r *renderer) validation(v Validation) admissionv1.Validation {
	message, err := expandText(v.Message, r.value)
	r.failed(v.Name+": message", err)
	reason := metav1.StatusReasonForbidden
	if v.Reason != "" {
		reason = v.Reason
	}
	return admissionv1.Validation{Expression: r.expression(v.Name, v.Expr), Message: message, Reason: &reason}
}

func (r *renderer) expression(where, expr string) string {
	expanded, err := cel.Expand(outdent(expr), r.value)
	r.failed(where, err)
	return expanded
}

func (r *renderer) failed(where string, err error) {
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %s, profile %s: %w", r.policy.Source(), where, r.profile.Name, err))
	}
}

// outdent takes the indentation of Go source off a raw string. Literals are not touched: Validate
// refuses the ones that go over several lines.
func outdent(expr string) string {
	lines := strings.Split(strings.TrimSpace(expr), "\n")
	least := -1
	for _, line := range lines[1:] {
		if indent := len(line) - len(strings.TrimLeft(line, "\t")); strings.TrimSpace(line) != "" && (least < 0 || indent < least) {
			least = indent
		}
	}
	for i := range lines {
		if i > 0 {
			lines[i] = strings.TrimRight(lines[i][min(max(least, 0), len(lines[i])):], " \t")
		}
	}
	return strings.Join(lines, "\n")
}
