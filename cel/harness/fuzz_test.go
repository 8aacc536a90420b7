package harness_test

import (
	"context"
	"encoding/json"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
)

// FuzzEvaluate gives the harness any object under any expression: it must neither panic nor call a
// request allowed that a false or failing validation of a Fail policy stands against.
func FuzzEvaluate(f *testing.F) {
	for _, object := range []string{plainPod, `{}`, `{"metadata":null}`, `{"metadata":{"name":1}}`, `{"spec":{"containers":[null]}}`,
		`{"metadata":{"labels":{"a":"b"},"creationTimestamp":"x"}}`, `{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e400"}}}]}}`} {
		for _, expression := range []string{"true", "object.metadata.name == 'web'", "object.spec.containers.all(c, has(c.image))",
			"has(object.spec) && object.spec.hostNetwork", "request.userInfo.groups.exists(g, g == 'x')", "variables.v", "["} {
			f.Add(object, expression, uint8(0))
			f.Add(object, expression, uint8(1))
		}
	}
	f.Fuzz(func(t *testing.T, text, expression string, which uint8) {
		content := &unstructured.Unstructured{}
		var raw map[string]any
		if json.Unmarshal([]byte(text), &raw) != nil || raw == nil {
			return
		}
		raw["apiVersion"], raw["kind"] = "v1", "Pod"
		normal, err := json.Marshal(raw)
		if err != nil || content.UnmarshalJSON(normal) != nil {
			return
		}
		r := createPod(content.Object)
		if which%2 == 1 {
			r.Operation, r.Object, r.OldObject = admission.Delete, nil, content.Object
		}
		if which%3 == 2 {
			r.Resource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
			r.Kind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
		}
		if harness.Complete(&r, harness.Cluster{}, now) != nil {
			return
		}
		prepared, err := harness.Prepare(r, harness.Cluster{})
		if err != nil {
			return
		}
		verdict := fuzzSet(t, expression).Evaluate(context.Background(), prepared, harness.Options{Trace: true})
		for _, policy := range verdict.Trace {
			for _, e := range policy.Expressions {
				if e.Field == "validations[0]" && (e.Error != "" || e.Value == false) && verdict.Decision == harness.Allowed {
					t.Errorf("allowed, although %s is %v %s", e.Text, e.Value, e.Error)
				}
			}
		}
	})
}

func fuzzSet(t *testing.T, expression string) *harness.Set {
	p := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{"*"},
					Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
				},
			}}},
			Variables:   []admissionv1.Variable{{Name: "v", Expression: "has(object.spec)"}},
			Validations: []admissionv1.Validation{{Expression: expression}},
		},
	}
	b := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "p", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	s, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, []*admissionv1.ValidatingAdmissionPolicyBinding{b})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
