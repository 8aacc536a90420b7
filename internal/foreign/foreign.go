// Package foreign makes policies as other people write them: in the styles of public libraries, for
// many kinds, with guards and without. Lint is measured by them.
package foreign

import (
	_ "embed"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/schema"
)

//go:embed styles.yaml
var stylesText []byte

// style is a rule in its two forms.
type style struct {
	Name          string
	Resources     []string // empty: what holds the spec of a pod
	Guarded, Bare string
}

// workloads are the resources that hold the spec of a pod, and where.
var workloads = []struct{ resource, spec string }{
	{"pods", "object.spec"},
	{"deployments.apps", "object.spec.template.spec"},
	{"replicasets.apps", "object.spec.template.spec"},
	{"statefulsets.apps", "object.spec.template.spec"},
	{"daemonsets.apps", "object.spec.template.spec"},
	{"replicationcontrollers", "object.spec.template.spec"},
	{"jobs.batch", "object.spec.template.spec"},
	{"cronjobs.batch", "object.spec.jobTemplate.spec.template.spec"},
}

// Policy is one policy, and whether its author guarded what may be absent.
type Policy struct {
	*admissionv1.ValidatingAdmissionPolicy
	Guarded bool
}

// Policies are all of them, always in the same order, in which guarded and bare ones, kinds and texts
// alternate. The error is a defect of the package's styles.
func Policies() ([]Policy, error) {
	var styles []style
	if err := yaml.UnmarshalStrict(stylesText, &styles); err != nil {
		return nil, fmt.Errorf("styles.yaml: %w", err)
	}
	var all []Policy
	for _, s := range styles {
		where := workloads
		if len(s.Resources) > 0 {
			where = nil
			for _, r := range s.Resources {
				where = append(where, struct{ resource, spec string }{r, ""})
			}
		}
		for i, w := range where {
			for _, guarded := range []bool{true, false} {
				text, suffix := s.Guarded, "guarded"
				if !guarded {
					text, suffix = s.Bare, "bare"
				}
				p, err := policy(fmt.Sprintf("%s.%s.%s", s.Name, w.resource, suffix), w.resource, strings.ReplaceAll(text, "$spec", w.spec), guarded, len(all)/2+i)
				if err != nil {
					return nil, err
				}
				all = append(all, Policy{p, guarded})
			}
		}
	}
	return all, nil
}

// policy writes an expression in one of four ways: alone, behind a variable, after a match condition,
// or with a message that is an expression.
func policy(name, resource, expression string, guarded bool, way int) (*admissionv1.ValidatingAdmissionPolicy, error) {
	r, ok := schema.BuiltIn(schema.Newest).ForResource(resource)
	if !ok {
		return nil, fmt.Errorf("%s: there is no resource %s", name, resource)
	}
	rule := admissionv1.NamedRuleWithOperations{}
	rule.Operations = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}
	rule.Rule = admissionv1.Rule{APIGroups: []string{r.GVR.Group}, APIVersions: []string{r.GVR.Version}, Resources: []string{r.GVR.Resource}}
	p := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    new(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{rule}},
			Validations:      []admissionv1.Validation{{Expression: expression, Message: "refused by " + name}},
		},
	}
	switch way % 4 {
	case 1:
		p.Spec.Variables = []admissionv1.Variable{{Name: "ok", Expression: expression}}
		p.Spec.Validations[0].Expression = "variables.ok"
	case 2:
		condition := "!request.userInfo.username.startsWith('system:')"
		if guarded {
			condition = "!has(request.userInfo.username) || " + condition
		}
		p.Spec.MatchConditions = []admissionv1.MatchCondition{{Name: "not-the-system", Expression: condition}}
	case 3:
		p.Spec.Validations[0].MessageExpression = "'refused in ' + string(request.operation)"
	}
	return p, nil
}
