package schema_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// probe asks the evaluator about one path, and says what the shape answers.
type probe struct{ expression, want string }

var identifier = regexp.MustCompile(`^[a-zA-Z_]+$`)

var celTypes = map[schema.Kinds]string{
	schema.Null: "null_type", schema.Bool: "bool", schema.Int: "int", schema.Double: "double",
	schema.String: "string", schema.List: "list", schema.Map: "map",
}

// probes follow a shape through the maps that are always there.
func probes(s *schema.Shape, path string, depth int) []probe {
	var out []probe
	for _, name := range s.Fields() {
		if !identifier.MatchString(name) || name == "namespace" {
			continue
		}
		f, _ := s.Field(name)
		at := path + "." + name
		if f.Always {
			out = append(out, probe{"has(" + at + ")", "true"})
		}
		if !f.Shape.Dynamic {
			var types []string
			for kind, name := range celTypes {
				if f.Shape.Kinds&kind != 0 {
					types = append(types, "type("+at+") == "+name)
				}
			}
			out = append(out, probe{"!has(" + at + ") || " + strings.Join(types, " || "), "true"})
		}
		if f.Shape.NonEmpty {
			out = append(out, probe{"!has(" + at + ") || " + at + " == null || size(" + at + ") > 0", "true"})
		}
		if f.Always && f.Shape.Kinds == schema.Map && depth > 0 {
			out = append(out, probes(f.Shape, at, depth-1)...)
		}
	}
	if s.Closed() {
		out = append(out, probe{"has(" + path + ".noSuchKey)", "false"})
	}
	return out
}

// ask evaluates the probes on the API server's own evaluator.
func ask(t *testing.T, all []probe, r harness.Request, c harness.Cluster, paramKind *admissionv1.ParamKind) {
	t.Helper()
	p := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.ParamKind = paramKind
	p.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{"*"}, Rule: admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*", "*/*"}},
	}}}}
	b := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	b.Spec.PolicyName, b.Spec.ValidationActions = "p", []admissionv1.ValidationAction{admissionv1.Deny}
	if paramKind != nil {
		b.Spec.ParamRef = &admissionv1.ParamRef{Name: "settings", Namespace: "default"}
	}
	// Several in one expression: to compile is what takes time.
	const together = 12
	for part := range slices.Chunk(all, together) {
		var asked []string
		for _, probe := range part {
			asked = append(asked, fmt.Sprintf("(%s) == %s", probe.expression, probe.want))
		}
		p.Spec.Validations = append(p.Spec.Validations, admissionv1.Validation{Expression: strings.Join(asked, " && ")})
	}
	s, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, []*admissionv1.ValidatingAdmissionPolicyBinding{b})
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Complete(&r, c, time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	prepared, err := harness.Prepare(r, c)
	if err != nil {
		t.Fatal(err)
	}
	v := s.Evaluate(context.Background(), prepared, harness.Options{Trace: true})
	for _, d := range v.Denials {
		if d.Index < 0 {
			t.Fatalf("%+v", d)
		}
		t.Errorf("the shape says otherwise of %s: %s", v.Trace[0].Expressions[d.Index].Decisive, d.Message)
	}
	if v.Decision == harness.Undecided {
		t.Fatalf("%+v", v.Undecided)
	}
	if len(all) < 10 {
		t.Errorf("only %d probes: they prove too little", len(all))
	}
}

func objectOf(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return whole(o).(map[string]any)
}

func whole(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}

// TestTheServersEvaluatorAgrees asks the API server's own evaluator whether what a shape says of
// small objects and of requests is so.
func TestTheServersEvaluatorAgrees(t *testing.T) {
	for _, c := range []struct {
		name                  string
		operation             admission.Operation
		resource, subresource string
		namespace, object     string
		old                   string
	}{
		{"a pod", admission.Create, "pods", "", "default", `{metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}`, ""},
		{"a pod with a generated name", admission.Create, "pods", "", "default", `{metadata: {generateName: a-}, spec: {containers: [{name: c, image: i}]}}`, ""},
		{"an exec", admission.Connect, "pods", "exec", "default", `{}`, ""},
		{"a role without rules", admission.Create, "roles", "", "default", `{metadata: {name: a}}`, ""},
		{"a role binding", admission.Create, "rolebindings", "", "default", `{metadata: {name: a}, roleRef: {kind: Role, name: r}}`, ""},
		{"a namespace", admission.Create, "namespaces", "", "", `{metadata: {name: a}}`, ""},
		{"a network policy", admission.Create, "networkpolicies", "", "default", `{metadata: {name: a}, spec: {}}`, ""},
		{"a job", admission.Create, "jobs", "", "default", `{metadata: {name: a}, spec: {selector: {}, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`, ""},
		{"a deployment's update", admission.Update, "deployments", "", "default", `{metadata: {name: a}, spec: {selector: {}, template: {spec: {containers: [{name: c, image: i}]}}}}`,
			`{metadata: {name: a}, spec: {selector: {}, template: {spec: {containers: [{name: c, image: i}]}}}}`},
		{"a claim's delete", admission.Delete, "persistentvolumeclaims", "", "default", "", `{metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := schema.BuiltIn(schema.Newest)
			main, _ := table.ForResource(c.resource)
			endpoint, ok := table.Lookup(main.GVR, c.subresource)
			if !ok {
				t.Fatal("no such endpoint")
			}
			r := harness.Request{
				Operation: c.operation, Resource: endpoint.GVR, Subresource: c.subresource, Namespace: c.namespace, Name: "a",
				Object: objectOf(t, c.object), OldObject: objectOf(t, c.old), User: user.DefaultInfo{Name: "jane"},
			}
			if strings.Contains(c.object, "generateName") {
				r.Name = ""
			}
			all := probes(schema.RequestShape(schema.RequestCase{Operation: c.operation, Subresource: c.subresource, Namespaced: endpoint.Namespaced, Kind: endpoint.Kind}), "dyn(request)", 2)
			shape := table.ObjectShape(endpoint.Kind, schema.Server)
			if c.operation == admission.Connect {
				shape = schema.OptionsShape(c.resource + "/" + c.subresource)
			}
			if r.Object != nil {
				all = append(all, probes(shape, "object", 2)...)
			}
			if r.OldObject != nil {
				all = append(all, probes(shape, "oldObject", 2)...)
			}
			cluster := harness.Cluster{}
			if c.name == "a pod" {
				cluster.Namespaces = map[string]*corev1.Namespace{"default": {ObjectMeta: metav1.ObjectMeta{UID: "u", CreationTimestamp: metav1.Now()}}}
				all = append(all, probes(schema.NamespaceShape(schema.Server), "dyn(namespaceObject)", 2)...)
			}
			ask(t, all, r, cluster, nil)
		})
	}
}

// Params of a built-in kind are typed, those of a custom kind are not: an empty map is there.
func TestTheServersEvaluatorAgreesOnParams(t *testing.T) {
	table := schema.BuiltIn(schema.Newest)
	pod := harness.Request{
		Operation: admission.Create, Resource: kschema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespace: "default",
		Object: objectOf(t, `{metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}`), User: user.DefaultInfo{Name: "jane"},
	}
	metadata := map[string]any{"name": "settings", "namespace": "default", "uid": "u", "creationTimestamp": "2024-01-02T03:04:05Z"}
	for kind, typed := range map[kschema.GroupVersionKind]bool{
		{Version: "v1", Kind: "ConfigMap"}:                          true,
		{Group: "example.com", Version: "v1", Kind: "SettingsKind"}: false,
	} {
		param := map[string]any{"metadata": maps.Clone(metadata), "data": map[string]any{}}
		param["apiVersion"], param["kind"] = kind.ToAPIVersionAndKind()
		all := append(probes(table.ParamShape(kind), "params", 2), probe{"has(params.data)", fmt.Sprint(!typed)})
		for len(all) < 10 {
			all = append(all, probe{"has(params.metadata)", "true"})
		}
		f, known := table.ParamShape(kind).Field("data")
		if known != typed || typed && (f.Always || !f.Shape.NonEmpty) {
			t.Errorf("%s: data is %+v, known %v", kind.Kind, f, known)
		}
		apiVersion, name := kind.ToAPIVersionAndKind()
		ask(t, all, pod, harness.Cluster{Params: []*unstructured.Unstructured{{Object: param}}}, &admissionv1.ParamKind{APIVersion: apiVersion, Kind: name})
	}
}
