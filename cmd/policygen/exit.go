package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"hangar.io/holdshort/cel/manifest"
)

// exitCode ends the program with a status when a command has already said all there is to say.
type exitCode int

const (
	// exitFound: a check found something.
	exitFound exitCode = 1
	// exitUnable: the program could not do all of its work.
	exitUnable exitCode = 2
)

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// status is the exit status for what a command returned: every error that is not an exitCode
// means that the command could not do its work.
func status(err error) int {
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	return int(exitUnable)
}

// hintedError is an error with what to do about it.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// withHint adds what to do about an error to it.
func withHint(err error, format string, args ...any) error {
	return &hintedError{err, fmt.Sprintf(format, args...)}
}

// report prints an error, each of several that are joined on a line of its own, and below it what
// to do. An exitCode prints nothing.
func report(p *printer, err error) {
	var code exitCode
	if err == nil || errors.As(err, &code) {
		return
	}
	var hints []string
	for _, e := range split(err) {
		text, hint := explain(e)
		p.printf("%s %s\n", p.paint(red, "policygen:"), indentRest(clean(text)))
		if hint != "" && (len(hints) == 0 || hints[len(hints)-1] != hint) {
			hints = append(hints, hint)
		}
	}
	for _, hint := range hints {
		p.printf("%s %s\n", p.paint(faint, "hint:"), indentRest(clean(hint)))
	}
	_ = p.flush() // there is nowhere left to report to
}

// split takes joined errors apart.
func split(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, split(e)...)
	}
	return all
}

// explain returns the text of an error and what to do about it, which may be empty.
func explain(err error) (text, hint string) {
	var hinted *hintedError
	if errors.As(err, &hinted) {
		return err.Error(), hinted.hint
	}
	if document, ok := err.(*manifest.Error); ok { //nolint:errorlint // one that is wrapped keeps the text around it
		plain := *document
		plain.Hint = ""
		return plain.Error(), document.Hint
	}
	var path *fs.PathError
	if errors.As(err, &path) && errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s: no such file or folder", path.Path), ""
	}
	return err.Error(), ""
}

// indentRest indents all lines but the first.
func indentRest(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }
