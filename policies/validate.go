package policies

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"hangar.io/holdshort/cel"
	"hangar.io/holdshort/policies/profile"
)

// Validate checks all definitions, and that each renders and can be explained for the built-in
// profiles. The error joins everything that is wrong, each with the file of the policy.
func Validate() error {
	errs := validate(All())
	for _, x := range profile.Builtin() {
		if _, err := Render(x, Options{}); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, name := range Names() {
			if _, err := Explain(name, x); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func validate(all []Policy) []error {
	var errs []error
	for i, p := range all {
		d := definition{Policy: p}
		if i > 0 && all[i-1].Name == p.Name {
			d.wrong("is defined twice")
		}
		d.check()
		errs = append(errs, d.errs...)
	}
	return errs
}

// definition is a policy under examination.
type definition struct {
	Policy
	errs []error
}

func (d *definition) wrong(format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("%s: %w", d.Source(), fmt.Errorf(format, args...)))
}

func (d *definition) check() {
	if len(validation.IsDNS1123Label(d.Name)) > 0 {
		d.wrong("the name %q is not a DNS label", d.Name)
	}
	if d.Summary == "" || d.Doc == "" {
		d.wrong("Summary or Doc is missing: say what the policy demands, and why")
	}
	if len(d.Match) == 0 || len(d.Validations) == 0 {
		d.wrong("Match or Validations is missing: the policy would refuse nothing")
	}
	for _, r := range d.Match {
		if r.Operations == 0 || len(r.Resources) == 0 || len(r.Versions) == 0 {
			d.wrong("a rule of Match is incomplete: %s", r)
		}
	}
	d.tiers("the policy", d.Tiers)
	d.conditions()
	d.variables()
	d.validations()
	for name := range d.Values {
		if _, twice := shared[name]; twice {
			d.wrong("the placeholder $%s is one that all policies have: give it another name", name)
		}
	}
}

func (d *definition) conditions() {
	seen := map[string]bool{}
	for _, c := range d.Conditions {
		// The API server demands a qualified name (kubernetes pkg/apis/admissionregistration/validation,
		// validateMatchCondition); a label is one, and can be typed.
		d.name("condition", c.Name, seen, validation.IsDNS1123Label)
		d.expression("condition "+c.Name, c.Expr, true)
		d.tiers("condition "+c.Name, c.Tiers)
		if unavailable.MatchString(c.Expr) {
			d.wrong("condition %s uses variables or namespaceObject, which match conditions do not have", c.Name)
		}
	}
}

var unavailable = regexp.MustCompile(`\b(variables|namespaceObject)\b`)

func (d *definition) variables() {
	for _, t := range profile.Tiers {
		seen := map[string]bool{}
		for _, v := range d.Variables {
			if on(v.Tiers, t) {
				d.name("variable", v.Name, seen, isIdentifier)
			}
		}
	}
	for _, v := range d.Variables {
		d.expression("variable "+v.Name, v.Expr, true)
		d.tiers("variable "+v.Name, v.Tiers)
	}
}

var identifier = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)

func isIdentifier(name string) []string {
	if identifier.MatchString(name) {
		return nil
	}
	return []string{"must be an identifier"}
}

func (d *definition) validations() {
	seen := map[string]bool{}
	for _, v := range d.Validations {
		where := "validation " + v.Name
		d.name("validation", v.Name, seen, validation.IsDNS1123Label)
		d.expression(where, v.Expr, false)
		d.tiers(where, v.Tiers)
		if strings.TrimSpace(v.Message) == "" || v.Why == "" {
			d.wrong("%s: Message or Why is missing", where)
		}
		// The API server refuses line breaks in messages and drops padding.
		if strings.ContainsAny(v.Message, "\r\n") || strings.TrimSpace(v.Message) != v.Message {
			d.wrong("%s: the message must be one line without spaces around it", where)
		}
	}
}

func (d *definition) name(kind, name string, seen map[string]bool, check func(string) []string) {
	if why := check(name); len(why) > 0 {
		d.wrong("the name %q of a %s %s", name, kind, why[0])
	}
	if seen[name] {
		d.wrong("%s %s is defined twice", kind, name)
	}
	seen[name] = true
}

func (d *definition) expression(where, expr string, placeholders bool) {
	if strings.TrimSpace(expr) == "" {
		d.wrong("%s has no expression", where)
	}
	if strings.Contains(expr, "'''") || strings.Contains(expr, `"""`) {
		d.wrong("%s: a block string could hold line breaks, which rendering changes: use a plain one", where)
	}
	found, err := cel.Placeholders(expr)
	if err != nil {
		d.wrong("%s: %w", where, err)
	}
	for _, f := range found {
		if !placeholders {
			d.wrong("%s uses $%s: placeholders are for conditions and variables, so put it into a variable", where, f.Name)
		}
	}
}

func (d *definition) tiers(where string, tiers []profile.Tier) {
	for _, t := range tiers {
		if !slices.Contains(profile.Tiers, t) {
			d.wrong("%s names the tier %q: expected ground or flight", where, t)
		}
	}
}
