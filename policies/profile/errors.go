package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// FieldError is one thing that is wrong with a Profile.
type FieldError struct {
	// File and Line say where it stands; empty and 0 for a Profile that was not read from a file.
	File string
	Line int
	// Field is its path, such as ttl.allowed[2]; empty if the document as a whole is wrong.
	Field string
	// Problem says what is wrong and what to do.
	Problem string
}

func (e *FieldError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	}
	if e.Field != "" {
		b.WriteString(e.Field + " ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// problems collects FieldErrors.
type problems struct {
	file string
	// lines are the lines of the fields of a file, by path.
	lines map[string]int
	list  []*FieldError
}

// add reports that a field is wrong, at the line of the field or, if it is absent, of the nearest
// field around it.
func (p *problems) add(field, format string, args ...any) {
	p.addAt(p.line(field), field, format, args...)
}

func (p *problems) addAt(line int, field, format string, args ...any) {
	p.list = append(p.list, &FieldError{File: p.file, Line: line, Field: field, Problem: fmt.Sprintf(format, args...)})
}

func (p *problems) line(field string) int {
	for {
		if line := p.lines[field]; line > 0 || field == "" {
			return line
		}
		field = field[:max(0, strings.LastIndexAny(field, ".["))]
	}
}

// err joins the problems in the order of their lines; nil if there are none.
func (p *problems) err() error {
	slices.SortStableFunc(p.list, func(a, b *FieldError) int { return a.Line - b.Line })
	errs := make([]error, len(p.list))
	for i, e := range p.list {
		errs[i] = e
	}
	return errors.Join(errs...)
}
