package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
)

// matcher is the server's policy matcher, watched: it notes why a policy or binding did not
// match, which binding a validator is called for, and what a match depends on that is not known.
// One matcher serves one evaluation.
type matcher struct {
	generic.PolicyMatcher
	set      *Set
	prepared *Prepared
	run      *run

	policy *policy
	// pending is what a binding that matches the policy would depend on.
	pending *Gap
	// matched are the bindings that matched, in order.
	matched []*call
}

func (m *matcher) GetNamespace(_ context.Context, name string) (*corev1.Namespace, error) {
	return m.prepared.namespaces.Get(name)
}

func (m *matcher) DefinitionMatches(a admission.Attributes, o admission.ObjectInterfaces, accessor generic.PolicyAccessor) (bool, schema.GroupVersionResource, schema.GroupVersionKind, error) {
	m.policy, m.pending = m.set.find(accessor.GetName()), nil
	constraints := m.policy.def.Spec.MatchConstraints
	known, whole := m.knownPart(constraints)
	matches, resource, kind, err := m.PolicyMatcher.DefinitionMatches(a, o, policyAccessor{accessor, known})
	switch {
	case err != nil:
		m.matched = append(m.matched, &call{policy: m.policy, configuration: err})
		return matches, resource, kind, err
	case !matches && m.otherVersion(constraints, a):
		m.pending = m.gap("kind", "its rules name another version of %s, and it is not known whether that is served; give the CustomResourceDefinition", a.GetResource().GroupResource())
		return true, a.GetResource(), a.GetKind(), nil
	case !matches:
		m.skip(m.policy.bindings, m.whyNot(a, o, constraints, false))
		return matches, resource, kind, nil
	case !whole:
		m.pending = m.namespaceGap("its namespaceSelector")
	case !m.prepared.converts(kind):
		m.pending = m.gap("conversion", "the policy matches the request as %s, and converting %s to it needs the API server; send the request in that version", kind.GroupVersion(), a.GetKind().GroupVersion())
	}
	return matches, resource, kind, nil
}

func (m *matcher) BindingMatches(a admission.Attributes, o admission.ObjectInterfaces, accessor generic.BindingAccessor) (bool, error) {
	binding := m.policy.binding(accessor.GetName())
	known, whole := m.knownPart(binding.Spec.MatchResources)
	matches, err := m.PolicyMatcher.BindingMatches(a, o, bindingAccessor{accessor, known})
	c := &call{policy: m.policy, binding: binding, configuration: err}
	m.run.current = c
	switch {
	case err != nil:
		m.matched = append(m.matched, c)
		return false, err
	case !matches:
		m.skip([]*admissionv1.ValidatingAdmissionPolicyBinding{binding}, m.whyNot(a, o, binding.Spec.MatchResources, true))
		return false, nil
	case m.pending != nil:
		m.pending.Binding = binding.Name
		m.run.gap(*m.pending)
		return false, nil
	case !whole:
		m.run.gap(*m.namespaceGap("the namespaceSelector of its binding"))
		return false, nil
	}
	if gap := m.prepared.params.missing(m.policy.def, binding); gap != "" {
		m.run.gap(*m.gap("params", "%s", gap))
		return false, nil
	}
	m.matched = append(m.matched, c)
	return true, nil
}

func (m *matcher) gap(need, format string, args ...any) *Gap {
	g := &Gap{Policy: m.policy.def.Name, Need: need, Detail: fmt.Sprintf(format, args...)}
	if m.run.current != nil && m.run.current.policy == m.policy && m.run.current.binding != nil {
		g.Binding = m.run.current.binding.Name
	}
	return g
}

func (m *matcher) namespaceGap(what string) *Gap {
	return m.gap("namespace", "%s looks at the labels of namespace %q, which nothing describes; give its labels", what, m.prepared.request.Namespace)
}

// knownPart returns constraints reduced to what can be judged, and whether that is all of them:
// of an undescribed namespace only the label kubernetes.io/metadata.name is known, so other
// requirements of a selector are left out.
func (m *matcher) knownPart(c *admissionv1.MatchResources) (*admissionv1.MatchResources, bool) {
	if c == nil || c.NamespaceSelector == nil || !m.prepared.unknownNamespace {
		return c, true
	}
	known := &metav1.LabelSelector{}
	if v, ok := c.NamespaceSelector.MatchLabels[corev1.LabelMetadataName]; ok {
		known.MatchLabels = map[string]string{corev1.LabelMetadataName: v}
	}
	for _, e := range c.NamespaceSelector.MatchExpressions {
		if e.Key == corev1.LabelMetadataName {
			known.MatchExpressions = append(known.MatchExpressions, e)
		}
	}
	whole := len(known.MatchLabels) == len(c.NamespaceSelector.MatchLabels) &&
		len(known.MatchExpressions) == len(c.NamespaceSelector.MatchExpressions)
	if whole {
		return c, true
	}
	reduced := *c
	reduced.NamespaceSelector = known
	return &reduced, false
}

// otherVersion reports whether c could match the request through an equivalent version that the
// resource table does not know.
func (m *matcher) otherVersion(c *admissionv1.MatchResources, a admission.Attributes) bool {
	if c == nil || c.MatchPolicy == nil || *c.MatchPolicy != admissionv1.Equivalent || m.prepared.knownResource {
		return false
	}
	loose := c.DeepCopy()
	for i := range loose.ResourceRules {
		loose.ResourceRules[i].APIVersions = []string{"*"}
	}
	matches, _, _, err := m.PolicyMatcher.DefinitionMatches(a, m.prepared, validating.NewValidatingAdmissionPolicyAccessor(withConstraints(loose)))
	return matches && err == nil
}

func withConstraints(c *admissionv1.MatchResources) *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{Spec: admissionv1.ValidatingAdmissionPolicySpec{MatchConstraints: c}}
}

func (m *matcher) skip(bindings []*admissionv1.ValidatingAdmissionPolicyBinding, why *Skip) {
	if why == nil {
		return
	}
	for _, b := range bindings {
		m.run.skips = append(m.run.skips, PolicyTrace{Policy: m.policy.def.Name, Binding: b.Name, Skipped: why})
	}
}

// whyNot finds the first part of c that keeps the request out, by loosening all others. It returns
// nil if no trace is wanted.
func (m *matcher) whyNot(a admission.Attributes, o admission.ObjectInterfaces, c *admissionv1.MatchResources, inBinding bool) *Skip {
	if !m.run.trace {
		return nil
	}
	matches := func(c *admissionv1.MatchResources, kept string) bool {
		ok, _, _, err := m.PolicyMatcher.DefinitionMatches(a, o, validating.NewValidatingAdmissionPolicyAccessor(withConstraints(loosened(c, kept))))
		return ok || err != nil
	}
	for _, part := range []string{"rule", "operation", "scope", "resourceName", "excludeResourceRules", "namespaceSelector", "objectSelector"} {
		if !matches(c, part) {
			if part != "rule" { // what the rules for other resources say is no reason
				c = c.DeepCopy()
				c.ResourceRules = slices.DeleteFunc(c.ResourceRules, func(r admissionv1.NamedRuleWithOperations) bool {
					return !matches(&admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{r}, MatchPolicy: c.MatchPolicy}, "")
				})
			}
			return &Skip{By: part, InBinding: inBinding, Detail: m.explainSkip(part, a, c)}
		}
	}
	return &Skip{By: "rule", InBinding: inBinding, Detail: "no single rule matches operation, scope, resource and name at once"}
}

// loosened returns c with every part but the named one made to match everything; resources are
// always kept.
func loosened(c *admissionv1.MatchResources, kept string) *admissionv1.MatchResources {
	c = c.DeepCopy()
	for i := range c.ResourceRules {
		r := &c.ResourceRules[i]
		if kept != "operation" {
			r.Operations = []admissionv1.OperationType{admissionv1.OperationAll}
		}
		if kept != "scope" {
			r.Scope = nil
		}
		if kept != "resourceName" {
			r.ResourceNames = nil
		}
	}
	if kept != "excludeResourceRules" {
		c.ExcludeResourceRules = nil
	}
	if kept != "namespaceSelector" {
		c.NamespaceSelector = &metav1.LabelSelector{}
	}
	if kept != "objectSelector" {
		c.ObjectSelector = &metav1.LabelSelector{}
	}
	return c
}

func (m *matcher) explainSkip(part string, a admission.Attributes, c *admissionv1.MatchResources) string {
	var wanted []string
	add := func(items ...string) {
		for _, s := range items {
			if !slices.Contains(wanted, s) {
				wanted = append(wanted, s)
			}
		}
	}
	for _, r := range c.ResourceRules {
		switch part {
		case "rule":
			for _, res := range r.Resources {
				add(strings.TrimSuffix(res+"."+strings.Join(r.APIGroups, "|"), "."))
			}
		case "operation":
			for _, op := range r.Operations {
				add(string(op))
			}
		case "scope":
			add(string(*r.Scope))
		case "resourceName":
			add(r.ResourceNames...)
		}
	}
	list := strings.Join(wanted, ", ")
	switch part {
	case "rule":
		return fmt.Sprintf("the rules name %s, the request is for %s", list, resourceText(a))
	case "operation":
		return fmt.Sprintf("the rules name %s, the request is a %s", list, a.GetOperation())
	case "scope":
		return fmt.Sprintf("the rules are for scope %s", list)
	case "resourceName":
		return fmt.Sprintf("the rules name only %s, the request is for %q", list, a.GetName())
	case "excludeResourceRules":
		return "the request matches excludeResourceRules"
	case "namespaceSelector":
		return fmt.Sprintf("namespaceSelector %s does not match namespace %q", metav1.FormatLabelSelector(c.NamespaceSelector), a.GetNamespace())
	}
	if a.GetOperation() == admission.Connect {
		return fmt.Sprintf("objectSelector %s never matches CONNECT: %s has no labels", metav1.FormatLabelSelector(c.ObjectSelector), a.GetKind().Kind)
	}
	return fmt.Sprintf("objectSelector %s matches neither the object nor the old object", metav1.FormatLabelSelector(c.ObjectSelector))
}

func resourceText(a admission.Attributes) string {
	text := a.GetResource().Resource
	if a.GetSubresource() != "" {
		text += "/" + a.GetSubresource()
	}
	return strings.TrimSuffix(text+"."+a.GetResource().Group, ".")
}

func (p *policy) binding(name string) *admissionv1.ValidatingAdmissionPolicyBinding {
	for _, b := range p.bindings {
		if b.Name == name {
			return b
		}
	}
	return nil
}

type policyAccessor struct {
	generic.PolicyAccessor
	constraints *admissionv1.MatchResources
}

func (p policyAccessor) GetMatchConstraints() *admissionv1.MatchResources { return p.constraints }

type bindingAccessor struct {
	generic.BindingAccessor
	resources *admissionv1.MatchResources
}

func (b bindingAccessor) GetMatchResources() *admissionv1.MatchResources { return b.resources }
