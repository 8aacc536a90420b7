package main

import (
	"fmt"
	"slices"
	"strings"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
)

// lintJSON is what `lint -o json` prints. Its lists are never null.
type lintJSON struct {
	Expressions int           `json:"expressions"`
	Proved      int           `json:"proved"`
	Broken      int           `json:"broken"`
	Unproved    int           `json:"unproved"`
	Findings    []lintFinding `json:"findings"`
	Suppressed  []lintFinding `json:"suppressed"`
	// Gone is what the baseline has and no longer occurs.
	Gone []baselineEntry `json:"gone,omitempty"`
}

func (l *linter) print(p *printer) error {
	c := l.tally.Counts()
	switch l.options.format {
	case asJSON:
		return writeJSON(p, lintJSON{c.Expressions, c.Proved, c.Broken, c.Unproved, append([]lintFinding{}, l.findings...), append([]lintFinding{}, l.accepted...), l.gone})
	case asSARIF:
		return writeJSON(p, l.sarif())
	case asMarkdown:
		l.markdown(p)
	case asGitHub:
		for _, f := range l.findings {
			f.github(p)
		}
	default:
		for _, f := range l.findings {
			f.print(p)
		}
	}
	if l.options.format == asText {
		witnessed := slices.ContainsFunc(l.findings, func(f lintFinding) bool { return f.Witness != nil })
		if witnessed && l.options.folder == "" {
			p.printf("%s --witness DIR saves the files that the commands name\n", p.paint(faint, "hint:"))
		}
		p.printf("%s: %d proved, %d broken, %d unproved%s\n", count(c.Expressions, "expression"), c.Proved, c.Broken, c.Unproved, l.hidden())
	}
	return p.flush()
}

// hidden tells how many findings the report does not show.
func (l *linter) hidden() string {
	known := 0
	for _, f := range l.accepted {
		if f.Baseline {
			known++
		}
	}
	out := ""
	if n := len(l.accepted) - known; n > 0 {
		out += fmt.Sprintf("; %s suppressed", count(n, "finding"))
	}
	if known > 0 {
		out += fmt.Sprintf("; %s in the baseline", count(known, "finding"))
	}
	return out
}

// github is an annotation of a line of a pull request
// (docs.github.com, workflow commands for GitHub Actions).
func (f lintFinding) github(p *printer) {
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	at := ""
	if f.File != "" {
		at = fmt.Sprintf(" file=%s,line=%d,col=%d,title=%s", property.Replace(f.File), f.Line, max(f.Column, 1), property.Replace(f.Rule))
	}
	text := fmt.Sprintf("%s: %s: %s", f.subject(), f.where(), f.Message)
	if f.Witness != nil {
		text += "\n" + f.Witness.Error + "\n" + f.Witness.Command
	}
	p.printf("::%s%s::%s\n", f.Severity, at, escape.Replace(clean(text)))
}

// subject names the object with the fault.
func (f lintFinding) subject() string {
	return problem{Problem: harness.Problem{Policy: f.Policy, Binding: f.Binding}}.subject()
}

// where is the field with its name.
func (f lintFinding) where() string {
	if f.of.Name == "" || f.of.Name == f.Path {
		return f.Path
	}
	return fmt.Sprintf("%s (%s)", f.Path, f.of.Name)
}

// place is the line of the file, with the column if it is known.
func (f lintFinding) place() string {
	if f.Column > 0 {
		return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// onProfile begins a line about a finding in the rule set.
func (f lintFinding) onProfile() string {
	if f.profile == "" {
		return ""
	}
	return "profile " + f.profile + ": "
}

// print prints the finding for a person.
func (f lintFinding) print(p *printer) {
	color := yellow
	if f.Severity == lint.Error {
		color = red
	}
	at := f.onProfile()
	if f.File != "" {
		at = f.place() + ": "
	}
	p.printf("%s[%s] %s\n", p.paint(color, string(f.Severity)), f.Rule, clean(fmt.Sprintf("%s%s: %s: %s", at, f.subject(), f.where(), f.Message)))
	for _, line := range marked(f.of.Text, f.of.Start, f.of.End) {
		p.printf("  %s\n", clean(line))
	}
	if f.Case != "" {
		p.printf("  on %s\n", clean(f.Case))
	}
	if f.Witness != nil {
		p.printf("  %s %s\n", p.paint(bold, "witness:"), clean(indentRest(f.Witness.Error)))
		printExcerpt(p, string(f.Witness.reproduction.Files[0].Data))
		p.printf("  %s %s\n", p.paint(bold, "see it:"), clean(f.Witness.Command))
	}
	if f.Hint != "" {
		p.printf("  %s %s\n", p.paint(faint, "hint:"), clean(indentRest(f.Hint)))
	}
	p.printf("\n")
}

// printExcerpt prints the first lines of a file.
func printExcerpt(p *printer, text string) {
	const most = 14
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if i == most {
			p.printf("    … %s more\n", count(len(lines)-most, "line"))
			return
		}
		p.printf("    %s\n", clean(line))
	}
}

// marked is an expression with carets under the part from start to end, in characters.
func marked(text string, start, end int) []string {
	var out []string
	from := 0
	for _, line := range strings.Split(text, "\n") {
		runes := []rune(strings.ReplaceAll(line, "\t", " "))
		to := from + len(runes)
		if strings.TrimSpace(string(runes)) != "" {
			out = append(out, string(runes))
			if a, b := max(start, from), min(end, to); a < b {
				out = append(out, strings.Repeat(" ", a-from)+strings.Repeat("^", b-a))
			}
		}
		from = to + 1
	}
	return out
}
