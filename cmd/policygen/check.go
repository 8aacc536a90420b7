package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies"
)

const checkLong = `Check is the gate for a change of policies. It renders the rule set for every target, compiles every
expression as the API server does when it creates a policy and when it evaluates one, validates
fields, runs all cases, proves with policygen lint that no request can make an expression fail, and
reports for each policy and tier the cases, what they cover, the expressions that are proved, and how
much of its cost limit the dearest expression used.

A policy is partial if some of its cases need values that the profile lacks: those were not run, and
what only they could prove is not known.

With -f it checks other policies, by the cases that are named or lie beside them. Cases that are
missing are then reported, but are no findings, nor are warnings of lint. If there is no case at all, the summary says so:
the policies were compiled, and nothing else about them is known.

Exit status: 0 if all holds, 1 if there are findings, 2 if a file cannot be read.`

const checkExample = `  policygen check
  policygen check --profile clusters/test.yaml
  policygen check -f policies/ -o json`

func newCheck() *cobra.Command {
	c := &checkRun{costs: map[costKey]cost{}}
	var f format
	cmd := &cobra.Command{
		Use:     "check [FIXTURE...]",
		Short:   "Prove policies: compile, run all cases, report coverage and cost",
		Long:    checkLong,
		Example: checkExample,
		Args:    arguments(0, math.MaxInt, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			stderr := newPrinter(cmd.ErrOrStderr())
			c.validate()
			subjects, err := c.flags.load(cmd.InOrStdin(), stderr)
			if err != nil {
				return err
			}
			if err := c.render(subjects); err != nil {
				return err
			}
			c.ctx, c.now, c.more = cmd.Context(), time.Now(), c.measure
			if err := c.run(args, subjects); err != nil {
				return err
			}
			for _, err := range c.errs {
				report(stderr, err)
			}
			c.find()
			if err := c.lint(subjects); err != nil {
				return err
			}
			p := newPrinter(cmd.OutOrStdout())
			if f == asJSON {
				err = writeJSON(p, c.json())
			} else {
				c.print(p)
				err = p.flush()
			}
			return cmp.Or(err, c.exit())
		},
	}
	c.flags.add(cmd)
	addFormat(cmd, &f, asText, asJSON)
	return cmd
}

// checkRun is a test with all that a check looks at besides.
type checkRun struct {
	testRun
	findings []finding
	proofs   map[costKey]proofCount

	mu    sync.Mutex // guards costs
	costs map[costKey]cost
}

// finding is something that has to be mended.
type finding struct {
	Kind    string `json:"kind"` // definition, rendering, field, expression, case, coverage or lint
	Policy  string `json:"policy"`
	Profile string `json:"profile"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func (f finding) String() string {
	at := f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	on := ""
	if f.Profile != "" {
		on = " on " + f.Profile
	}
	var parts []string
	for _, part := range []string{at, strings.TrimSpace(f.Policy + on), f.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

type costKey struct {
	set    *harness.Set
	policy string
}

// cost is the dearest evaluation of an expression.
type cost struct {
	Expression string  `json:"expression"`
	Cost       uint64  `json:"cost"`
	Limit      uint64  `json:"limit"`
	Share      float64 `json:"share"`
}

// measure keeps the dearest expression of a case.
func (c *checkRun) measure(set *harness.Set, k fixture.Case) {
	request := k.Request
	if harness.Complete(&request, k.Cluster, k.Now) != nil {
		return // the case has failed and says so
	}
	prepared, err := harness.Prepare(request, k.Cluster)
	if err != nil {
		return
	}
	v := set.Only(k.Policy).Evaluate(c.ctx, prepared, harness.Options{Trace: true})
	worst := cost{}
	for _, t := range v.Trace {
		for _, e := range t.Expressions {
			if share := float64(e.Cost) / float64(max(e.Limit, 1)); share > worst.Share {
				worst = cost{Expression: cmp.Or(e.Name, e.Field), Cost: e.Cost, Limit: e.Limit, Share: share}
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := (costKey{set, k.Policy}); worst.Share > c.costs[key].Share {
		c.costs[key] = worst
	}
}

// validate checks the definitions of the rule set.
func (c *checkRun) validate() {
	if len(c.flags.files) > 0 {
		return
	}
	if err := policies.Validate(); err != nil {
		for _, e := range split(err) {
			c.findings = append(c.findings, finding{Kind: "definition", Message: e.Error()})
		}
	}
}

// render looks for policies that cannot be written in one of the forms of render.
func (c *checkRun) render(subjects []subject) error {
	for _, s := range subjects {
		if s.profile == nil {
			continue
		}
		m, err := policies.Render(*s.profile, policies.Options{})
		if err != nil {
			return err
		}
		for _, t := range targets {
			_, err := t.files(m)
			if err == nil {
				continue
			}
			for _, e := range split(err) {
				c.findings = append(c.findings, finding{Kind: "rendering", Profile: s.name(), Message: fmt.Sprintf("--target %s: %s", t.name, e)})
			}
		}
	}
	return nil
}

// find turns what the run came to into findings.
func (c *checkRun) find() {
	seen := map[*harness.Set]bool{}
	for _, s := range c.suites {
		if seen[s.subject.set] {
			continue
		}
		seen[s.subject.set] = true
		for _, p := range s.subject.problems() {
			f := finding{Kind: "field", Policy: p.Policy, Profile: s.subject.name(), File: p.file, Line: p.line, Message: p.Field + ": " + problemText(p)}
			if p.expression() {
				f.Kind, f.Message = "expression", p.Field+" "+problemText(p)
			}
			if p.Binding != "" {
				f.Message = fmt.Sprintf("binding %q: %s", p.Binding, f.Message)
			}
			c.findings = append(c.findings, f)
		}
	}
	for s, r := range c.results() {
		if !r.OK {
			c.findings = append(c.findings, finding{Kind: "case", Policy: r.Case.Policy, Profile: s.subject.name(), File: r.Case.File, Line: r.Case.Line,
				Message: fmt.Sprintf("%s: expected %s, actual %s", r.Case.Name, r.Expected, r.Actual)})
		}
	}
	for _, g := range c.uncovered() {
		c.findings = append(c.findings, finding{Kind: "coverage", Policy: g.Policy, Profile: g.Tier, File: g.File, Line: g.Line, Message: g.item.Want()})
	}
}

func (c *checkRun) exit() error {
	switch {
	case len(c.errs) > 0:
		return exitUnable
	case len(c.findings) > 0:
		return exitFound
	}
	if cases, _ := c.counts(); cases == 0 && len(c.flags.files) == 0 {
		return errors.New("no case was found")
	}
	return nil
}

// checkRow is a policy on a tier.
type checkRow struct {
	Policy  string `json:"policy"`
	Suite   string `json:"suite"` // profile, or path of a foreign suite
	Cases   int    `json:"cases"`
	Failed  int    `json:"failed"`
	NotRun  int    `json:"notRun"` // cases that need what the profile lacks
	Covered int    `json:"covered"`
	Items   int    `json:"items"`
	proofCount
	Worst *cost `json:"worstCost"`
}

func (c *checkRun) table() []checkRow {
	rows := []checkRow{}
	for _, s := range c.suites {
		first := len(rows)
		for _, name := range s.subject.set.Policies() {
			row := checkRow{Policy: name, Suite: s.name, proofCount: c.proofs[costKey{s.subject.set, name}]}
			if worst, ok := c.costs[costKey{s.subject.set, name}]; ok {
				row.Worst = &worst
			}
			rows = append(rows, row)
		}
		row := func(policy string) *checkRow {
			i := slices.IndexFunc(rows[first:], func(r checkRow) bool { return r.Policy == policy })
			if i < 0 {
				return &checkRow{} // of a case whose policy does not exist, which is a finding
			}
			return &rows[first+i]
		}
		for _, r := range s.results {
			to := row(r.Case.Policy)
			to.Cases++
			if !r.OK {
				to.Failed++
			}
		}
		for _, out := range s.leftOut {
			row(out.Policy).NotRun++
		}
		for _, cover := range s.coverage {
			to := row(cover.Policy)
			to.Items, to.Covered = len(cover.Items), len(cover.Items)-len(cover.Missing())
		}
	}
	slices.SortStableFunc(rows, func(a, b checkRow) int { return cmp.Compare(a.Policy, b.Policy) })
	return rows
}

func (c *checkRun) print(p *printer) {
	c.printFailures(p)
	others := 0
	for _, f := range c.findings {
		if f.Kind != "case" {
			others++
			p.printf("%s  %s\n", p.paint(red, strings.ToUpper(f.Kind)), indentRest(clean(f.String())))
		}
	}
	for _, s := range c.suites {
		if !s.complete {
			others += s.printGaps(p)
		}
		others += s.printNotRun(p)
	}
	if others > 0 {
		p.printf("\n")
	}
	t := &table{}
	for _, r := range c.table() {
		word, color := "ok", green
		switch {
		case r.Failed > 0 || c.found(r):
			word, color = "FAIL", red
		case r.Cases == 0:
			word, color = "no cases", yellow
		case r.NotRun > 0:
			word, color = "partial", yellow
		}
		covered := ""
		if r.Items > 0 {
			covered = fmt.Sprintf("%d of %d covered", r.Covered, r.Items)
		}
		t.add(color, word, clean(r.Policy), clean(r.Suite), count(r.Cases, "case"), fmt.Sprintf("%d failed", r.Failed), notRunText(r.NotRun), covered, r.text(), worstText(r.Worst))
	}
	t.print(p, "")
	cases, failed := c.counts()
	ran := fmt.Sprintf("%s, %d failed", count(cases, "case"), failed)
	if cases == 0 {
		ran = "no case was run"
	}
	if n := notRunText(c.leftOut()); n != "" {
		ran += ", " + n
	}
	p.printf("\n%s, %s, %s\n", count(c.policies(), "policy"), ran, count(len(c.findings), "finding"))
}

// found tells whether there is a finding about a row.
func (c *checkRun) found(r checkRow) bool {
	return slices.ContainsFunc(c.findings, func(f finding) bool {
		return f.Policy == r.Policy && (f.Profile == "" || f.Profile == r.Suite)
	})
}

// notRunText is empty if all cases were run.
func notRunText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d not run", n)
}

func worstText(c *cost) string {
	if c == nil {
		return ""
	}
	share := "less than 1%"
	if c.Share >= 0.01 {
		share = fmt.Sprintf("%.0f%%", c.Share*100)
	}
	return fmt.Sprintf("%s of the cost limit (%s)", share, oneLine(c.Expression))
}

func (c *checkRun) policies() int {
	names := map[string]bool{}
	for _, r := range c.table() {
		names[r.Policy] = true
	}
	return len(names)
}

// checkJSON is what `check -o json` prints. Its lists are never null.
type checkJSON struct {
	Policies  int          `json:"policies"`
	Cases     int          `json:"cases"`
	Failed    int          `json:"failed"`
	Uncovered []itemJSON   `json:"uncovered"`
	NotRun    []notRunJSON `json:"notRun"`
	Findings  []finding    `json:"findings"`
	// Report has an entry for each policy on each tier.
	Report []checkRow `json:"report"`
}

func (c *checkRun) json() checkJSON {
	out := checkJSON{Policies: c.policies(), Uncovered: []itemJSON{}, NotRun: c.notRunJSON(), Findings: append([]finding{}, c.findings...), Report: c.table()}
	out.Cases, out.Failed = c.counts()
	for _, s := range c.suites {
		for _, g := range s.gaps() {
			out.Uncovered = append(out.Uncovered, g.json())
		}
	}
	return out
}
