package harness_test

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/harness"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// set compiles a policy written in YAML with a binding of its own.
func set(t testing.TB, policy string, actions ...admissionv1.ValidationAction) *harness.Set {
	t.Helper()
	p := &admissionv1.ValidatingAdmissionPolicy{}
	if err := yaml.UnmarshalStrict([]byte(policy), p); err != nil {
		t.Fatal(err)
	}
	if len(actions) == 0 {
		actions = []admissionv1.ValidationAction{admissionv1.Deny}
	}
	b := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name + "-binding"},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: p.Name, ValidationActions: actions},
	}
	if p.Spec.ParamKind != nil {
		b.Spec.ParamRef = &admissionv1.ParamRef{Name: "settings", Namespace: "default"}
	}
	s, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, []*admissionv1.ValidatingAdmissionPolicyBinding{b})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func policy(rules, rest string) string {
	return "metadata: {name: p}\nspec:\n  matchConstraints:\n    resourceRules:\n    - " + rules + "\n" + rest
}

const pods = `{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [pods, pods/exec]}`

func createPod(object map[string]any) harness.Request {
	return harness.Request{
		Operation: admission.Create,
		Resource:  schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Namespace: "default",
		Object:    object,
		User:      user.DefaultInfo{Name: "jane"},
	}
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func evaluate(t testing.TB, s *harness.Set, r harness.Request, c harness.Cluster) harness.Verdict {
	t.Helper()
	if err := harness.Complete(&r, c, now); err != nil {
		t.Fatal(err)
	}
	p, err := harness.Prepare(r, c)
	if err != nil {
		t.Fatal(err)
	}
	return s.Evaluate(context.Background(), p, harness.Options{Trace: true})
}

const plainPod = `{metadata: {name: web}, spec: {containers: [{name: app, image: "registry.example.com/app:1"}]}}`

func TestAnUnguardedOptionalFieldInAMatchConditionRefusesTheRequest(t *testing.T) {
	s := set(t, policy(pods, `
  matchConditions:
  - {name: is-exec, expression: "request.subResource == 'exec'"}
  validations:
  - {expression: "false", message: no exec}`))
	v := evaluate(t, s, createPod(object(t, plainPod)), harness.Cluster{})
	want := `pods "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-binding' denied request: expression 'request.subResource == 'exec'' resulted in error: no such key: subResource`
	if v.Decision != harness.Denied || v.Message != want || v.Code != 422 || v.Reason != metav1.StatusReasonInvalid {
		t.Errorf("got %v %d %s %q\nwant %q", v.Decision, v.Code, v.Reason, v.Message, want)
	}
	if d := v.Denials[0]; d.Validation != "matchConditions" || !d.Error {
		t.Errorf("denial is %+v", d)
	}
	if e := v.Trace[0].Expressions[0]; e.Decisive != "request.subResource" {
		t.Errorf("decisive is %q in %+v", e.Decisive, e)
	}
}

func TestAnObjectSelectorNeverMatchesExec(t *testing.T) {
	s := set(t, `
metadata: {name: p}
spec:
  matchConstraints:
    objectSelector: {matchLabels: {app: web}}
    resourceRules:
    - `+pods+`
  validations: [{expression: "false"}]`)
	r := harness.Request{
		Operation: admission.Connect, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Subresource: "exec",
		Namespace: "default", Name: "web", Object: map[string]any{"command": []any{"sh"}}, User: user.DefaultInfo{Name: "jane"},
	}
	v := evaluate(t, s, r, harness.Cluster{})
	if v.Decision != harness.Allowed {
		t.Fatalf("got %+v", v)
	}
	if skip := v.Trace[0].Skipped; skip == nil || skip.By != "objectSelector" || !strings.Contains(skip.Detail, "PodExecOptions has no labels") {
		t.Errorf("skipped: %+v", skip)
	}
}

func TestEveryFailingValidationIsReported(t *testing.T) {
	s := set(t, policy(pods, `
  validations:
  - {expression: "object.metadata.name == 'other'", message: wrong name, reason: Forbidden}
  - {expression: "true"}
  - {expression: "request.operation == 'CREATE' && object.spec.containers.all(c, c.image.startsWith('registry.example.org/'))", messageExpression: "'image of ' + object.metadata.name"}`))
	v := evaluate(t, s, createPod(object(t, plainPod)), harness.Cluster{})
	if len(v.Denials) != 2 || v.Denials[0].Index != 0 || v.Denials[1].Index != 2 {
		t.Fatalf("denials: %+v", v.Denials)
	}
	if v.Code != 403 || v.Denials[1].Message != "image of web" || v.Denials[1].Code != 422 {
		t.Errorf("got %+v", v)
	}
	last := v.Trace[0].Expressions[2]
	if want := `object.spec.containers.all(c, c.image.startsWith("registry.example.org/"))`; last.Decisive != want {
		t.Errorf("decisive is %q, want %q", last.Decisive, want)
	}
	if last.Cost == 0 || last.Limit != 1_000_000 {
		t.Errorf("cost %d of %d", last.Cost, last.Limit)
	}
}

func TestWhatIsNotKnownIsUndecidedAndNeverGuessed(t *testing.T) {
	for _, c := range []struct {
		name, policy string
		cluster      harness.Cluster
		need         string
		decision     harness.Decision
	}{
		{"namespaceObject of an undescribed namespace", policy(pods, "  validations: [{expression: \"namespaceObject.metadata.labels['team'] == 'a'\"}]"),
			harness.Cluster{}, "namespace", harness.Undecided},
		{"the name of an undescribed namespace is known", policy(pods, "  validations: [{expression: \"namespaceObject.metadata.name == 'default'\"}]"),
			harness.Cluster{}, "", harness.Allowed},
		{"a described namespace", policy(pods, "  validations: [{expression: \"namespaceObject.metadata.labels['team'] == 'a'\"}]"),
			harness.Cluster{Namespaces: map[string]*corev1.Namespace{"default": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "a"}}}}}, "", harness.Allowed},
		{"the authorizer without an allow list", policy(pods, "  validations: [{expression: \"authorizer.requestResource.check('create').allowed()\"}]"),
			harness.Cluster{}, "authorizer", harness.Undecided},
		{"the authorizer with an empty allow list", policy(pods, "  validations: [{expression: \"authorizer.requestResource.check('create').allowed()\"}]"),
			harness.Cluster{Allow: []harness.Permission{}}, "", harness.Denied},
		{"params that were not given", "metadata: {name: p}\nspec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n  matchConstraints:\n    resourceRules: [" + pods + "]\n  validations: [{expression: \"true\"}]",
			harness.Cluster{}, "params", harness.Undecided},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := evaluate(t, set(t, c.policy), createPod(object(t, plainPod)), c.cluster)
			if v.Decision != c.decision {
				t.Fatalf("decision %v, want %v: %+v", v.Decision, c.decision, v)
			}
			if c.need != "" && (len(v.Undecided) != 1 || v.Undecided[0].Need != c.need) {
				t.Errorf("undecided: %+v", v.Undecided)
			}
		})
	}
}
