package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
)

// baselineVersion is that of the file's form.
const baselineVersion = 1

// baselineFile is the findings that a folder of policies had when lint was introduced. It is sorted, so
// that it differs only where the findings do.
type baselineFile struct {
	Version  int             `json:"version"`
	Findings []baselineEntry `json:"findings"`
}

// baselineEntry is findings of one rule in one expression.
type baselineEntry struct {
	baselineKey
	Count int `json:"count"`
}

// baselineKey has no lines and no indices, which change with what stands before.
type baselineKey struct {
	Policy  string `json:"policy"`
	Binding string `json:"binding,omitempty"`
	// Field is that of the finding, with the name of the element in place of its index if it has one.
	Field string `json:"field"`
	Rule  string `json:"rule"`
	// Expression is a hash of the text without regard to white space, empty for what is no expression.
	Expression string `json:"expression,omitempty"`
}

func (k baselineKey) compare(o baselineKey) int {
	return cmp.Or(strings.Compare(k.Policy, o.Policy), strings.Compare(k.Binding, o.Binding), strings.Compare(k.Field, o.Field),
		strings.Compare(k.Rule, o.Rule), strings.Compare(k.Expression, o.Expression))
}

var indexPattern = regexp.MustCompile(`\[\d+\]`)

func (f lintFinding) baselineKey() baselineKey {
	name := f.of.Name
	if name == f.Path {
		name = ""
	}
	k := baselineKey{Policy: f.Policy, Binding: f.Binding, Rule: f.Rule,
		Field: indexPattern.ReplaceAllStringFunc(f.Path, func(string) string { return "[" + name + "]" })}
	if f.of.Text != "" {
		const length = 8 // bytes: it tells apart the few expressions of one field
		sum := sha256.Sum256([]byte(strings.Join(strings.Fields(f.of.Text), " ")))
		k.Expression = hex.EncodeToString(sum[:length])
	}
	return k
}

// baselineOf are findings as entries.
func baselineOf(findings []lintFinding) baselineFile {
	counts := map[baselineKey]int{}
	for _, f := range findings {
		counts[f.baselineKey()]++
	}
	return baselineFile{baselineVersion, entries(counts)}
}

func entries(counts map[baselineKey]int) []baselineEntry {
	all := []baselineEntry{}
	for k, n := range counts {
		if n > 0 {
			all = append(all, baselineEntry{k, n})
		}
	}
	slices.SortFunc(all, func(a, b baselineEntry) int { return a.compare(b.baselineKey) })
	return all
}

// applyBaseline takes the findings that the file of --baseline has out of the report; with --write-baseline it
// makes the file first. Entries that no longer occur are kept for the report.
func (l *linter) applyBaseline() error {
	name := l.options.baseline
	if name == "" {
		return nil
	}
	if l.options.writeBaseline {
		if err := writeBaseline(name, baselineOf(l.findings)); err != nil {
			return fmt.Errorf("--baseline %s: %w", name, err)
		}
	}
	file, err := readBaseline(name)
	if err != nil {
		return err
	}
	left := map[baselineKey]int{}
	for _, e := range file.Findings {
		left[e.baselineKey] += e.Count
	}
	var fresh []lintFinding
	for _, f := range l.findings {
		key := f.baselineKey()
		if left[key] == 0 {
			fresh = append(fresh, f)
			continue
		}
		left[key]--
		f.Baseline, f.Reason = true, "in the baseline "+name
		l.accepted = append(l.accepted, f)
	}
	l.findings, l.gone = fresh, entries(left)
	return nil
}

func writeBaseline(name string, file baselineFile) error {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(file); err != nil {
		return err
	}
	err := changeFile(name, data.Bytes())
	if errors.Is(err, fs.ErrNotExist) {
		return os.WriteFile(name, data.Bytes(), 0o666) //nolint:gosec // for everybody to read, as the umask says
	}
	return err
}

func readBaseline(name string) (baselineFile, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return baselineFile{}, withHint(fmt.Errorf("--baseline %s: %s", name, cause(err)), "make the file with --write-baseline")
	}
	var file baselineFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err = d.Decode(&file)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is text behind it")
		}
	}
	if err == nil && file.Version != baselineVersion {
		err = fmt.Errorf("it is of version %d and not %d", file.Version, baselineVersion)
	}
	if err == nil && slices.ContainsFunc(file.Findings, func(e baselineEntry) bool { return e.Count < 1 }) {
		err = errors.New("a count is less than 1")
	}
	if err != nil {
		return baselineFile{}, withHint(fmt.Errorf("--baseline %s: this is no baseline: %w", name, err), "make the file anew with --write-baseline")
	}
	return file, nil
}

// remarkGone names the entries of the baseline that no longer occur.
func (l *linter) remarkGone(p *printer) {
	for _, e := range l.gone {
		at := lintFinding{Policy: e.Policy, Binding: e.Binding}.subject() + ": " + e.Field
		p.printf("%s %s\n", p.paint(faint, "note:"), clean(fmt.Sprintf("%s: gone: %s of %s in %s; make the file anew with --write-baseline",
			l.options.baseline, count(e.Count, "finding"), e.Rule, at)))
	}
	_ = p.flush()
}
