package policies_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/ast"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

func render(t *testing.T, p profile.Profile) policies.Manifests {
	t.Helper()
	m, err := policies.Render(p, policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func stream(t *testing.T, m policies.Manifests) []byte {
	t.Helper()
	files, err := m.Files()
	if err != nil {
		t.Fatal(err)
	}
	return policies.Join(files)
}

func TestTheRuleSetIsValid(t *testing.T) {
	if err := policies.Validate(); err != nil {
		t.Error(err)
	}
}

// TestEverythingCompilesInTheOldestKubernetes uses the environment for new expressions, which is
// narrower than the one that evaluates stored ones.
func TestEverythingCompilesInTheOldestKubernetes(t *testing.T) {
	for _, v := range []*version.Version{version.MajorMinor(1, 30), environment.DefaultCompatibilityVersion()} {
		for _, p := range profile.Builtin() {
			for _, policy := range render(t, p).Policies {
				t.Run(v.String()+" "+p.Name+" "+policy.Name, func(t *testing.T) {
					for _, problem := range compile(t, policy, environment.MustBaseEnvSet(v)) {
						t.Error(problem)
					}
				})
			}
		}
	}
}

func TestTheCompileTestSeesErrors(t *testing.T) {
	policy := render(t, profile.Builtin()[0]).Policies[0].DeepCopy()
	policy.Spec.MatchConditions = []admissionv1.MatchCondition{{Name: "a", Expression: "variables.x"}}
	policy.Spec.Variables = append(policy.Spec.Variables, admissionv1.Variable{Name: "b", Expression: "'x'.format(["})
	policy.Spec.Validations = append(policy.Spec.Validations,
		admissionv1.Validation{Expression: "request.userInfo.name == 'x'"}, // no such field
		admissionv1.Validation{Expression: "'not a bool'"},
		admissionv1.Validation{Expression: "isIP('::1') && isSemver('1.2.3')"}) // semver came with 1.34
	if n := len(compile(t, policy, environment.MustBaseEnvSet(version.MajorMinor(1, 30)))); n != 5 {
		t.Errorf("%d of 5 errors were found", n)
	}
}

// compile returns the errors of a policy's expressions.
func compile(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy, env *environment.EnvSet) []string {
	t.Helper()
	compiler, err := plugincel.NewCompositedCompiler(env)
	if err != nil {
		t.Fatal(err)
	}
	declared := plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
	var problems []string
	check := func(r plugincel.CompilationResult) {
		if r.Error != nil {
			problems = append(problems, r.ExpressionAccessor.GetExpression()+": "+r.Error.Detail)
		}
	}
	plain := plugincel.NewCompiler(env)
	for i := range p.Spec.MatchConditions {
		check(plain.CompileCELExpression((*matchconditions.MatchCondition)(&p.Spec.MatchConditions[i]), declared, environment.NewExpressions))
	}
	for _, v := range p.Spec.Variables {
		check(compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, declared, environment.NewExpressions))
	}
	for _, v := range p.Spec.Validations {
		check(compiler.CompileCELExpression(&validating.ValidationCondition{Expression: v.Expression}, declared, environment.NewExpressions))
	}
	return problems
}

func TestRenderedPoliciesFailClosedAndSpeakOfTheirValidationsByName(t *testing.T) {
	if policies.NamesAnnotation != harness.NamesAnnotation {
		t.Fatalf("policies write %s, the harness reads %s", policies.NamesAnnotation, harness.NamesAnnotation)
	}
	for _, p := range profile.Builtin() {
		m := render(t, p)
		if len(m.Policies) != len(m.Bindings) {
			t.Fatalf("%d policies, %d bindings", len(m.Policies), len(m.Bindings))
		}
		for i, policy := range m.Policies {
			names := harness.ValidationNames(policy)
			if len(names) != len(policy.Spec.Validations) || strings.HasPrefix(names[0], "validations[") {
				t.Errorf("%s: validations are named %v", policy.Name, names)
			}
			if *policy.Spec.FailurePolicy != admissionv1.Fail {
				t.Errorf("%s: failure policy %s", policy.Name, *policy.Spec.FailurePolicy)
			}
			for n, v := range policy.Spec.Validations {
				if *v.Reason != metav1.StatusReasonForbidden || strings.Contains(v.Message, "$") {
					t.Errorf("%s: %s has reason %s, message %q", policy.Name, names[n], *v.Reason, v.Message)
				}
			}
			b := m.Bindings[i]
			if b.Spec.PolicyName != policy.Name || !slices.Equal(b.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}) {
				t.Errorf("binding of %s: %+v", policy.Name, b.Spec)
			}
		}
	}
}

func TestMessagesSpeakOfThePortalAndItsNames(t *testing.T) {
	want := map[string]string{
		"breakglass-pod-delete/debugged":       `Tower may delete only a copy pod (hangar.io/breakglass-copy: "true") or a pod with an ephemeral debug-* container.`,
		"breakglass-rolebinding/prefix":        "Tower may only create RoleBindings named tower-breakglass-*.",
		"breakglass-rolebinding/role":          "A break-glass RoleBinding binds tower-breakglass-debug-live or tower-breakglass-debug-copy (a ClusterRole).",
		"breakglass-rolebinding/subject":       "A break-glass RoleBinding binds its role to Tower's write identity only: one subject, the ServiceAccount system:serviceaccount:tower:tower-writer.",
		"breakglass-rolebinding/ttl":           "A break-glass RoleBinding carries cleanup.kyverno.io/ttl of 15m to 75m (a session plus its one extension of 15m): one of 15m, 30m, 45m, 60m, 75m.",
		"breakglass-rolebinding/managed-by":    "A break-glass RoleBinding carries the label app.kubernetes.io/managed-by: tower-breakglass.",
		"breakglass-rolebinding/metadata":      "A break-glass RoleBinding has no finalizers and no ownerReferences.",
		"breakglass-rolebinding/app-namespace": "A break-glass RoleBinding may only be created in an app namespace (labelled hangar.io/app), and in none of the platform's.",
		"breakglass-rolebinding/second-person": `A Flight break-glass RoleBinding names a requester (hangar.io/breakglass-requester) and an approver (hangar.io/breakglass-approver) who is not the requester, or is marked glass broken (hangar.io/breakglass-glass-broken: "true") with no approver. Both names are of visible ASCII characters.`,
	}
	for _, policy := range render(t, profile.Builtin()[1]).Policies {
		for i, name := range harness.ValidationNames(policy) {
			if w, ok := want[policy.Name+"/"+name]; ok && policy.Spec.Validations[i].Message != w {
				t.Errorf("%s/%s says %q", policy.Name, name, policy.Spec.Validations[i].Message)
			}
			delete(want, policy.Name+"/"+name)
		}
	}
	if len(want) > 0 {
		t.Errorf("there is no %v", want)
	}
}

func TestSecondPersonIsDemandedOnFlightOnly(t *testing.T) {
	for i, want := range []string{"prefix,role,subject,ttl,managed-by,metadata,app-namespace", "prefix,role,subject,ttl,managed-by,metadata,app-namespace,second-person"} {
		for _, p := range render(t, profile.Builtin()[i]).Policies {
			if p.Name == "breakglass-rolebinding" && p.Annotations[policies.NamesAnnotation] != want {
				t.Errorf("%s: %s", profile.Builtin()[i].Name, p.Annotations[policies.NamesAnnotation])
			}
		}
	}
}

func TestYAMLIsDeterministicAndReadsBackAsTheSameObjects(t *testing.T) {
	for _, p := range profile.Builtin() {
		m := render(t, p)
		first, second := stream(t, m), stream(t, render(t, p))
		if !bytes.Equal(first, second) {
			t.Errorf("%s: two renderings differ", p.Name)
		}
		header := "# Made by policygen render --target vap: change the source or the profile, and render again.\n# source: policies/" +
			m.Policies[0].Name + ".go\n# profile: " + p.Name + " " + p.Hash() + "\n"
		if !bytes.HasPrefix(first, []byte(header)) {
			t.Errorf("%s: the header is %.300s", p.Name, first)
		}
		documents := bytes.Split(first, []byte("---\n"))
		if len(documents) != 2*len(m.Policies) {
			t.Fatalf("%s: %d documents for %d policies", p.Name, len(documents), len(m.Policies))
		}
		for i := range m.Policies {
			var policy admissionv1.ValidatingAdmissionPolicy
			var binding admissionv1.ValidatingAdmissionPolicyBinding
			if err := yaml.UnmarshalStrict(documents[2*i], &policy); err != nil || !reflect.DeepEqual(&policy, m.Policies[i]) {
				t.Errorf("%s: policy %s reads back differently, %v", p.Name, m.Policies[i].Name, err)
			}
			if err := yaml.UnmarshalStrict(documents[2*i+1], &binding); err != nil || !reflect.DeepEqual(&binding, m.Bindings[i]) {
				t.Errorf("%s: binding %s reads back differently, %v", p.Name, m.Bindings[i].Name, err)
			}
		}
	}
}

func TestTheActionOfTheBindingsCanBeMilder(t *testing.T) {
	m, err := policies.Render(profile.Builtin()[0], policies.Options{Action: admissionv1.Warn})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range m.Bindings {
		if !slices.Equal(b.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Warn}) {
			t.Errorf("%s has %v", b.Name, b.Spec.ValidationActions)
		}
	}
}

func TestAProfileMovesPoliciesBetweenTiers(t *testing.T) {
	names := func(tiers map[string][]profile.Tier) []string {
		p := profile.Builtin()[0]
		p.Tiers = tiers
		var names []string
		for _, policy := range render(t, p).Policies {
			names = append(names, policy.Name)
		}
		return names
	}
	all := names(nil)
	const moved = "breakglass-pod-delete"
	rest := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == moved })
	for name, c := range map[string]struct {
		tiers []profile.Tier
		want  []string
	}{
		"switched off":      {nil, rest},
		"on the other tier": {[]profile.Tier{profile.Flight}, rest},
		"on both":           {profile.Tiers, all},
	} {
		if have := names(map[string][]profile.Tier{moved: c.tiers}); !slices.Equal(have, c.want) {
			t.Errorf("%s: %v", name, have)
		}
	}
	p := profile.Builtin()[0]
	p.Tiers = map[string][]profile.Tier{"breakglass-pods": nil}
	if _, err := policies.Render(p, policies.Options{}); err == nil || !strings.Contains(err.Error(), `profile ground: tiers: no policy "breakglass-pods": expected one of `) {
		t.Errorf("a tier of no policy: %v", err)
	}
}

func TestAHostileProfileCannotChangeAnExpression(t *testing.T) {
	shape := func(writer, portal string) (string, string) {
		p := profile.Builtin()[0]
		p.Identities.Writer.User, p.Names.Portal = writer, portal
		p, err := p.Complete()
		if err != nil {
			t.Fatal(err)
		}
		var shape, texts strings.Builder
		for _, policy := range render(t, p).Policies {
			for _, c := range policy.Spec.MatchConditions {
				describe(t, &shape, &texts, c.Expression)
			}
			for _, v := range policy.Spec.Variables {
				describe(t, &shape, &texts, v.Expression)
			}
		}
		return shape.String(), texts.String()
	}
	want, _ := shape("plain", "Tower")
	for _, hostile := range []string{`' || true || '`, `"`, `\`, `\'`, "'''", "${HOME}", "$prefix", "{{.x}}", "a // b", "🛩️", strings.Repeat("'", 512)} {
		have, texts := shape(hostile, hostile)
		if have != want {
			t.Errorf("the writer %q changes an expression", hostile)
		}
		if !strings.Contains(texts, "\x00"+hostile+"\x00") {
			t.Errorf("the writer %q does not arrive", hostile)
		}
	}
}

// describe prints the shape of an expression without the values of its constants, and the values.
func describe(t *testing.T, shape, texts *strings.Builder, expr string) {
	t.Helper()
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.NewExpressions)
	if err != nil {
		t.Fatal(err)
	}
	parsed, iss := env.Parse(expr)
	if iss.Err() != nil {
		t.Fatalf("%s: %v", expr, iss.Err())
	}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		shape.WriteByte(byte('0' + e.Kind()))
		switch e.Kind() {
		case ast.CallKind:
			shape.WriteString(e.AsCall().FunctionName())
		case ast.IdentKind:
			shape.WriteString(e.AsIdent())
		case ast.SelectKind:
			shape.WriteString(e.AsSelect().FieldName())
		case ast.LiteralKind:
			if s, ok := e.AsLiteral().Value().(string); ok {
				texts.WriteString("\x00" + s + "\x00")
			}
		}
	}))
}
