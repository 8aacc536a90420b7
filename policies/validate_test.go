package policies

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hangar.io/holdshort/policies/profile"
)

func sound() Policy {
	return Policy{
		Name: "sound", Summary: "s", Doc: "d", Match: On(Create, "pods"),
		Conditions:  []Condition{{Name: "is-writer", Expr: `request.userInfo.username == $writer`}},
		Variables:   []Variable{{Name: "prefix", Expr: `$prefix`}},
		Validations: []Validation{{Name: "prefix", Expr: `variables.prefix == 'x'`, Message: "m", Why: "w"}},
	}
}

func TestDefinitionsThatWouldNotHoldAreRefused(t *testing.T) {
	if errs := validate([]Policy{sound()}); len(errs) > 0 {
		t.Fatal(errs)
	}
	cases := map[string]struct {
		change func(*Policy)
		want   string
	}{
		"a name with capitals":        {func(p *Policy) { p.Name = "Sound" }, `policies/Sound.go: the name "Sound" is not a DNS label`},
		"no doc":                      {func(p *Policy) { p.Doc = "" }, "policies/sound.go: Summary or Doc is missing"},
		"no match":                    {func(p *Policy) { p.Match = nil }, "Match or Validations is missing"},
		"no validation":               {func(p *Policy) { p.Validations = nil }, "the policy would refuse nothing"},
		"a match without operations":  {func(p *Policy) { p.Match = On(0, "pods") }, "a rule of Match is incomplete"},
		"an unknown tier":             {func(p *Policy) { p.Tiers = []profile.Tier{"prod"} }, `the policy names the tier "prod"`},
		"a validation of no tier":     {func(p *Policy) { p.Validations[0].Tiers = []profile.Tier{"x"} }, `validation prefix names the tier "x"`},
		"a condition on variables":    {func(p *Policy) { p.Conditions[0].Expr = "variables.prefix == 'x'" }, "condition is-writer uses variables or namespaceObject"},
		"a condition on a namespace":  {func(p *Policy) { p.Conditions[0].Expr = "namespaceObject == null" }, "which match conditions do not have"},
		"a condition twice":           {func(p *Policy) { p.Conditions = append(p.Conditions, p.Conditions[0]) }, "condition is-writer is defined twice"},
		"a variable twice":            {func(p *Policy) { p.Variables = append(p.Variables, p.Variables[0]) }, "variable prefix is defined twice"},
		"a variable with a hyphen":    {func(p *Policy) { p.Variables[0].Name = "a-b" }, `the name "a-b" of a variable must be an identifier`},
		"a validation twice":          {func(p *Policy) { p.Validations = append(p.Validations, p.Validations[0]) }, "validation prefix is defined twice"},
		"a validation with a comma":   {func(p *Policy) { p.Validations[0].Name = "a,b" }, `the name "a,b" of a validation`},
		"an empty expression":         {func(p *Policy) { p.Validations[0].Expr = " \n" }, "validation prefix has no expression"},
		"a value in a validation":     {func(p *Policy) { p.Validations[0].Expr = "object.x == $prefix" }, "validation prefix uses $prefix: placeholders are for conditions and variables"},
		"a placeholder by a quote":    {func(p *Policy) { p.Variables[0].Expr = "'a'$prefix" }, "variable prefix: placeholder $prefix at offset 3 touches its neighbour"},
		"a block string":              {func(p *Policy) { p.Variables[0].Expr = "'''a\nb'''" }, "a block string could hold line breaks"},
		"no message":                  {func(p *Policy) { p.Validations[0].Message = "" }, "Message or Why is missing"},
		"no reason why":               {func(p *Policy) { p.Validations[0].Why = "" }, "Message or Why is missing"},
		"a message of two lines":      {func(p *Policy) { p.Validations[0].Message = "a\nb" }, "the message must be one line"},
		"a value that all have, anew": {func(p *Policy) { p.Values = map[string]func(profile.Profile) any{"writer": nil} }, "the placeholder $writer is one that all policies have"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := sound()
			c.change(&p)
			if err := errors.Join(validate([]Policy{p})...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("have %v, want %s", err, c.want)
			}
		})
	}
	if err := errors.Join(validate([]Policy{sound(), sound()})...); err == nil || !strings.Contains(err.Error(), "policies/sound.go: is defined twice") {
		t.Errorf("two of one name: %v", err)
	}
}

func TestTheSameVariableMayDifferBetweenTiers(t *testing.T) {
	p := sound()
	p.Variables[0].Tiers = []profile.Tier{profile.Ground}
	p.Variables = append(p.Variables, Variable{Name: "prefix", Expr: `'flight'`, Tiers: flight})
	if errs := validate([]Policy{p}); len(errs) > 0 {
		t.Fatal(errs)
	}
	for i, want := range []string{"'tower-breakglass-'", "'flight'"} {
		r, err := p.render(profile.Builtin()[i])
		if err != nil || len(r.Spec.Variables) != 1 || r.Spec.Variables[0].Expression != want {
			t.Errorf("%s: %+v, %v", profile.Builtin()[i].Name, r.Spec.Variables, err)
		}
	}
}

func TestRenderingNamesTheFileAndThePartThatFails(t *testing.T) {
	p := sound()
	p.Variables[0].Expr = `$prefixx`
	p.Validations[0].Message = "$portl says no"
	_, err := p.render(profile.Builtin()[0])
	for _, want := range []string{
		"policies/sound.go: prefix, profile ground: unknown placeholder $prefixx",
		"policies/sound.go: prefix: message, profile ground: unknown placeholder $portl",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("have %v, want %s", err, want)
		}
	}
}

func TestAPolicyMayHaveValuesOfItsOwn(t *testing.T) {
	p := sound()
	p.Values = map[string]func(profile.Profile) any{"days": func(x profile.Profile) any { return x.Recording.RetentionDays }}
	p.Variables[0].Expr = `$days`
	r, err := p.render(profile.Builtin()[0])
	if err != nil || r.Spec.Variables[0].Expression != "365" {
		t.Errorf("%+v, %v", r.Spec.Variables, err)
	}
}

func TestHomePoliciesAreRenderedAtHomeOnly(t *testing.T) {
	p := sound()
	p.HomeOnly = true
	for _, x := range profile.Builtin() {
		if p.AppliesTo(x) != x.Home {
			t.Errorf("%s: %t", x.Name, p.AppliesTo(x))
		}
	}
}

func TestRulesAreGroupedByAPIGroup(t *testing.T) {
	m := On(Create|Delete, "pods", "pods/attach", "rolebindings.rbac.authorization.k8s.io").
		Or(On(Update, "pipelineruns.tekton.dev/status").In("v1", "v1beta1")).
		Or(On(Every, "*"))
	var have []string
	for _, r := range m {
		x := r.rule()
		have = append(have, r.String()+" | "+strings.Join(append(append(x.APIGroups, x.APIVersions...), x.Resources...), " "))
	}
	want := []string{
		"CREATE, DELETE of pods, pods/attach |  v1 pods pods/attach",
		"CREATE, DELETE of rolebindings.rbac.authorization.k8s.io | rbac.authorization.k8s.io v1 rolebindings",
		"UPDATE of pipelineruns.tekton.dev/status | tekton.dev v1 v1beta1 pipelineruns/status",
		"* of */* | * * */*",
	}
	if !slices.Equal(have, want) {
		t.Errorf("have %q\nwant %q", have, want)
	}
}

func TestNamespacePatternsAreAnchoredAndQuoted(t *testing.T) {
	if have := namespacePattern([]string{"tower", "app-*-cicd", "a.b"}); have != `^(tower|app-[a-z0-9-]*-cicd|a\.b)$` {
		t.Error(have)
	}
}

func TestOutdentTakesOffTheIndentationOfGo(t *testing.T) {
	for in, want := range map[string]string{
		"a":                               "a",
		"\n\t\ta &&\n\t\t\tb ||\n\t\tc\n": "a &&\n\tb ||\nc",
		"a &&\n\t\tb":                     "a &&\nb",
		"a &&\n\n\t\t  b":                 "a &&\n\n  b",
	} {
		if have := outdent(in); have != want {
			t.Errorf("%q becomes %q, not %q", in, have, want)
		}
	}
}
