package kyverno_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	policiesv1 "github.com/kyverno/api/api/policies.kyverno.io/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/kyverno"
	"hangar.io/holdshort/policies/profile"
)

func render(t *testing.T, p profile.Profile, o policies.Options) policies.Manifests {
	t.Helper()
	m, err := policies.Render(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func files(t *testing.T, m policies.Manifests) []policies.File {
	t.Helper()
	all, err := kyverno.Files(m)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// resolve returns the cases of a fixture file for a Profile, which may be nil.
func resolve(t *testing.T, path string, p *profile.Profile) []fixture.Case {
	t.Helper()
	file, err := fixture.LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := fixture.Inputs{Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	if p != nil {
		in.Users, in.Profile = p.User, p.Value
	}
	cases, err := file.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		return cases
	}
	return slices.DeleteFunc(cases, func(c fixture.Case) bool { return !c.In(string(p.Tier)) || c.Lacks != "" })
}

// TestEveryCaseGetsItsAnswerFromWhatKyvernoMakesOfThePolicies goes from the bytes that are applied,
// through the API types of Kyverno, to the policies that Kyverno creates.
func TestEveryCaseGetsItsAnswerFromWhatKyvernoMakesOfThePolicies(t *testing.T) {
	for _, p := range profile.Builtin() {
		m := render(t, p, policies.Options{})
		applied := decode(t, string(policies.Join(files(t, m))))
		ran := 0
		for _, policy := range m.Policies {
			compiled, binding, err := kyverno.Translate(applied[policy.Name])
			if err != nil {
				t.Fatal(err)
			}
			// Kyverno drops the names of validations, which the cases speak of.
			compiled.Annotations = map[string]string{policies.NamesAnnotation: policy.Annotations[policies.NamesAnnotation]}
			set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{compiled}, []*admissionv1.ValidatingAdmissionPolicyBinding{binding})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range resolve(t, filepath.Join("..", "testdata", policy.Name+".yaml"), &p) {
				c.Policy = compiled.Name
				ran++
				if r := fixture.Run(t.Context(), set, c); !r.OK {
					t.Errorf("%s: %s:%d: %s: expected %s, have %s: %s", p.Name, c.File, c.Line, c.Name, r.Expected, r.Actual, r.Decisive)
				}
			}
		}
		if ran < 90 {
			t.Errorf("%s: %d cases ran", p.Name, ran)
		}
	}
}

func TestPoliciesAreCompiledByKyvernoAndNotJudgedByAWebhook(t *testing.T) {
	for _, f := range files(t, render(t, profile.Builtin()[1], policies.Options{})) {
		header := "# Made by policygen render --target kyverno: change the source or the profile, and render again.\n# source: policies/"
		if !bytes.HasPrefix(f.Data, []byte(header)) {
			t.Errorf("%s begins with %.200s", f.Path, f.Data)
		}
		if f.Path == "kyverno-roles.yaml" {
			continue
		}
		for _, want := range []string{
			"\n    podControllers:\n      controllers: []\n", // absent would mean all of them
			"\n    validatingAdmissionPolicy:\n      enabled: true\n",
			"\n    background:\n      enabled: false\n",
			"\n  failurePolicy: Fail\n", "\n  validationActions:\n    - Deny\n",
		} {
			if !bytes.Contains(f.Data, []byte(want)) {
				t.Errorf("%s lacks %q", f.Path, want)
			}
		}
	}
	m := render(t, profile.Builtin()[0], policies.Options{Action: admissionv1.Audit})
	all, err := kyverno.Render(m)
	if err != nil || !slices.Equal(all[0].Spec.ValidationAction, []admissionv1.ValidationAction{admissionv1.Audit}) {
		t.Errorf("%v, %v", all, err)
	}
}

// TestKyvernosOwnSchemaAcceptsThePoliciesAsTheyAre holds the manifests to the CustomResourceDefinition
// that Kyverno publishes beside its API types: nothing is refused, and no field is dropped.
func TestKyvernosOwnSchemaAcceptsThePoliciesAsTheyAre(t *testing.T) {
	schema := publishedSchema(t)
	pruned, err := structural.NewStructural(schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profile.Builtin() {
		for _, f := range files(t, render(t, p, policies.Options{})) {
			var object map[string]any
			if err := yaml.Unmarshal(f.Data, &object); err != nil {
				t.Fatal(err)
			}
			if object["kind"] != "ValidatingPolicy" {
				continue
			}
			for _, e := range validation.ValidateCustomResource(nil, object, validator) {
				t.Errorf("%s %s: %v", p.Name, f.Path, e)
			}
			if unknown := pruning.PruneWithOptions(object, pruned, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}); len(unknown) > 0 {
				t.Errorf("%s %s: Kyverno does not know %v", p.Name, f.Path, unknown)
			}
		}
	}
	broken := map[string]any{"spec": map[string]any{"failurePolicy": "Perhaps"}}
	if len(validation.ValidateCustomResource(nil, broken, validator)) == 0 {
		t.Error("the schema accepts a failure policy that does not exist")
	}
}

func publishedSchema(t *testing.T) *apiextensions.JSONSchemaProps {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/kyverno/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config/crds/policies.kyverno.io_validatingpolicies.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == policiesv1.GroupVersion.Version {
			schema := &apiextensions.JSONSchemaProps{}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, schema, nil); err != nil {
				t.Fatal(err)
			}
			return schema
		}
	}
	t.Fatalf("Kyverno has no version %s", policiesv1.GroupVersion.Version)
	return nil
}

func TestWhatKyvernoCannotDoIsRefusedWithPolicyFieldAndReason(t *testing.T) {
	ignore := admissionv1.Ignore
	type (
		policy  = admissionv1.ValidatingAdmissionPolicy
		binding = admissionv1.ValidatingAdmissionPolicyBinding
	)
	tests := map[string]struct {
		change func(*policy, *binding)
		want   string
	}{
		"nothing that is in the way": {func(*policy, *binding) {}, ""},
		"a word in a text": {func(p *policy, _ *binding) {
			p.Spec.Validations[0].Expression = "object.metadata.name != 'authorizer' // params"
		}, ""},
		"the authorizer in a validation": {func(p *policy, _ *binding) {
			p.Spec.Validations[0].Expression = "authorizer.requestResource.check('bind').allowed()"
		}, "spec.validations[0].expression uses authorizer, which Kyverno does not have"},
		"the authorizer in a match condition": {func(p *policy, _ *binding) {
			p.Spec.MatchConditions = []admissionv1.MatchCondition{{Name: "a", Expression: "!authorizer.group('').resource('pods').check('get').allowed()"}}
		}, "spec.matchConditions[0].expression uses authorizer"},
		"params in a variable": {func(p *policy, _ *binding) {
			p.Spec.Variables = []admissionv1.Variable{{Name: "most", Expression: "params.data.most"}}
		}, "spec.variables[0].expression uses params"},
		"params in a message": {func(p *policy, _ *binding) {
			p.Spec.Validations[0].MessageExpression = "'at most ' + params.data.most"
		}, "spec.validations[0].messageExpression uses params"},
		"params in an audit annotation": {func(p *policy, _ *binding) {
			p.Spec.AuditAnnotations = []admissionv1.AuditAnnotation{{Key: "most", ValueExpression: "params.data.most"}}
		}, "spec.auditAnnotations[0].valueExpression uses params"},
		"a kind of params": {func(p *policy, _ *binding) {
			p.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
		},
			"spec.paramKind is set: a ValidatingPolicy has no params"},
		"a binding with params": {func(_ *policy, b *binding) { b.Spec.ParamRef = &admissionv1.ParamRef{Name: "limits"} },
			"the binding's spec.paramRef is set: a ValidatingPolicy has no params"},
		"a binding of some requests": {func(_ *policy, b *binding) { b.Spec.MatchResources = &admissionv1.MatchResources{} },
			"the binding's spec.matchResources is set: Kyverno binds a policy to all requests"},
		"the namespace in a match condition": {func(p *policy, _ *binding) {
			p.Spec.MatchConditions = []admissionv1.MatchCondition{{Name: "a", Expression: "has(namespaceObject.metadata.labels)"}}
		}, "spec.matchConditions[0].expression uses namespaceObject, which is null there once the policy is compiled"},
		"a policy that fails open": {func(p *policy, _ *binding) { p.Spec.FailurePolicy = &ignore },
			"spec.failurePolicy is Ignore: Kyverno compiles every policy into one that fails closed"},
		"a policy about nothing": {func(p *policy, _ *binding) { p.Spec.MatchConstraints = nil },
			"spec.matchConstraints has no resource rule, which Kyverno demands"},
		"a text that is replaced": {func(p *policy, _ *binding) {
			p.Spec.Validations[0].Expression = "object.metadata.name != 'exceptions.allowedImages'"
		}, "spec.validations[0].expression holds the text exceptions.allowedImages, which Kyverno replaces by variables.allowedImages"},
		"an expression that does not parse": {func(p *policy, _ *binding) { p.Spec.Validations[0].Expression = "object." },
			"spec.validations[0].expression is broken: "},
	}
	for name, test := range tests {
		m := render(t, profile.Builtin()[0], policies.Options{})
		m.Policies, m.Bindings = m.Policies[:1], m.Bindings[:1]
		test.change(m.Policies[0], m.Bindings[0])
		_, err := kyverno.Render(m)
		want := fmt.Sprintf("policy %s cannot be rendered for Kyverno: %s", m.Policies[0].Name, test.want)
		if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKyvernoGetsTheRightsThatItNeedsByAggregation(t *testing.T) {
	roles := func(p profile.Profile) map[string]rbacv1.ClusterRole {
		all := files(t, render(t, p, policies.Options{}))
		found := map[string]rbacv1.ClusterRole{}
		for document := range strings.SplitSeq(string(all[len(all)-1].Data), "---\n") {
			var r rbacv1.ClusterRole
			if err := yaml.UnmarshalStrict([]byte(document), &r); err != nil {
				t.Fatal(err)
			}
			found[r.Name] = r
		}
		return found
	}
	p := profile.Builtin()[0]
	have := roles(p)
	read, cleanup := have["holdshort:kyverno-read"], have["holdshort:kyverno-cleanup"]
	for _, controller := range []string{"admission", "background", "reports"} {
		if read.Labels["rbac.kyverno.io/aggregate-to-"+controller+"-controller"] != "true" {
			t.Errorf("the %s controller may not read debug containers", controller)
		}
	}
	if read.Rules[0].Resources[0] != "pods/ephemeralcontainers" || slices.Contains(read.Rules[0].Verbs, "delete") {
		t.Errorf("the role for reading is %+v", read)
	}
	if cleanup.Labels["rbac.kyverno.io/aggregate-to-cleanup-controller"] != "true" || len(cleanup.Rules) != 2 {
		t.Errorf("the role for the clean-up is %+v", cleanup)
	}
	for _, r := range cleanup.Rules {
		if !slices.Equal(r.Verbs, []string{"list", "watch", "delete"}) {
			t.Errorf("the cleanup controller may %v %v", r.Verbs, r.Resources)
		}
	}
	p.TTL.Label = "reaper.example.com/ttl"
	if have := roles(p); len(have) != 1 {
		t.Errorf("Kyverno may delete what it does not clean up: %v", have)
	}
}
