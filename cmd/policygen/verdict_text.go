package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hangar.io/holdshort/cel/harness"
)

// decisionWord is a decision as people are shown it, with its colour.
func decisionWord(d harness.Decision) (string, style) {
	switch d {
	case harness.Allowed:
		return "ALLOWED", green
	case harness.Undecided:
		return "UNDECIDED", yellow
	default:
		return "DENIED", red
	}
}

// requestText names a request on one line: CREATE pods/exec shop/web by jane.
func requestText(r harness.Request) string {
	resource := r.Resource.Resource
	if r.Resource.Group != "" {
		resource += "." + r.Resource.Group
	}
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	name := r.Name
	if name == "" {
		name = generatedName(r)
	}
	if r.Namespace != "" && r.Resource.Resource != "namespaces" {
		name = r.Namespace + "/" + name
	}
	text := fmt.Sprintf("%s %s %s", r.Operation, resource, name)
	if r.User.Name != "" {
		text += " by " + r.User.Name
	}
	if r.DryRun {
		text += " (dry run)"
	}
	return oneLine(text)
}

func generatedName(r harness.Request) string {
	if r.Collection {
		return "(collection)"
	}
	metadata, _ := r.Object["metadata"].(map[string]any)
	if prefix, ok := metadata["generateName"].(string); ok {
		return prefix + "*"
	}
	return ""
}

// printVerdict prints a verdict so that its reader knows in a few seconds what happens and why.
func printVerdict(p *printer, subject, title string, v harness.Verdict) {
	word, color := decisionWord(v.Decision)
	p.printf("%s  %s", p.paint(color, word), p.paint(bold, title))
	if subject != "" {
		p.printf("  (%s)", clean(subject))
	}
	p.printf("\n")
	for _, d := range v.Denials {
		p.printf("\n")
		printDenial(p, d, expressionOf(v, d))
	}
	for _, g := range v.Undecided {
		p.printf("\n")
		printGap(p, g)
	}
	if v.Message != "" && v.Decision == harness.Denied {
		p.printf("\n  %s %d %s\n    %s\n", p.paint(faint, "the server answers"), v.Code, v.Reason, strings.ReplaceAll(clean(v.Message), "\n", "\n    "))
		if len(v.Possible()) > 1 {
			p.printf("    %s\n", p.paint(faint, "(or with the first denial of another policy, binding or param: it names one of several at random)"))
		}
	}
	for i, d := range v.Ignored {
		if i == 0 {
			p.printf("\n")
		}
		p.field("ignored", ignoredText(d, expressionOf(v, d)))
	}
	printReturned(p, v)
}

// field prints one line of a block, its name in a column.
func (p *printer) field(name, text string) {
	p.printf("  %s%s\n", p.paint(faint, fmt.Sprintf("%-12s", name)), strings.ReplaceAll(clean(text), "\n", "\n              "))
}

func printDenial(p *printer, d harness.Denial, e *harness.Expression) {
	by := fmt.Sprintf("%s (binding %s)", d.Policy, d.Binding)
	if d.Binding == "" {
		by = d.Policy
	}
	p.field("policy", by)
	if d.Param != "" {
		p.field("param", d.Param)
	}
	if place := denialPlace(d, e); place != "" {
		p.field("at", place)
	}
	p.field("message", d.Message)
	if e != nil {
		p.field("because", because(*e))
	}
}

// ignoredText is an error that failurePolicy Ignore let pass.
func ignoredText(d harness.Denial, e *harness.Expression) string {
	message := d.Message
	if d.Index < 0 && e != nil {
		message = e.Error // of a match condition that failed the server tells no more than that
	}
	return oneLine(fmt.Sprintf("%s of %s: %s", denialPlace(d, e), d.Policy, message))
}

// denialPlace names what failed: the validation by its name, or the match condition.
func denialPlace(d harness.Denial, e *harness.Expression) string {
	if d.Index < 0 && e != nil && e.Name != "" {
		return fmt.Sprintf("%s (%s)", e.Field, e.Name)
	}
	if d.Index >= 0 && d.Validation != fmt.Sprintf("validations[%d]", d.Index) {
		return fmt.Sprintf("validation %s (validations[%d])", d.Validation, d.Index)
	}
	return d.Validation
}

// expressionOf finds in the trace the expression that a denial comes from, nil if it is not told.
func expressionOf(v harness.Verdict, d harness.Denial) *harness.Expression {
	for _, t := range v.Trace {
		if t.Policy != d.Policy || t.Binding != d.Binding || t.Param != d.Param {
			continue
		}
		for i := len(t.Expressions) - 1; i >= 0; i-- {
			e := &t.Expressions[i]
			if decidedBy(d, *e) {
				return e
			}
		}
	}
	return nil
}

// decidedBy reports whether a denial comes from an expression.
func decidedBy(d harness.Denial, e harness.Expression) bool {
	switch {
	case d.Index >= 0:
		return e.Field == fmt.Sprintf("validations[%d]", d.Index)
	case d.Validation == "matchConditions":
		return strings.HasPrefix(e.Field, "matchConditions[") && e.Error != ""
	}
	return strings.HasPrefix(e.Field, d.Validation) && e.Error != ""
}

// because says which sub-expression decided.
func because(e harness.Expression) string {
	text := e.Decisive
	if text == "" {
		text = e.Text
	}
	if e.Error != "" {
		return fmt.Sprintf("%s\nfails: %s", text, e.Error)
	}
	return fmt.Sprintf("%s\nis %s", text, valueText(e.Value))
}

// valueText is a value as CEL would nearly write it, short.
func valueText(v any) string {
	data, err := json.Marshal(jsonSafe(v))
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 200
	if text := []rune(string(data)); len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(data)
}

func printGap(p *printer, g harness.Gap) {
	by := g.Policy
	if g.Binding != "" {
		by = fmt.Sprintf("%s (binding %s)", g.Policy, g.Binding)
	}
	if by != "" {
		p.field("policy", by)
	}
	p.field("unknown", g.Need)
	p.field("because", g.Detail)
	if supply := supplies[g.Need]; supply != "" {
		p.field("give", supply)
	}
}

// supplies tells by which flag each Gap.Need is met.
var supplies = map[string]string{
	"namespace":  "--namespace-labels KEY=VALUE,... or the Namespace object among the files of -f",
	"params":     "--params FILE with the objects, or --params none if the cluster has none",
	"authorizer": "--allow 'USER VERB RESOURCE ...' for what is allowed, or --allow none",
	"kind":       "--crd FILE with the CustomResourceDefinition",
	"conversion": "the request in the version that the policy matches",
}

// printReturned prints what the server would return and log besides the decision.
func printReturned(p *printer, v harness.Verdict) {
	for _, w := range v.Warnings {
		p.printf("\n  %s %s\n", p.paint(yellow, "warning:"), strings.ReplaceAll(clean(w), "\n", "\n    "))
	}
	for i, key := range slices.Sorted(maps.Keys(v.AuditAnnotations)) {
		if i == 0 {
			p.printf("\n  %s\n", p.paint(faint, "audit annotations"))
		}
		p.printf("    %s: %s\n", clean(key), strings.ReplaceAll(clean(v.AuditAnnotations[key]), "\n", "\n      "))
	}
}

// printTrace prints how each policy came to its result.
func printTrace(p *printer, trace []harness.PolicyTrace) {
	for _, t := range trace {
		name := t.Policy
		if t.Binding != "" {
			name += " / " + t.Binding
		}
		if t.Param != "" {
			name += " / " + t.Param
		}
		p.printf("\n  %s: ", p.paint(bold, clean(name)))
		switch {
		case t.Skipped != nil:
			p.printf("skipped by %s\n    %s\n", clean(skipText(*t.Skipped)), clean(t.Skipped.Detail))
		case t.Applied:
			p.printf("applied\n")
		default:
			p.printf("not applied\n")
		}
		for _, e := range t.Expressions {
			printExpression(p, e)
		}
	}
}

func skipText(s harness.Skip) string {
	text := s.By
	if s.Name != "" {
		text += " " + s.Name
	}
	if s.InBinding {
		text += " of the binding"
	}
	return text
}

func printExpression(p *printer, e harness.Expression) {
	name := e.Field
	if e.Name != "" && e.Name != e.Field {
		name += " " + e.Name
	}
	result, color := valueText(e.Value), style("")
	switch {
	case e.Error != "":
		result, color = "error: "+e.Error, red
	case e.Value == false:
		color = red
	case e.Value == true:
		color = green
	}
	p.printf("    %s = %s  %s\n", clean(name), p.paint(color, oneLine(result)), p.paint(faint, fmt.Sprintf("cost %d of %d", e.Cost, e.Limit)))
	p.printf("      %s\n", strings.ReplaceAll(clean(strings.TrimSpace(e.Text)), "\n", "\n      "))
	if e.Decisive != "" {
		p.printf("      %s %s\n", p.paint(faint, "decided by:"), oneLine(e.Decisive))
	}
}
