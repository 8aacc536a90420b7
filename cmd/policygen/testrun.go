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
	// leftOut are the cases that are not for this profile, because of what it lacks.
	leftOut []fixture.Case
	// notCovered is what a foreign suite tests and cannot be run.
	notCovered []fixture.NotCovered
}

// notRun is everything that was not run, the cases that were left out for one reason as one.
func (s suite) notRun() []fixture.NotCovered {
	all := slices.Clone(s.notCovered)
	n := map[[2]string]int{}
	for _, c := range s.leftOut {
		n[[2]string{c.File, c.Lacks}]++
	}
	for _, c := range s.leftOut {
		key := [2]string{c.File, c.Lacks}
		if n[key] > 0 {
			all = append(all, fixture.NotCovered{File: c.File, Line: c.Line, What: fmt.Sprintf("%s: profile %s has no %s", count(n[key], "case"), s.name, c.Lacks)})
		}
		n[key] = 0
	}
	return all
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
	var candidates []string
	of := map[string]string{} // candidate → path
	for _, path := range paths {
		files, err := yamlFiles(path)
		if err != nil {
			return err
		}
		for _, f := range files {
			of[f] = path
		}
		candidates = append(candidates, files...)
	}
	slices.Sort(candidates)
	own := map[string]int{}
	suites := t.fixtures(slices.Compact(candidates), subjects, all, func(file string) { own[of[file]]++ })
	if len(own) > 0 || all {
		t.suites = suites
	}
	for _, path := range paths {
		found, err := t.foreign(path, own[path] > 0)
		if err != nil {
			t.errs = append(t.errs, err)
		} else if own[path] == 0 && !found && !all {
			t.errs = append(t.errs, withHint(fmt.Errorf("%s: no cases in it", path), "expected fixture files, a folder tests with cases, or a kyverno-test.yaml"))
		}
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

// yamlFiles are the files that may be fixtures: the path itself, or what a folder holds.
func yamlFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
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
		case entry.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// fixtures judges the cases of those files that are fixtures by each subject, and tells of each.
func (t *testRun) fixtures(files []string, subjects []subject, complete bool, each func(file string)) []suite {
	suites := make([]suite, len(subjects))
	for i, s := range subjects {
		suites[i] = suite{name: s.name(), subject: s, complete: complete && s.profile != nil}
	}
	for o := range inOrder(slices.Values(files), func(path string) fileOutcome { return t.file(path, subjects) }) {
		if o.err != nil {
			t.errs = append(t.errs, o.err)
		}
		if o.fixture {
			each(o.path)
		}
		for i, c := range o.cases {
			suites[i].results = append(suites[i].results, c.results...)
			suites[i].leftOut = append(suites[i].leftOut, c.leftOut...)
		}
	}
	for i := range suites {
		s := &suites[i]
		s.coverage = fixture.Cover(t.ctx, s.subject.set, s.subject.tier(), s.results, s.leftOut...)
	}
	return suites
}

// fileOutcome is what became of a file.
type fileOutcome struct {
	path    string
	fixture bool
	cases   []fileCases // of each subject
	err     error
}

// fileCases is what became of the cases of a file.
type fileCases struct {
	results []fixture.Result
	leftOut []fixture.Case
}

// file judges the cases of a file by each subject, if it is a fixture.
func (t *testRun) file(path string, subjects []subject) fileOutcome {
	o := fileOutcome{path: path}
	if info, err := os.Stat(path); err == nil && info.Size() > fixture.MaxBytes {
		return o
	}
	data, err := os.ReadFile(path)
	if err != nil {
		o.err = err
		return o
	}
	// All files right in the rule set's folder are fixtures: one that is too broken to be told must
	// not be passed over.
	o.fixture = looksLikeFixture(data) || filepath.Dir(path) == filepath.FromSlash(ruleSetFixtures)
	if !o.fixture {
		return o
	}
	file, err := fixture.Load(path, data)
	if err != nil {
		o.err = err
		return o
	}
	if o.err = known(file, subjects); o.err != nil {
		return o
	}
	for _, s := range subjects {
		cases, err := t.cases(file, s)
		if err != nil {
			return fileOutcome{path: path, fixture: true, err: err}
		}
		o.cases = append(o.cases, cases)
	}
	return o
}

// known checks that the policy of a fixture exists.
func known(file *fixture.File, subjects []subject) error {
	names := policies.Names()
	hint := "expected one of %s; policygen holds the rule set that it was built with: make run builds it again"
	if subjects[0].profile == nil {
		names = subjects[0].set.Policies()
		hint = "expected one of %s; give the file of the policy with -f"
	}
	if slices.Contains(names, file.Policy) {
		return nil
	}
	return withHint(fmt.Errorf("%s:%d: policy: there is no policy %q", file.Path, file.PolicyLine, file.Policy), hint, strings.Join(names, ", "))
}

// cases judges the cases of one file that are meant for a subject.
func (t *testRun) cases(file *fixture.File, s subject) (fileCases, error) {
	var j fileCases
	if s.profile != nil {
		policy, err := policies.Get(file.Policy)
		if err == nil && !policy.AppliesTo(*s.profile) {
			return j, nil
		}
	}
	cases, err := file.Resolve(s.inputs(t.now, s.cluster))
	if err != nil {
		return j, err
	}
	for _, c := range cases {
		if c.LeftOut(s.tier()) {
			j.leftOut = append(j.leftOut, c)
		}
		if !c.In(s.tier()) {
			continue
		}
		j.results = append(j.results, fixture.Run(t.ctx, s.set, c))
		if t.more != nil {
			t.more(s.set, c)
		}
	}
	return j, nil
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

// leftOut is the number of cases that were not run, as their profile lacks a value that they need.
func (t *testRun) leftOut() int {
	n := 0
	for _, s := range t.suites {
		n += len(s.leftOut)
	}
	return n
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
