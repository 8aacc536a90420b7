package main

import (
	"fmt"
	"regexp"
	"strings"

	"hangar.io/holdshort/cel/lint"
)

const asMarkdown format = "markdown"

// markdown prints the findings as a comment on a change. All text of policies and requests stands in
// code, in which Markdown has no other meaning than the end of the code.
func (l *linter) markdown(p *printer) {
	errs := 0
	for _, f := range l.findings {
		if f.Severity == lint.Error {
			errs++
		}
	}
	c := l.tally.Counts()
	p.printf("### policygen lint: %s, %s\n\n", count(errs, "error"), count(len(l.findings)-errs, "warning"))
	p.printf("%s: %d proved, %d broken, %d unproved%s.\n", count(c.Expressions, "expression"), c.Proved, c.Broken, c.Unproved, l.hidden())
	for _, f := range l.findings {
		f.markdown(p)
	}
}

func (f lintFinding) markdown(p *printer) {
	at := ""
	if f.File != "" {
		at = " at " + codeSpan(f.place())
	}
	p.printf("\n#### %s %s%s\n\n%s\n", f.Severity, codeSpan(f.Rule), at, codeSpan(fmt.Sprintf("%s%s: %s: %s", f.onProfile(), f.subject(), f.where(), f.Message)))
	if lines := marked(f.of.Text, f.of.Start, f.of.End); len(lines) > 0 {
		p.printf("\n%s", codeBlock("", strings.Join(lines, "\n")))
	}
	if f.Case != "" {
		p.printf("\nOn %s.\n", codeSpan(f.Case))
	}
	if f.Witness != nil {
		p.printf("\nA request that shows it: %s\n\n%s\n%s", codeSpan(f.Witness.Error),
			codeBlock("yaml", string(f.Witness.reproduction.Files[0].Data)), codeBlock("sh", f.Witness.Command))
	}
	if f.Hint != "" {
		p.printf("\nHint:\n\n%s", codeBlock("", f.Hint))
	}
}

var backticks = regexp.MustCompile("`+")

// fence is a row of backticks that is longer than any in a text (CommonMark 0.31, 4.5 and 6.1).
func fence(text string, least int) string {
	for _, row := range backticks.FindAllString(text, -1) {
		least = max(least, len(row)+1)
	}
	return strings.Repeat("`", least)
}

// codeSpan is a text as code within a line.
func codeSpan(text string) string {
	text = oneLine(text)
	f := fence(text, 1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return f + text + f
}

// codeBlock is a text as lines of code.
func codeBlock(language, text string) string {
	text = strings.TrimRight(clean(text), "\n")
	f := fence(text, 3)
	return f + language + "\n" + text + "\n" + f + "\n"
}
