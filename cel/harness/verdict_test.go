package harness_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
)

// costly is an expression of 700,000 units of the 10,000,000 that the validations or audit
// annotations of a policy have together.
const costly = "authorizer.group('a').resource('b').check('get').allowed() || authorizer.group('c').resource('d').check('get').allowed() || true"

func TestADenialNamesThePlaceThatFailed(t *testing.T) {
	for _, c := range []struct{ name, rest, place, text string }{
		{"a false validation by its name", "  validations: [{expression: \"true\"}, {expression: \"false\", message: refused}]", "validations[1]", "refused"},
		{"an error in a validation", "  validations: [{expression: \"object.spec.nothing == 1\"}]", "validations[0]", "resulted in error: no such key: nothing"},
		{"an error behind a variable", "  variables: [{name: x, expression: object.spec.nothing}]\n  validations: [{expression: variables.x == 1}]", "validations[0]", `composited variable "x" fails to evaluate: no such key: nothing`},
		{"a match condition that fails", "  matchConditions: [{name: m, expression: object.spec.nothing == 1}]\n  validations: [{expression: \"true\"}]", "matchConditions", "no such key: nothing"},
		{"an audit annotation that fails", "  validations: [{expression: \"true\"}]\n  auditAnnotations: [{key: a, valueExpression: \"string(object.spec.nothing)\"}]", "auditAnnotations[0]", "no such key: nothing"},
		{"a validation that costs too much", "  validations:\n" + strings.Repeat("  - {expression: \""+costly+"\"}\n", 15), "validations[14]", "running out of cost budget"},
		{"an audit annotation that costs too much", "  validations: [{expression: \"true\"}]\n  auditAnnotations:\n" + strings.Repeat("  - {key: a, valueExpression: \"string("+costly+")\"}\n", 15), "auditAnnotations[14].valueExpression", "running out of cost budget"},
		{"an expression that does not compile", "  validations: [{expression: \"object.\"}]", "validations[0]", "compilation error"},
		{"no message", "  validations: [{expression: \"1 == 2\"}]", "validations[0]", "failed expression: 1 == 2"},
		{"a message expression that fails", "  validations: [{expression: \"false\", messageExpression: string(object.spec.nothing), message: kept}]", "validations[0]", "kept"},
		{"a message expression of several lines", "  validations: [{expression: \"false\", messageExpression: \"'a\\\\nb'\", message: kept}]", "validations[0]", "kept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := evaluate(t, set(t, policy(pods, c.rest)), createPod(object(t, plainPod)), harness.Cluster{Allow: []harness.Permission{}})
			if v.Decision != harness.Denied || len(v.Denials) != 1 {
				t.Fatalf("got %+v", v)
			}
			if d := v.Denials[0]; d.Validation != c.place || !strings.Contains(d.Message, c.text) || v.Message != d.Text {
				t.Errorf("denied at %q with %q, want %q with %q\nanswer %q\ntext   %q", d.Validation, d.Message, c.place, c.text, v.Message, d.Text)
			}
		})
	}
}

func TestATraceSaysWhyAPolicyDidNotApply(t *testing.T) {
	rule := func(rest string) string {
		return "metadata: {name: p}\nspec:\n  matchConstraints:\n" + rest + "  validations: [{expression: \"false\"}]"
	}
	for _, c := range []struct{ name, policy, by, detail string }{
		{"another resource", rule("    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]\n"), "rule", "deployments.apps"},
		{"a rule for pods does not see their status", rule("    resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods/status]}]\n"), "rule", "pods/status"},
		{"another operation", rule("    resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [DELETE], resources: [pods]}]\n"), "operation", "CREATE"},
		{"another operation than its own resource's rule", rule("    resourceRules:\n    - {apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods/binding]}\n" +
			"    - {apiGroups: [\"\"], apiVersions: [v1], operations: [DELETE], resources: [pods]}\n"), "operation", "the rules name DELETE, the request is a CREATE"},
		{"another scope", rule("    resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: Cluster}]\n"), "scope", "Cluster"},
		{"another name", rule("    resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods], resourceNames: [db]}]\n"), "resourceName", `"web"`},
		{"an excluded resource", rule("    resourceRules: [" + pods + "]\n    excludeResourceRules: [" + pods + "]\n"), "excludeResourceRules", ""},
		{"a namespace selector", rule("    resourceRules: [" + pods + "]\n    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}\n"), "namespaceSelector", `"default"`},
		{"an object selector", rule("    resourceRules: [" + pods + "]\n    objectSelector: {matchLabels: {app: web}}\n"), "objectSelector", "app=web"},
		{"a match condition", policy(pods, "  matchConditions: [{name: only-jane, expression: \"request.userInfo.username != 'jane'\"}]\n  validations: [{expression: \"false\"}]"), "matchCondition", "only-jane"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := evaluate(t, set(t, c.policy), createPod(object(t, plainPod)), harness.Cluster{})
			if v.Decision != harness.Allowed || len(v.Trace) != 1 || v.Trace[0].Skipped == nil {
				t.Fatalf("got %+v", v)
			}
			if s := v.Trace[0].Skipped; s.By != c.by || !strings.Contains(s.Detail, c.detail) {
				t.Errorf("skipped by %q (%s), want %q (%s)", s.By, s.Detail, c.by, c.detail)
			}
		})
	}
}

func TestParamsAreFoundAsTheServerFindsThem(t *testing.T) {
	const p = "metadata: {name: p}\nspec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n  matchConstraints:\n    resourceRules: [" + pods + "]\n  validations: [{expression: \"params.data.allowed == object.metadata.name\", messageExpression: \"'wanted ' + params.data.allowed\"}]"
	configMap := func(name, allowed string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": name, "namespace": "default"}, "data": map[string]any{"allowed": allowed}}}
	}
	s := set(t, p)
	for _, c := range []struct {
		name     string
		params   []*unstructured.Unstructured
		decision harness.Decision
		message  string
	}{
		{"the object is there", []*unstructured.Unstructured{configMap("settings", "db"), configMap("other", "web")}, harness.Denied, "wanted db"},
		{"the object allows", []*unstructured.Unstructured{configMap("settings", "web")}, harness.Allowed, ""},
		{"there is none", []*unstructured.Unstructured{}, harness.Denied, "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.decision == harness.Denied && len(c.params) == 0 {
				s.Bindings("p")[0].Spec.ParamRef.ParameterNotFoundAction = new(admissionv1.ParameterNotFoundActionType)
				*s.Bindings("p")[0].Spec.ParamRef.ParameterNotFoundAction = admissionv1.DenyAction
			}
			v := evaluate(t, s, createPod(object(t, plainPod)), harness.Cluster{Params: c.params})
			if v.Decision != c.decision || !strings.Contains(v.Message, c.message) {
				t.Errorf("got %v %q, want %v %q", v.Decision, v.Message, c.decision, c.message)
			}
			if len(v.Denials) == 1 && v.Denials[0].Text != v.Message {
				t.Errorf("text %q differs from answer %q", v.Denials[0].Text, v.Message)
			}
		})
	}
}

func TestWarnAndAuditActionsDoNotDeny(t *testing.T) {
	s := set(t, policy(pods, "  validations: [{expression: \"false\", message: refused}]"), admissionv1.Warn, admissionv1.Audit)
	v := evaluate(t, s, createPod(object(t, plainPod)), harness.Cluster{})
	if v.Decision != harness.Allowed {
		t.Fatalf("got %+v", v)
	}
	if want := "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-binding': refused"; len(v.Warnings) != 1 || v.Warnings[0] != want {
		t.Errorf("warnings %q", v.Warnings)
	}
	if !strings.Contains(v.AuditAnnotations["validation.policy.admission.k8s.io/validation_failure"], `"message":"refused"`) {
		t.Errorf("audit annotations %v", v.AuditAnnotations)
	}
}

func TestAnEquivalentVersionNeedsAConversion(t *testing.T) {
	s := set(t, policy(`{apiGroups: [autoscaling], apiVersions: [v2], operations: [CREATE], resources: [horizontalpodautoscalers]}`,
		"  validations: [{expression: \"has(object.spec.metrics)\", message: no metrics}]"))
	r := harness.Request{
		Operation: admission.Create, Resource: schema.GroupVersionResource{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"},
		Namespace: "default", Object: object(t, `{metadata: {name: a}, spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web, apiVersion: apps/v1}}}`),
	}
	v := evaluate(t, s, r, harness.Cluster{})
	if v.Decision != harness.Undecided || v.Undecided[0].Need != "conversion" {
		t.Fatalf("got %+v", v)
	}
	r.Converted = map[schema.GroupVersionKind]harness.Converted{{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}: {Object: r.Object}}
	if v := evaluate(t, s, r, harness.Cluster{}); v.Decision != harness.Denied || v.Denials[0].Message != "no metrics" {
		t.Errorf("with the object in that version: %+v", v)
	}
	sent := set(t, policy(`{apiGroups: [autoscaling], apiVersions: [v1], operations: [CREATE], resources: [horizontalpodautoscalers]}`,
		"  validations: [{expression: \"object == null\"}]"))
	r.Object = nil
	if v := evaluate(t, sent, r, harness.Cluster{}); v.Decision != harness.Undecided || v.Undecided[0].Need != "conversion" {
		t.Errorf("a policy on the version that was sent, with the object in the other only: %+v", v)
	}
}

func TestProblemsTellWhatTheServerWouldRefuseToCreate(t *testing.T) {
	s := set(t, policy(pods, "  variables: [{name: x, expression: 'object.'}]\n  validations: [{expression: '1'}, {expression: \"true\", messageExpression: '1'}]"))
	var fields []string
	for _, p := range s.Problems() {
		fields = append(fields, p.Field)
		if p.Create || p.Policy != "p" {
			t.Errorf("problem %+v", p)
		}
	}
	if got, want := fmt.Sprint(fields), "[variables[0] validations[0] validations[1].messageExpression]"; got != want {
		t.Errorf("problems at %s, want %s", got, want)
	}
}

func TestAnExpressionThatTheCompilerPanicsOnIsAProblem(t *testing.T) {
	s := set(t, policy(pods, "  validations: [{expression: '[?object].size() == 1'}]"))
	problems := s.Problems()
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "panics") {
		t.Errorf("problems %v", problems)
	}
	if v := evaluate(t, s, createPod(object(t, plainPod)), harness.Cluster{}); v.Decision != harness.Denied {
		t.Errorf("got %+v", v)
	}
}

func TestASetIsSafeForConcurrentUse(t *testing.T) {
	_, _, s := benchSet(t, 3)
	r := createPod(object(t, plainPod))
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for i := range 8 {
		wg.Go(func() {
			req, c := r, harness.Cluster{}
			if err := harness.Complete(&req, c, now); err != nil {
				errs <- err
				return
			}
			p, err := harness.Prepare(req, c)
			if err != nil {
				errs <- err
				return
			}
			for range 20 {
				if v := s.Evaluate(context.Background(), p, harness.Options{Trace: i%2 == 0}); v.Decision != harness.Allowed {
					errs <- errors.New(v.Message)
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

func TestReviewsAndPoliciesAreSeenByNoPolicy(t *testing.T) {
	s := set(t, policy(`{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}`, "  validations: [{expression: \"false\"}]"))
	for _, gvr := range []schema.GroupVersionResource{
		{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	} {
		v := evaluate(t, s, harness.Request{Operation: admission.Create, Resource: gvr, Object: map[string]any{}}, harness.Cluster{})
		if v.Decision != harness.Allowed || v.Trace[0].Skipped.By != "excluded" {
			t.Errorf("%s: %+v", gvr.Resource, v)
		}
	}
}
