package main

import (
	"context"
	"slices"
	"strings"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/cel/manifest"
)

// exampleFile is what the bad example of a rule is called.
const exampleFile = "bad.yaml"

// ruleNamed is the lint rule of a name, or nil.
func ruleNamed(name string) *lint.Rule {
	rules := lint.Rules()
	i := slices.IndexFunc(rules, func(r *lint.Rule) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return rules[i]
}

func ruleNames() []string {
	var names []string
	for _, r := range lint.Rules() {
		names = append(names, r.Name)
	}
	return names
}

// explainRule prints a lint rule with its examples, and what it finds in the bad ones.
func explainRule(ctx context.Context, p *printer, rule *lint.Rule, f format) error {
	if f == asJSON {
		return writeJSON(p, struct {
			Name     string        `json:"name"`
			Severity lint.Severity `json:"severity"`
			Summary  string        `json:"summary"`
			Why      string        `json:"why"`
			Bad      []string      `json:"bad"`
			Good     string        `json:"good"`
		}{rule.Name, rule.Severity, rule.Summary, rule.Why, rule.Bad, rule.Good})
	}
	p.printf("%s (%s): %s\n\n%s\n", p.paint(bold, rule.Name), rule.Severity, rule.Summary, strings.TrimSpace(rule.Why))
	for i, text := range rule.Bad {
		found, err := exampleFindings(ctx, rule, text)
		if err != nil {
			return err
		}
		title := "An example, "
		if i > 0 {
			title = "Another form, "
		}
		p.printf("\n%s\n\n%s\n", p.paint(bold, title+exampleFile+":"), indented(text))
		p.printf("%s\n\n", p.paint(bold, "What policygen lint -f "+exampleFile+" says:"))
		for _, f := range found {
			f.print(p)
		}
		if i == 0 {
			p.printf("%s\n\n%s", p.paint(bold, "Mended:"), indented(rule.Good))
		}
	}
	return p.flush()
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// exampleFindings are what the rule finds in one of its bad examples.
func exampleFindings(ctx context.Context, rule *lint.Rule, text string) ([]lintFinding, error) {
	bundle, err := manifest.Collect(manifest.Read(manifest.Source{Paths: []string{"-"}, Stdin: strings.NewReader(text)}))
	if err != nil {
		return nil, err
	}
	set, err := harness.Compile(bundle.Policies, bundle.Bindings)
	if err != nil {
		return nil, err
	}
	cluster, err := clusterOf(bundle)
	if err != nil {
		return nil, err
	}
	l := newLinter(ctx, &lintOptions{subjects: subjectFlags{files: []string{exampleFile}}}, cluster.Resources)
	l.lines[exampleFile] = strings.Split(text, "\n")
	for r, err := range l.reports(subject{set: set, bundle: bundle}) {
		if err != nil {
			return nil, err
		}
		for _, of := range r.Findings {
			if of.Rule == rule.Name {
				f := l.finding(of, subject{set: set, bundle: bundle})
				f.File = exampleFile
				l.locate(&f)
				l.add(f)
			}
		}
	}
	return l.findings, l.save()
}
