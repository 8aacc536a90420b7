package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/cel/manifest"
)

// fixResult is what mending made of one policy.
type fixResult struct {
	subject subject
	policy  string
	mended  lint.Mended
	err     error
}

// fix puts guards into the policies: into the files of -f, and for the rule set into a diff.
func (l *linter) fix(subjects []subject, out, stderr *printer) error {
	if slices.Contains(l.options.subjects.files, "-") {
		return withHint(errors.New("--fix cannot change stdin"), "give the files by name, or leave --fix out: the hints say what it would write")
	}
	var files fileEdits
	var sources sourceEdits
	for r := range inOrder(lintJobs(subjects), l.mend) {
		if r.err != nil {
			return r.err
		}
		for _, c := range r.mended.Changes {
			if r.subject.bundle == nil {
				sources.add(r.policy, c)
				continue
			}
			p := problem{Problem: harness.Problem{Policy: r.policy, Field: c.Field, Text: c.Before}}
			doc := r.subject.document(p.Problem)
			files.add(fileEdit{manifest.Edit{Document: doc, Path: p.path(), Insertions: insertions(c)}, r.policy, c})
		}
	}
	if err := files.write(out, stderr); err != nil {
		return err
	}
	return sources.print(out, stderr)
}

// lintJob is one policy of one subject.
type lintJob struct {
	subject subject
	policy  string
}

func lintJobs(subjects []subject) iter.Seq[lintJob] {
	return func(yield func(lintJob) bool) {
		for _, s := range subjects {
			for _, p := range s.set.Policies() {
				if !yield(lintJob{s, p}) {
					return
				}
			}
		}
	}
}

// mend puts guards into one policy. It is safe for concurrent use.
func (l *linter) mend(j lintJob) fixResult {
	m, err := lint.Mend(l.ctx, j.subject.set, j.policy, l.lintOptions())
	return fixResult{j.subject, j.policy, m, err}
}

func insertions(c lint.Change) []manifest.Insertion {
	var out []manifest.Insertion
	for _, i := range c.Insertions {
		out = append(out, manifest.Insertion(i))
	}
	return out
}

// fileEdit is a change of an expression in a file.
type fileEdit struct {
	manifest.Edit
	policy string
	change lint.Change
}

func (e fileEdit) line() int { return e.Document.LineOf(e.Path...) }

// fileEdits are those of all files, each file's together.
type fileEdits struct {
	names []string
	of    map[string][]fileEdit
}

func (f *fileEdits) add(e fileEdit) {
	if f.of == nil {
		f.of = map[string][]fileEdit{}
	}
	name := e.Document.File
	if f.of[name] == nil {
		f.names = append(f.names, name)
	}
	f.of[name] = append(f.of[name], e)
}

// write changes the files, and prints what it changed. What cannot be changed in place is said, and
// stays an error of the report.
func (f *fileEdits) write(out, stderr *printer) error {
	for _, name := range f.names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var edits []manifest.Edit
		var done []fileEdit
		for _, e := range f.of[name] {
			if _, err := manifest.Apply(data, []manifest.Edit{e.Edit}); err != nil {
				stderr.printf("%s %s\n", stderr.paint(yellow, "not fixed:"), clean(err.Error()))
				continue
			}
			edits, done = append(edits, e.Edit), append(done, e)
		}
		if len(edits) == 0 {
			continue
		}
		changed, err := manifest.Apply(data, edits)
		if err != nil {
			return err
		}
		if err := changeFile(name, changed); err != nil {
			return fmt.Errorf("--fix %s: %w", name, err)
		}
		slices.SortStableFunc(done, func(a, b fileEdit) int { return cmp.Compare(a.line(), b.line()) })
		for _, e := range done {
			at := fmt.Sprintf("%s:%d", name, e.line())
			out.printf("%s %s\n", out.paint(green, "fixed"), clean(fmt.Sprintf("%s: policy %q: %s", at, e.policy, e.change.Field)))
			for _, i := range e.change.Insertions {
				out.printf("  + %s\n", clean(indentRest(strings.TrimSpace(i.Text))))
			}
		}
		out.printf("\n")
	}
	return cmp.Or(stderr.flush(), out.flush())
}

// changeFile writes a file anew. Its permissions stay, and so does a link to it.
func changeFile(name string, data []byte) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return withHint(errors.New("this is no file that can be changed"), "give the files by name")
	}
	return replaceFile(target, data, info.Mode().Perm())
}
