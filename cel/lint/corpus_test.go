package lint

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// The corpus is expressions whose truth is written down beside them: those of right.yaml cannot fail
// although they look as if they could, those of wrong.yaml can although they look as if they could
// not. The evaluator is asked as well: every request of wrong.yaml makes its expression fail, none of
// right.yaml does.

// corpusCase is one expression with what it stands in.
type corpusCase struct {
	Name string
	// Match is operations and resources, as in "CREATE,UPDATE pods deployments.apps/scale".
	Match      string
	Conditions []string
	Variables  []map[string]string
	Expr       string // of the validation, "true" if it is left out
	Message    string // the message expression
	Annotation string // an audit annotation
	// At is the expression that the case is about: the validation unless it says otherwise.
	At string
	// Raw: objects are as people write them.
	Raw bool
	// ParamKind is the kind of the params; NoParamRef: the binding has none.
	ParamKind  string
	NoParamRef bool
	// Unproved says what the analysis lacks to prove an expression that cannot fail.
	Unproved string
	Requests []corpusRequest
}

// corpusRequest is a request, as it differs from a plain one: objects are merged into the skeleton of
// their kind.
type corpusRequest struct {
	Op, Resource    string
	Object, Old     map[string]any
	User            *user.DefaultInfo
	NoGroups        bool
	NamespaceLabels map[string]string
	Collection      bool
	Params          map[string]any
}

func readYAML(t testing.TB, file string, into any) {
	t.Helper()
	text, err := os.ReadFile("testdata/corpus/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// corpusResources are the built-in kinds and the corpus' own.
var corpusResources = sync.OnceValue(func() *schema.Table {
	text, err := os.ReadFile("testdata/corpus/widget-crd.yaml")
	if err != nil {
		panic(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		panic(err)
	}
	table, err := schema.BuiltIn(schema.Newest).WithCRDs(crd)
	if err != nil {
		panic(err)
	}
	return table
})

func TestCorpusOfWhatCannotFail(t *testing.T) {
	cases := corpus(t, "right.yaml")
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			set := c.set(t)
			for i, r := range c.Requests {
				if failed := failures(set, prepared(t, c, r), t); failed[c.at()] != "" {
					t.Errorf("request %d: the evaluator fails: %s", i, failed[c.at()])
				}
			}
			switch p := c.proof(t, set); {
			case !p.Proved() && c.Unproved == "":
				t.Errorf("%s\nis not proved: %s", p.Text, opens(p))
			case p.Proved() && c.Unproved != "":
				t.Errorf("%s\nis proved; take its \"unproved\" away", p.Text)
			}
		})
	}
	t.Logf("%d expressions", len(cases))
}

func TestCorpusOfWhatCanFail(t *testing.T) {
	cases := corpus(t, "wrong.yaml")
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if len(c.Requests) == 0 {
				t.Error("no request that shows it")
			}
			set := c.set(t)
			for i, r := range c.Requests {
				if failures(set, prepared(t, c, r), t)[c.at()] == "" {
					t.Errorf("request %d: the evaluator does not fail", i)
				}
			}
			if p := c.proof(t, set); p.Proved() {
				t.Errorf("%s\nis proved and fails", p.Text)
			}
		})
	}
	t.Logf("%d expressions", len(cases))
}

func corpus(t *testing.T, file string) []corpusCase {
	var cases []corpusCase
	readYAML(t, file, &cases)
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.Name] {
			t.Errorf("two cases are named %q", c.Name)
		}
		names[c.Name] = true
	}
	if len(cases) < 80 {
		t.Errorf("%s has %d cases, expected at least 80", file, len(cases))
	}
	return cases
}

func opens(p Proof) string {
	var texts []string
	for _, o := range p.Open {
		texts = append(texts, fmt.Sprintf("%s, %s at `%s`: %s", o.Case, o.Field, o.Source, o.Why))
	}
	return strings.Join(texts, "\n\t")
}

func (c corpusCase) at() string {
	if c.At == "" {
		return "validations[0]"
	}
	return c.At
}

func (c corpusCase) proof(t *testing.T, set *harness.Set) Proof {
	o := Options{Resources: corpusResources()}
	if c.Raw {
		o.Assume = schema.Raw
	}
	proofs, err := Total(set, "case", o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range proofs {
		if p.Field == c.at() {
			return p
		}
	}
	t.Fatalf("there is no %s", c.at())
	return Proof{}
}

// set is the case's policy.
func (c corpusCase) set(t testing.TB) *harness.Set {
	spec := admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: constraints(t, c.Match),
		Validations:      []admissionv1.Validation{{Expression: c.Expr, MessageExpression: c.Message}},
	}
	if c.Expr == "" {
		spec.Validations[0].Expression = "true"
	}
	for i, x := range c.Conditions {
		spec.MatchConditions = append(spec.MatchConditions, admissionv1.MatchCondition{Name: fmt.Sprint("c", i), Expression: x})
	}
	for _, v := range c.Variables {
		for name, x := range v {
			spec.Variables = append(spec.Variables, admissionv1.Variable{Name: name, Expression: x})
		}
	}
	if c.Annotation != "" {
		spec.AuditAnnotations = []admissionv1.AuditAnnotation{{Key: "a", ValueExpression: c.Annotation}}
	}
	binding := admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "case", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}
	if c.ParamKind != "" {
		apiVersion, kind, _ := strings.Cut(c.ParamKind, " ")
		spec.ParamKind = &admissionv1.ParamKind{APIVersion: apiVersion, Kind: kind}
		if !c.NoParamRef {
			deny := admissionv1.DenyAction
			binding.ParamRef = &admissionv1.ParamRef{Name: "params", Namespace: "team", ParameterNotFoundAction: &deny}
		}
	}
	return compiledSet(t, spec, binding)
}

func compiledSet(t testing.TB, spec admissionv1.ValidatingAdmissionPolicySpec, binding admissionv1.ValidatingAdmissionPolicyBindingSpec) *harness.Set {
	t.Helper()
	set, err := harness.Compile(
		[]*admissionv1.ValidatingAdmissionPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "case"}, Spec: spec}},
		[]*admissionv1.ValidatingAdmissionPolicyBinding{{ObjectMeta: metav1.ObjectMeta{Name: "case"}, Spec: binding}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range set.Problems() {
		if !p.Create { // functions that newer servers know
			t.Fatal(p)
		}
	}
	return set
}

func constraints(t testing.TB, match string) *admissionv1.MatchResources {
	t.Helper()
	words := strings.Fields(match)
	m := &admissionv1.MatchResources{}
	for _, word := range words[1:] {
		gvr, subresource := resourceOf(t, word)
		rule := admissionv1.NamedRuleWithOperations{}
		for op := range strings.SplitSeq(words[0], ",") {
			rule.Operations = append(rule.Operations, admissionv1.OperationType(op))
		}
		name := gvr.Resource
		if subresource != "" {
			name += "/" + subresource
		}
		rule.Rule = admissionv1.Rule{APIGroups: []string{gvr.Group}, APIVersions: []string{gvr.Version}, Resources: []string{name}}
		m.ResourceRules = append(m.ResourceRules, rule)
	}
	return m
}

func resourceOf(t testing.TB, word string) (kschema.GroupVersionResource, string) {
	t.Helper()
	name, subresource, _ := strings.Cut(word, "/")
	r, ok := corpusResources().ForResource(name)
	if !ok {
		t.Fatalf("there is no resource %s", name)
	}
	return r.GVR, subresource
}

var skeletons = sync.OnceValues(func() (map[string]map[string]any, error) {
	text, err := os.ReadFile("testdata/corpus/skeletons.yaml")
	if err != nil {
		return nil, err
	}
	var s map[string]map[string]any
	return s, yaml.UnmarshalStrict(text, &s)
})

// team is the metadata of a namespace as the server stores it.
func team(labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "team", Labels: labels, UID: "9c2d6f0e-4b1a-4c3e-8f57-2a6b1d0e9c44", CreationTimestamp: metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// prepared is a request as the evaluator takes it.
func prepared(t *testing.T, c corpusCase, r corpusRequest) *harness.Prepared {
	t.Helper()
	words := strings.Fields(c.Match)
	if r.Op == "" {
		r.Op, _, _ = strings.Cut(words[0], ",")
	}
	if r.Resource == "" {
		r.Resource = words[1]
	}
	gvr, subresource := resourceOf(t, r.Resource)
	endpoint, ok := corpusResources().Lookup(gvr, subresource)
	if !ok {
		t.Fatalf("there is no endpoint %s", r.Resource)
	}
	skeletons, err := skeletons()
	if err != nil {
		t.Fatal(err)
	}
	skeleton := skeletons[endpoint.Kind.Kind]
	if skeleton == nil {
		t.Fatalf("there is no skeleton of a %s", endpoint.Kind.Kind)
	}
	request := harness.Request{Operation: admission.Operation(r.Op), Resource: gvr, Subresource: subresource, Kind: endpoint.Kind, Collection: r.Collection}
	if r.Op != "DELETE" {
		request.Object = numbers64(merged(skeleton, r.Object)).(map[string]any)
	}
	if r.Op == "UPDATE" || r.Op == "DELETE" {
		request.OldObject = numbers64(merged(skeleton, r.Old)).(map[string]any)
	}
	if endpoint.Namespaced {
		request.Namespace = "team"
	}
	if r.Op == "CONNECT" {
		request.Name = "x"
	}
	request.User = user.DefaultInfo{Name: "ann"}
	if r.User != nil {
		request.User = *r.User
	}
	cluster := harness.Cluster{Resources: corpusResources(), Allow: []harness.Permission{}, Params: []*unstructured.Unstructured{},
		Namespaces: map[string]*corev1.Namespace{"team": {ObjectMeta: team(r.NamespaceLabels)}}}
	if c.ParamKind != "" {
		apiVersion, kind, _ := strings.Cut(c.ParamKind, " ")
		param := numbers64(merged(map[string]any{"apiVersion": apiVersion, "kind": kind,
			"metadata": map[string]any{"name": "params", "namespace": "team"}}, r.Params)).(map[string]any)
		cluster.Params = append(cluster.Params, &unstructured.Unstructured{Object: param})
	}
	if !c.Raw {
		if err := harness.Complete(&request, cluster, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
	}
	if r.NoGroups {
		request.User.Groups = nil
	}
	p, err := harness.Prepare(request, cluster)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// merged is a map with the entries of another put over it, at every depth.
func merged(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		x, isMap := v.(map[string]any)
		y, hasMap := out[k].(map[string]any)
		if isMap && hasMap {
			v = merged(y, x)
		}
		out[k] = v
	}
	return out
}

// numbers64 gives whole numbers the type that the decoder of the API server gives them.
func numbers64(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = numbers64(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = numbers64(x)
		}
		return out
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// failures are the errors of the expressions of a policy on a request, by field. Those of match
// conditions do not count where another is false, which skips the policy.
func failures(set *harness.Set, p *harness.Prepared, t testing.TB) map[string]string {
	v := set.Evaluate(context.Background(), p, harness.Options{Trace: true})
	if len(v.Undecided) > 0 {
		t.Fatalf("the request is undecided: %v", v.Undecided)
	}
	failed := map[string]string{}
	for _, trace := range v.Trace {
		if len(trace.Expressions) == 0 {
			t.Fatalf("the policy does not see the request: %+v", trace.Skipped)
		}
		for _, x := range trace.Expressions {
			absorbed := strings.HasPrefix(x.Field, "matchConditions[") && trace.Skipped != nil && trace.Skipped.Name != ""
			if x.Error != "" && !absorbed {
				failed[x.Field] = x.Error
			}
		}
	}
	return failed
}
