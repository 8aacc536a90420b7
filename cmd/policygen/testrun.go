package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies"
)

// ruleSetFixtures is where the rule set's cases are, from the root of the project.
const ruleSetFixtures = "policies/testdata"

// suite is what became of cases that were judged by one set of policies.
type suite struct {
	// name is the profile or the path of a foreign suite; empty for policies of -f.
	name    string
	subject subject
	results []fixture.Result
	// coverage is what the cases prove; complete tells whether all cases of the policies were
	// run, so that a gap is a finding.
	coverage []fixture.Coverage
	complete bool
	// notCovered is what a foreign suite tests and cannot be run.
	notCovered []fixture.NotCovered
}

func (s suite) failed() int {
	n := 0
	for _, r := range s.results {
		if !r.OK {
			n++
		}
	}
	return n
}

// gaps are the missing cases of policies that have cases, or of all if the suite is complete.
func (s suite) gaps() []gap {
	var all []gap
	for _, c := range s.coverage {
		if c.File == "" && !s.complete {
			continue
		}
		for _, i := range c.Missing() {
			all = append(all, gap{c, i})
		}
	}
	return all
}

// gap is something that no case proves.
type gap struct {
	fixture.Coverage
	item fixture.Item
}

// testRun collects the suites of a test or check.
type testRun struct {
	ctx    context.Context
	flags  subjectFlags
	now    time.Time
	suites []suite
	// errs are the files that could not be read; the other ones were run.
	errs []error
	// more looks at every case, if it is set; it must be safe for concurrent use.
	more func(*harness.Set, fixture.Case)
}

// run judges the cases at the paths, or all there are for the subjects if there are none.
func (t *testRun) run(paths []string, subjects []subject) error {
	all := len(paths) == 0
	if all {
		var err error
		if paths, err = t.defaultPaths(); err != nil {
			return err
		}
	}
	var fixtures []string
	for _, path := range paths {
		own, err := fixtureFiles(path, all && len(t.flags.files) == 0)
		if err != nil {
			return err
		}
		fixtures = append(fixtures, own...)
		found, err := t.foreign(path, len(own) > 0)
		if err != nil {
			t.errs = append(t.errs, err)
		} else if len(own) == 0 && !found && !all {
			t.errs = append(t.errs, withHint(fmt.Errorf("%s: no cases in it", path), "expected fixture files, a folder tests with cases, or a kyverno-test.yaml"))
		}
	}
	slices.Sort(fixtures)
	fixtures = slices.Compact(fixtures)
	if len(fixtures) > 0 || all {
		t.suites = append(t.fixtures(fixtures, subjects, all), t.suites...)
	}
	return nil
}

// defaultPaths are where cases lie if none are named: beside the policies.
func (t *testRun) defaultPaths() ([]string, error) {
	if len(t.flags.files) > 0 {
		return slices.DeleteFunc(slices.Clone(t.flags.files), func(p string) bool { return p == "-" }), nil
	}
	if _, err := os.Stat(ruleSetFixtures); errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(fmt.Errorf("there is no folder %s here", ruleSetFixtures), "run policygen in the root of the project, or name fixtures")
	}
	return []string{ruleSetFixtures}, nil
}

// fixtureFiles are the fixture files at a path. In a folder they are told by their keys, but all
// YAML files right in the rule set's folder are fixtures.
func fixtureFiles(path string, ruleSet bool) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if isFixture(path) {
			return []string{path}, nil
		}
		return nil, nil
	}
	if ruleSet {
		return filepath.Glob(filepath.Join(path, "*.yaml"))
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != path && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) && isFixture(name):
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// fixtures judges the cases of fixture files by each subject.
func (t *testRun) fixtures(files []string, subjects []subject, complete bool) []suite {
	suites := make([]suite, len(subjects))
	for i, s := range subjects {
		suites[i] = suite{name: s.name(), subject: s, complete: complete && s.profile != nil}
	}
	type outcome struct {
		results [][]fixture.Result // of each subject
		err     error
	}
	for o := range inOrder(slices.Values(files), func(path string) outcome {
		file, err := fixture.LoadFile(path)
		if err != nil {
			return outcome{err: err}
		}
		results := make([][]fixture.Result, len(subjects))
		for i, s := range subjects {
			if results[i], err = t.file(file, s); err != nil {
				return outcome{err: err}
			}
		}
		return outcome{results: results}
	}) {
		if o.err != nil {
			t.errs = append(t.errs, o.err)
			continue
		}
		for i := range suites {
			suites[i].results = append(suites[i].results, o.results[i]...)
		}
	}
	for i := range suites {
		s := &suites[i]
		s.coverage = fixture.Cover(t.ctx, s.subject.set, s.subject.tier(), s.results)
	}
	return suites
}

// file judges the cases of one file that are meant for a subject.
func (t *testRun) file(file *fixture.File, s subject) ([]fixture.Result, error) {
	if s.profile != nil {
		policy, err := policies.Get(file.Policy)
		if err == nil && !policy.AppliesTo(*s.profile) {
			return nil, nil
		}
	}
	cases, err := file.Resolve(s.inputs(t.now, s.cluster))
	if err != nil {
		return nil, err
	}
	var results []fixture.Result
	for _, c := range cases {
		if !c.In(s.tier()) {
			continue
		}
		results = append(results, fixture.Run(t.ctx, s.set, c))
		if t.more != nil {
			t.more(s.set, c)
		}
	}
	return results, nil
}

// foreign judges the suites in other layouts at a path, and tells whether there are any.
func (t *testRun) foreign(path string, hasOwn bool) (bool, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() && hasOwn {
		return false, err
	}
	found, err := fixture.LoadForeign(path, fixture.Inputs{Now: t.now})
	for _, f := range found {
		set, compileErr := f.Compile()
		if compileErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", f.Path, compileErr))
			continue
		}
		s := suite{name: f.Path, subject: subject{set: set}, notCovered: f.NotCovered}
		for r := range inOrder(slices.Values(f.Cases), func(c fixture.ForeignCase) fixture.Result {
			if t.more != nil {
				t.more(set, c.Case)
			}
			return c.Run(t.ctx, set)
		}) {
			s.results = append(s.results, r)
		}
		t.suites = append(t.suites, s)
	}
	return len(found) > 0, err
}

// results yields every result with the suite that it belongs to.
func (t *testRun) results() iter.Seq2[*suite, fixture.Result] {
	return func(yield func(*suite, fixture.Result) bool) {
		for i := range t.suites {
			for _, r := range t.suites[i].results {
				if !yield(&t.suites[i], r) {
					return
				}
			}
		}
	}
}

// counts are the cases that were run and those of them that failed.
func (t *testRun) counts() (cases, failed int) {
	for _, s := range t.suites {
		cases += len(s.results)
		failed += s.failed()
	}
	return cases, failed
}

// uncovered are the gaps that are findings.
func (t *testRun) uncovered() []gap {
	var all []gap
	for _, s := range t.suites {
		if s.complete {
			all = append(all, s.gaps()...)
		}
	}
	return all
}

// status is what the exit status follows from.
func (t *testRun) status() error {
	cases, failed := t.counts()
	switch {
	case len(t.errs) > 0:
		return exitUnable
	case failed > 0 || len(t.uncovered()) > 0:
		return exitFound
	case cases == 0:
		return withHint(errors.New("no case was found"), "name fixture files or folders; see policygen test --help")
	}
	return nil
}
