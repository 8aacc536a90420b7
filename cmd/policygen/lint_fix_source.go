package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hangar.io/holdshort/cel"
	"hangar.io/holdshort/cel/lint"
)

// sourceEdits are changes of the rule set's expressions. They are shown and not made: an expression in
// Go is the text of every profile, and has fixtures that should say what changes.
type sourceEdits struct{ all []sourceEdit }

type sourceEdit struct {
	policy string
	lint.Change
}

// add notes a change, once for all profiles.
func (s *sourceEdits) add(policy string, c lint.Change) {
	if !slices.ContainsFunc(s.all, func(k sourceEdit) bool { return k.policy == policy && k.Field == c.Field }) {
		s.all = append(s.all, sourceEdit{policy, c})
	}
}

// print prints a diff for each change.
func (s *sourceEdits) print(out, stderr *printer) error {
	for _, e := range s.all {
		diff, err := e.diff("policies")
		if err != nil {
			stderr.printf("%s %s\n", stderr.paint(yellow, "not fixed:"), clean(fmt.Sprintf("policy %q: %s: %s", e.policy, e.Field, err)))
			continue
		}
		out.printf("%s\n", clean(diff))
	}
	if err := stderr.flush(); err != nil {
		return err
	}
	return out.flush()
}

// diff is the change as a unified diff of the Go file of the policy.
func (e sourceEdit) diff(folder string) (string, error) {
	name := filepath.ToSlash(filepath.Join(folder, e.policy+".go"))
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no %s here: run it in the rule set's checkout, or write\n%s", name, e.After)
	}
	if err != nil {
		return "", err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, data, 0)
	if err != nil {
		return "", err
	}
	var found []sourceLiteral
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if m, ok := matchLiteral(l.Value, e.Before); ok {
				m.start = set.Position(l.Pos()).Offset
				found = append(found, m)
			}
		}
		return true
	})
	if len(found) != 1 {
		return "", fmt.Errorf("%d string literals of %s hold the expression, expected one: it may be made of parts; write\n%s", len(found), name, e.After)
	}
	after := string(data[:found[0].start])
	last := 0
	for _, i := range e.Insertions {
		at, ok := found[0].offset(i.At)
		if !ok {
			return "", fmt.Errorf("the guard would stand within a placeholder's value; write\n%s", e.After)
		}
		after += found[0].text[last:at] + i.Text
		last = at
	}
	after += found[0].text[last:] + string(data[found[0].start+len(found[0].text):])
	return unifiedDiff(name, string(data), after), nil
}

// sourceLiteral is a raw string literal that holds an expression: its text with the quotes, and where
// the parts of it that are no placeholders stand in the expression.
type sourceLiteral struct {
	text  string
	start int // of the literal in the file
	parts []literalPart
}

// literalPart is text without a placeholder or white space: characters from start of the expression,
// bytes from at of the literal.
type literalPart struct {
	start, at int
	text      []rune
}

// matchLiteral tells whether a literal holds an expression, with placeholders for some of its values.
// White space does not matter: an expression is rendered without the indentation that it has in Go.
func matchLiteral(literal, expression string) (sourceLiteral, bool) {
	text, err := strconv.Unquote(literal)
	if err != nil || literal[0] != '`' {
		return sourceLiteral{}, false
	}
	placeholders, err := cel.Placeholders(text)
	if err != nil {
		return sourceLiteral{}, false
	}
	pattern, last := `(?s)^`, 0
	var starts []int // in the literal, of each group
	words := func(from, to int) {
		for i, at := range wordPattern.FindAllStringIndex(text[from:to], -1) {
			gap := `\s+`
			if i == 0 {
				gap = `\s*`
			}
			pattern += gap + "(" + regexp.QuoteMeta(text[from+at[0]:from+at[1]]) + ")"
			starts = append(starts, from+at[0]+1) // 1: the quote
		}
	}
	for _, p := range placeholders {
		words(last, p.Start)
		pattern, last = pattern+`\s*.+?`, p.End
	}
	words(last, len(text))
	re, err := regexp.Compile(pattern + `\s*$`)
	if err != nil || len(starts) == 0 {
		return sourceLiteral{}, false
	}
	m := re.FindStringSubmatchIndex(expression)
	if m == nil {
		return sourceLiteral{}, false
	}
	found := sourceLiteral{text: literal}
	for i, start := range starts {
		from, to := m[2*i+2], m[2*i+3]
		found.parts = append(found.parts, literalPart{len([]rune(expression[:from])), start, []rune(expression[from:to])})
	}
	return found, true
}

var wordPattern = regexp.MustCompile(`\S+`)

// offset is the byte of the literal at a character of the expression.
func (l sourceLiteral) offset(char int) (int, bool) {
	for _, p := range l.parts {
		if n := char - p.start; n >= 0 && n <= len(p.text) {
			return p.at + len(string(p.text[:n])), true
		}
	}
	return 0, false
}

// unifiedDiff is the difference of two texts that differ in one place, in the form that patch reads, with
// three lines around it.
func unifiedDiff(name, before, after string) string {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	tail := 0
	for tail < min(len(a), len(b))-same && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	const context = 3
	from, less := max(same-context, 0), min(tail, context)
	endA, endB := len(a)-tail+less, len(b)-tail+less
	if tail > 0 && endA == len(a) && a[endA-1] == "" { // the end of the last line is no line
		endA, endB = endA-1, endB-1
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n@@ -%d,%d +%d,%d @@\n", name, name, from+1, endA-from, from+1, endB-from)
	write := func(mark string, lines []string) {
		for _, l := range lines {
			out.WriteString(mark + strings.TrimSuffix(l, "\n") + "\n")
		}
	}
	write(" ", a[from:same])
	write("-", a[same:len(a)-tail])
	write("+", b[same:len(b)-tail])
	write(" ", a[len(a)-tail:endA])
	return strings.TrimSuffix(out.String(), "\n")
}
