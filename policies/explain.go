package policies

import (
	"fmt"
	"strings"

	"hangar.io/holdshort/policies/profile"
)

// Explanation is a policy's documentation with the values of a Profile in it.
type Explanation struct {
	Name        string                `json:"name"`
	Summary     string                `json:"summary"`
	Doc         string                `json:"doc"`
	Source      string                `json:"source"`
	Fixture     string                `json:"fixture"`
	Links       []string              `json:"links,omitempty"`
	Example     string                `json:"example,omitempty"` // what a person types
	Profiles    []string              `json:"profiles"`          // that have the policy
	Matches     []string              `json:"matches"`
	Conditions  []ExplainedExpression `json:"conditions,omitempty"`
	Variables   []ExplainedExpression `json:"variables,omitempty"`
	Validations []ExplainedValidation `json:"validations"`
}

// ExplainedExpression is a match condition or a variable.
type ExplainedExpression struct {
	Name       string   `json:"name"`
	Profiles   []string `json:"profiles"` // that have the expression
	Expression string   `json:"expression"`
}

// ExplainedValidation is a validation.
type ExplainedValidation struct {
	ExplainedExpression
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Why     string `json:"why"`
}

// Explain documents the policy of that name for these Profiles, without any for the built-in ones.
// Where the values of Profiles differ, those of the first Profile that has the part are shown. A
// name that is no policy's is an *UnknownError.
func Explain(name string, profiles ...profile.Profile) (Explanation, error) {
	p, err := Get(name)
	if err != nil {
		return Explanation{}, err
	}
	if len(profiles) == 0 {
		profiles = profile.Builtin()
	}
	e := Explanation{
		Name: p.Name, Summary: p.Summary, Doc: p.Doc, Source: p.Source(), Links: p.Links,
		Fixture: "policies/testdata/" + p.Name + ".yaml", Profiles: []string{},
	}
	for _, r := range p.Match {
		e.Matches = append(e.Matches, r.String())
	}
	for _, x := range profiles {
		if !p.AppliesTo(x) {
			continue
		}
		e.Profiles = append(e.Profiles, x.Name)
		rendered, err := p.render(x)
		if err != nil {
			return Explanation{}, err
		}
		if e.Example == "" {
			if e.Example, err = expandText(outdent(p.Example), p.lookup(x)); err != nil {
				return Explanation{}, fmt.Errorf("%s: example: %w", p.Source(), err)
			}
		}
		for _, c := range rendered.Spec.MatchConditions {
			e.Conditions = addExpression(e.Conditions, x.Name, c.Name, c.Expression)
		}
		for _, v := range rendered.Spec.Variables {
			e.Variables = addExpression(e.Variables, x.Name, v.Name, v.Expression)
		}
		for i, n := range strings.Split(rendered.Annotations[NamesAnnotation], ",") {
			v := rendered.Spec.Validations[i]
			e.addValidation(x.Name, p.validation(n), ExplainedValidation{
				ExplainedExpression: ExplainedExpression{Name: n, Expression: v.Expression},
				Message:             v.Message, Reason: string(*v.Reason),
			})
		}
	}
	return e, nil
}

func (p Policy) validation(name string) Validation {
	for _, v := range p.Validations {
		if v.Name == name {
			return v
		}
	}
	return Validation{}
}

func addExpression(list []ExplainedExpression, profile, name, expr string) []ExplainedExpression {
	for i := range list {
		if list[i].Name == name {
			list[i].Profiles = append(list[i].Profiles, profile)
			return list
		}
	}
	return append(list, ExplainedExpression{Name: name, Profiles: []string{profile}, Expression: expr})
}

func (e *Explanation) addValidation(profile string, v Validation, shown ExplainedValidation) {
	for i := range e.Validations {
		if e.Validations[i].Name == v.Name {
			e.Validations[i].Profiles = append(e.Validations[i].Profiles, profile)
			return
		}
	}
	shown.Profiles, shown.Why = []string{profile}, v.Why
	e.Validations = append(e.Validations, shown)
}

// String is the explanation as a person reads it in a terminal.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n\n", e.Name, e.Summary, e.Doc)
	fmt.Fprintf(&b, "Profiles: %s\nMatches: %s\n", orNone(e.Profiles), strings.Join(e.Matches, "; "))
	for _, c := range e.Conditions {
		fmt.Fprintf(&b, "  only if %s%s:\n%s\n", c.Name, e.only(c.Profiles), indented(c.Expression, "    "))
	}
	b.WriteString("\nDemands:\n")
	for _, v := range e.Validations {
		fmt.Fprintf(&b, "  %s%s\n    %s\n    Why: %s\n%s\n", v.Name, e.only(v.Profiles), v.Message, v.Why, indented(v.Expression, "      "))
	}
	if len(e.Variables) > 0 {
		b.WriteString("\nVariables:\n")
	}
	for _, v := range e.Variables {
		fmt.Fprintf(&b, "  %s%s:\n%s\n", v.Name, e.only(v.Profiles), indented(v.Expression, "      "))
	}
	if e.Example != "" {
		// Not indented, so that it can be copied into a shell.
		fmt.Fprintf(&b, "\nExample:\n\n%s\n", e.Example)
	}
	fmt.Fprintf(&b, "\nSource: %s\nCases: %s\n", e.Source, e.Fixture)
	for _, l := range e.Links {
		fmt.Fprintf(&b, "See: %s\n", l)
	}
	return b.String()
}

// only says which profiles have a part, unless all do that have the policy.
func (e Explanation) only(profiles []string) string {
	if len(profiles) == len(e.Profiles) {
		return ""
	}
	return " (" + strings.Join(profiles, ", ") + ")"
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func indented(text, by string) string {
	return by + strings.ReplaceAll(text, "\n", "\n"+by)
}
