package proof

import (
	"fmt"
	"os"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/schema"
)

// Subject is an expression that can fail, with what it stands in.
type Subject struct {
	Name string
	// Match is operations and resources, as in "CREATE,UPDATE pods deployments.apps/scale".
	Match      string
	Conditions []string
	Variables  []map[string]string
	Expr       string // of the validation, "true" if it is left out
	Annotation string // an audit annotation
	// At is the expression that the case is about: the validation unless it says otherwise.
	At string
	// Raw: objects are as people write them, so that no server gets its requests.
	Raw bool
	// ParamKind is the kind of the params; NoParamRef: the binding has none.
	ParamKind  string
	NoParamRef bool
}

// ReadSubjects reads files of the form of the prover's corpus.
func ReadSubjects(files ...string) ([]Subject, error) {
	var all []Subject
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var subjects []Subject
		if err := yaml.Unmarshal(text, &subjects); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, subjects...)
	}
	return all, nil
}

func (s *Subject) at() string {
	if s.At == "" {
		return "validations[0]"
	}
	return s.At
}

// policy is the subject's policy, under a name.
func (s *Subject) policy(t *schema.Table, name string) (*admissionv1.ValidatingAdmissionPolicy, error) {
	constraints, err := constraints(t, s.Match)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	p := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec = admissionv1.ValidatingAdmissionPolicySpec{MatchConstraints: constraints, Validations: []admissionv1.Validation{{Expression: s.Expr}}}
	if s.Expr == "" {
		p.Spec.Validations[0].Expression = "true"
	}
	for i, x := range s.Conditions {
		p.Spec.MatchConditions = append(p.Spec.MatchConditions, admissionv1.MatchCondition{Name: fmt.Sprint("c", i), Expression: x})
	}
	for _, v := range s.Variables {
		for name, x := range v {
			p.Spec.Variables = append(p.Spec.Variables, admissionv1.Variable{Name: name, Expression: x})
		}
	}
	if s.Annotation != "" {
		p.Spec.AuditAnnotations = []admissionv1.AuditAnnotation{{Key: "a", ValueExpression: s.Annotation}}
	}
	if s.ParamKind != "" {
		apiVersion, kind, _ := strings.Cut(s.ParamKind, " ")
		p.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: apiVersion, Kind: kind}
	}
	return p, nil
}

// binding binds the subject's policy to the namespace of the policy's name, and to what is in no
// namespace.
func (s *Subject) binding(name string) *admissionv1.ValidatingAdmissionPolicyBinding {
	b := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec = admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}},
		},
	}
	if s.ParamKind != "" && !s.NoParamRef {
		b.Spec.ParamRef = &admissionv1.ParamRef{Name: "params", Namespace: name, ParameterNotFoundAction: new(admissionv1.DenyAction)}
	}
	return b
}

func constraints(t *schema.Table, match string) (*admissionv1.MatchResources, error) {
	words := strings.Fields(match)
	m := &admissionv1.MatchResources{}
	for _, word := range words[1:] {
		name, subresource, _ := strings.Cut(word, "/")
		r, ok := t.ForResource(name)
		if !ok {
			return nil, fmt.Errorf("there is no resource %s", name)
		}
		rule := admissionv1.NamedRuleWithOperations{}
		for op := range strings.SplitSeq(words[0], ",") {
			rule.Operations = append(rule.Operations, admissionv1.OperationType(op))
		}
		resource := r.GVR.Resource
		if subresource != "" {
			resource += "/" + subresource
		}
		rule.Rule = admissionv1.Rule{APIGroups: []string{r.GVR.Group}, APIVersions: []string{r.GVR.Version}, Resources: []string{resource}}
		m.ResourceRules = append(m.ResourceRules, rule)
	}
	return m, nil
}
