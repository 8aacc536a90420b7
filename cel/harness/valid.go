package harness

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// validPolicy checks what decides, beside the expressions, whether a policy does what it seems to:
// words from fixed sets, required fields, contradictions. A misspelt one would otherwise be
// evaluated as if it were not there. It follows the rules, not the code, of kubernetes
// pkg/apis/admissionregistration/validation/validation.go, which cannot be imported; names, lengths
// and counts are left to the server. p has its defaults.
func validPolicy(p *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	var errs field.ErrorList
	s := &p.Spec
	errs = append(errs, oneOf(field.NewPath("failurePolicy"), *s.FailurePolicy, admissionv1.Fail, admissionv1.Ignore)...)
	if s.MatchConstraints == nil || len(s.MatchConstraints.ResourceRules) == 0 {
		errs = append(errs, field.Required(field.NewPath("matchConstraints", "resourceRules"), "a policy names the resources that it is about"))
	}
	errs = append(errs, validMatch(s.MatchConstraints, field.NewPath("matchConstraints"))...)
	if s.ParamKind != nil && (s.ParamKind.APIVersion == "" || s.ParamKind.Kind == "") {
		errs = append(errs, field.Required(field.NewPath("paramKind"), "needs apiVersion and kind"))
	}
	names := map[string]bool{}
	for i, c := range s.MatchConditions {
		at := field.NewPath("matchConditions").Index(i).Child("name")
		switch {
		case c.Name == "":
			errs = append(errs, field.Required(at, ""))
		case names[c.Name]:
			errs = append(errs, field.Duplicate(at, c.Name))
		}
		names[c.Name] = true
	}
	for i, v := range s.Variables {
		if !identifier(v.Name) {
			errs = append(errs, field.Invalid(field.NewPath("variables").Index(i).Child("name"), v.Name, "must be a CEL identifier, and no reserved word"))
		}
	}
	if len(s.Validations) == 0 && len(s.AuditAnnotations) == 0 {
		errs = append(errs, field.Required(field.NewPath("validations"), "a policy has at least one validation or audit annotation"))
	}
	for i, v := range s.Validations {
		at := field.NewPath("validations").Index(i)
		if strings.TrimSpace(v.Expression) == "" {
			errs = append(errs, field.Required(at.Child("expression"), ""))
		}
		if strings.ContainsAny(strings.TrimSpace(v.Message), "\r\n") {
			errs = append(errs, field.Invalid(at.Child("message"), v.Message, "must be one line"))
		}
		if v.Reason != nil {
			errs = append(errs, oneOf(at.Child("reason"), *v.Reason,
				metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge)...)
		}
	}
	return errs
}

var identifiers = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// identifier tells whether a variable may have the name. CEL reads variables.namespace, but its
// grammar reserves the word.
func identifier(name string) bool {
	escaped, _ := apiservercel.Escape(name)
	return identifiers.MatchString(name) && escaped != "__"+name+"__"
}

// validBinding does for a binding what validPolicy does for a policy.
func validBinding(b *admissionv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	var errs field.ErrorList
	actions := field.NewPath("validationActions")
	if len(b.Spec.ValidationActions) == 0 {
		errs = append(errs, field.Required(actions, "a binding without an action does nothing"))
	}
	seen := map[admissionv1.ValidationAction]bool{}
	for i, a := range b.Spec.ValidationActions {
		errs = append(errs, oneOf(actions.Index(i), a, admissionv1.Deny, admissionv1.Warn, admissionv1.Audit)...)
		if seen[a] {
			errs = append(errs, field.Duplicate(actions.Index(i), a))
		}
		seen[a] = true
	}
	if seen[admissionv1.Deny] && seen[admissionv1.Warn] {
		errs = append(errs, field.Invalid(actions, b.Spec.ValidationActions, "Deny and Warn exclude each other"))
	}
	if r := b.Spec.ParamRef; r != nil {
		at := field.NewPath("paramRef")
		if (r.Name == "") == (r.Selector == nil) {
			errs = append(errs, field.Required(at, "needs either name or selector"))
		}
		if r.ParameterNotFoundAction == nil {
			errs = append(errs, field.Required(at.Child("parameterNotFoundAction"), "Allow or Deny"))
		} else {
			errs = append(errs, oneOf(at.Child("parameterNotFoundAction"), *r.ParameterNotFoundAction, admissionv1.AllowAction, admissionv1.DenyAction)...)
		}
		errs = append(errs, validSelector(r.Selector, at.Child("selector"))...)
	}
	return append(errs, validMatch(b.Spec.MatchResources, field.NewPath("matchResources"))...)
}

func validMatch(m *admissionv1.MatchResources, at *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := oneOf(at.Child("matchPolicy"), *m.MatchPolicy, admissionv1.Exact, admissionv1.Equivalent)
	errs = append(errs, validSelector(m.NamespaceSelector, at.Child("namespaceSelector"))...)
	errs = append(errs, validSelector(m.ObjectSelector, at.Child("objectSelector"))...)
	for i := range m.ResourceRules {
		errs = append(errs, validRule(&m.ResourceRules[i], at.Child("resourceRules").Index(i))...)
	}
	for i := range m.ExcludeResourceRules {
		errs = append(errs, validRule(&m.ExcludeResourceRules[i], at.Child("excludeResourceRules").Index(i))...)
	}
	return errs
}

func validRule(r *admissionv1.NamedRuleWithOperations, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, op := range r.Operations {
		errs = append(errs, oneOf(at.Child("operations").Index(i), op,
			admissionv1.OperationAll, admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect)...)
	}
	errs = append(errs, oneOf(at.Child("scope"), *r.Scope, admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope)...)
	for _, list := range []struct {
		name  string
		items int
		star  bool
	}{
		{"operations", len(r.Operations), slices.Contains(r.Operations, admissionv1.OperationAll)},
		{"apiGroups", len(r.APIGroups), slices.Contains(r.APIGroups, "*")},
		{"apiVersions", len(r.APIVersions), slices.Contains(r.APIVersions, "*")},
		{"resources", len(r.Resources), false},
	} {
		switch {
		case list.items == 0:
			errs = append(errs, field.Required(at.Child(list.name), "an empty list matches nothing"))
		case list.items > 1 && list.star:
			errs = append(errs, field.Invalid(at.Child(list.name), "*", "stands alone or not at all"))
		}
	}
	return errs
}

func validSelector(s *metav1.LabelSelector, at *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, at)
}

func oneOf[T ~string](at *field.Path, value T, supported ...T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, value, supported)}
}

// invalid turns the errors of a policy, or of one of its bindings, into problems.
func invalid(policy, binding string, errs field.ErrorList) []Problem {
	var all []Problem
	for _, e := range errs {
		all = append(all, Problem{Policy: policy, Binding: binding, Field: e.Field, Create: true,
			Err: fmt.Errorf("%s", e.ErrorBody())})
	}
	return all
}
