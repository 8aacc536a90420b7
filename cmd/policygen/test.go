package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hangar.io/holdshort/cel/fixture"
)

const testLong = `Test sends the request of each case to the policy that the case is about, and compares the
answer with the one that the case expects.

Without -f the policies are the rule set, on each profile, and without FIXTURE all its cases are
run; what no case proves is then a finding too. With -f the cases are those of FIXTURE, or those
that lie beside the policies. A FIXTURE is a file or a folder with
  fixture files            of this project (docs/fixture.schema.json);
  a folder tests           of manifests <policy>.<case>.<allow|deny|warn|audit>.<object|...>.yaml
                           beside its policy files;
  a kyverno-test.yaml      as far as it is about ValidatingAdmissionPolicies.
The last two bring their own policies, so that they need no -f.

With --mutate the policies are changed, one small mistake at a time, and each change has to be
noticed by a case of a fixture file: see docs/mutate.md. What survives is printed with a case that
would notice it. Cases that fail come first: as long as there are any, nothing is changed. --since
takes only the expressions and fields that differ from those of a git revision, in the files of -f,
or in examples/ of the rule set.

Exit status: 0 if all cases get what they expect, 1 if one does not or a change survives, 2 if a file cannot be read,
a case is about a policy that does not exist, or the server would refuse to create a policy.`

const testExample = `  policygen test
  policygen test --profile flight policies/testdata/breakglass-rolebinding.yaml
  policygen test -f policies/
  policygen test -f policy.yaml cases.yaml -o junit > report.xml
  policygen test --mutate
  policygen test --mutate --since origin/main -f policies/
  policygen test kyverno/tests/`

func newTest() *cobra.Command {
	t := &testRun{}
	var f format
	var mutants mutateOptions
	cmd := &cobra.Command{
		Use:     "test [FIXTURE...]",
		Short:   "Judge the cases of policies, and tell what no case proves",
		Long:    testLong,
		Example: testExample,
		Args:    arguments(0, math.MaxInt, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			stderr := newPrinter(cmd.ErrOrStderr())
			subjects, err := t.flags.load(cmd.InOrStdin(), stderr)
			if err != nil {
				return err
			}
			t.ctx, t.now = cmd.Context(), time.Now()
			if err := t.run(args, subjects); err != nil {
				return err
			}
			problems := problemsOf(subjects)
			warnProblems(stderr, problems)
			for _, err := range t.errs {
				report(stderr, err)
			}
			if mutants.wanted && len(problems) == 0 && len(t.errs) == 0 && t.passed() {
				return mutants.run(cmd, t, f)
			}
			if err := t.print(newPrinter(cmd.OutOrStdout()), f); err != nil {
				return err
			}
			if len(problems) > 0 {
				return exitUnable
			}
			return t.status()
		},
	}
	t.flags.add(cmd)
	mutants.add(cmd)
	addFormat(cmd, &f, asText, asJSON, asJUnit)
	return cmd
}

// passed tells whether there are cases, and all hold.
func (t *testRun) passed() bool {
	cases, failed := t.counts()
	return cases > 0 && failed == 0
}

// problemsOf are the expressions of policies of -f that do not compile. Those of the rule set are
// looked for by check.
func problemsOf(subjects []subject) []problem {
	var all []problem
	for _, s := range subjects {
		if s.bundle != nil {
			all = append(all, s.problems()...)
		}
	}
	return all
}

func (t *testRun) print(p *printer, f format) error {
	switch f {
	case asJSON:
		return writeJSON(p, t.json())
	case asJUnit:
		if err := fixture.WriteJUnit(p.w, t.junit()); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
		return p.flush()
	}
	t.printFailures(p)
	t.printGaps(p)
	t.printTable(p)
	return p.flush()
}

// printFailures prints each failed case with all that is needed to mend it.
func (t *testRun) printFailures(p *printer) {
	for s, r := range t.results() {
		if r.OK {
			continue
		}
		on := ""
		if s.name != "" {
			on = fmt.Sprintf(" (%s)", s.name)
		}
		p.printf("%s  %s:%d  %s%s\n", p.paint(red, "FAIL"), clean(r.Case.File), r.Case.Line, p.paint(bold, oneLine(r.Case.Name)), clean(on))
		p.field("policy", r.Case.Policy)
		p.field("expected", r.Expected)
		p.field("actual", r.Actual)
		if r.Decisive != "" {
			p.field("because", r.Decisive)
		}
		p.printf("\n")
	}
}

// printGaps prints what no case proves, and what was not run.
func (t *testRun) printGaps(p *printer) {
	n := 0
	for _, s := range t.suites {
		n += s.printGaps(p) + s.printNotRun(p)
	}
	if n > 0 {
		p.printf("\n")
	}
}

// printGaps does it for one suite and returns the number of lines.
func (s suite) printGaps(p *printer) int {
	gaps := s.gaps()
	for _, g := range gaps {
		p.printf("%s  %s\n", p.paint(yellow, "UNCOVERED"), clean(g.Gap(g.item)))
	}
	return len(gaps)
}

// printNotRun prints what of one suite was not run, and returns the number of lines.
func (s suite) printNotRun(p *printer) int {
	all := s.notRun()
	for _, c := range all {
		p.printf("%s  %s\n", p.paint(yellow, "NOT RUN"), clean(c.String()))
	}
	return len(all)
}

// policyRow is what a policy's cases came to, over all suites of the same kind.
type policyRow struct {
	suite, policy          string
	cases, failed, notRun  int
	covered, items, suites int
}

// rows are the policies in the order of the suites. Profiles of the rule set count together.
func (t *testRun) rows() []policyRow {
	var rows []policyRow
	index := map[string]int{}
	for _, s := range t.suites {
		name := s.name
		if s.subject.profile != nil {
			name = ""
		}
		row := func(policy string) *policyRow {
			key := name + "\n" + policy
			if _, ok := index[key]; !ok {
				index[key] = len(rows)
				rows = append(rows, policyRow{suite: name, policy: policy})
			}
			return &rows[index[key]]
		}
		for _, c := range s.coverage {
			r := row(c.Policy)
			r.suites++
			r.items += len(c.Items)
			r.covered += len(c.Items) - len(c.Missing())
		}
		for _, c := range s.leftOut {
			row(c.Policy).notRun++
		}
		for _, result := range s.results {
			r := row(result.Case.Policy)
			r.cases++
			if !result.OK {
				r.failed++
			}
		}
	}
	return rows
}

func (t *testRun) printTable(p *printer) {
	table := &table{}
	for _, r := range t.rows() {
		word, color := "ok", green
		switch {
		case r.failed > 0:
			word, color = "FAIL", red
		case r.cases == 0:
			word, color = "no cases", yellow
		case r.notRun > 0:
			word, color = "partial", yellow
		}
		cells := []string{word, clean(r.policy), count(r.cases, "case"), fmt.Sprintf("%d failed", r.failed), notRunText(r.notRun)}
		if r.items > 0 {
			cells = append(cells, fmt.Sprintf("%d of %d covered", r.covered, r.items))
		} else if r.suite != "" {
			cells = append(cells, "")
		}
		table.add(color, append(cells, clean(r.suite))...)
	}
	table.print(p, "")
	cases, failed := t.counts()
	summary := []string{count(len(t.rows()), "policy"), count(cases, "case"), fmt.Sprintf("%d failed", failed)}
	if n := notRunText(t.leftOut()); n != "" {
		summary = append(summary, n)
	}
	if n := len(t.uncovered()); n > 0 {
		summary = append(summary, fmt.Sprintf("%d uncovered", n))
	}
	p.printf("\n%s\n", strings.Join(summary, ", "))
}

func (t *testRun) junit() []fixture.Suite {
	var all []fixture.Suite
	for _, s := range t.suites {
		name := s.name
		if name == "" {
			name = "policygen"
		}
		js := fixture.Suite{Name: name, Results: s.results}
		if s.complete {
			js.Coverage = s.coverage
		}
		all = append(all, js)
	}
	return all
}
