package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/cel/mutate"
)

// mutation judges the cases of a test by mutants of the policies.
type mutation struct {
	ctx    context.Context
	only   func(subject, mutate.Mutant) bool // nil: all mutants
	stderr io.Writer                         // for progress

	policies []*mutatedPolicy
}

// mutatedPolicy is one policy of one subject.
type mutatedPolicy struct {
	subject    subject
	name       string
	cases      []fixture.Case
	judge      *mutate.Judge
	mutants    []mutate.Mutant
	survived   []survivor
	equivalent []mutate.Mutant
	err        error
}

// survivor is a mutant that no case notices, with a case that would; nil: none was found.
type survivor struct {
	mutate.Mutant
	fixture *fixture.Case
}

func (p *mutatedPolicy) killed() int { return len(p.mutants) - len(p.survived) - len(p.equivalent) }

// run judges all policies of the suites that have cases.
func (m *mutation) run(suites []suite) error {
	// Programs are made and dropped all the time, so that the collector takes a third of the work; the
	// memory that they need at once is little.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for p := range inOrder(slices.Values(m.prepared(suites)), func(p *mutatedPolicy) *mutatedPolicy { p.prepare(m); return p }) {
		if p.err != nil {
			return p.err
		}
		m.policies = append(m.policies, p)
	}
	if err := m.judgeAll(); err != nil {
		return err
	}
	for p := range inOrder(slices.Values(m.policies), func(p *mutatedPolicy) *mutatedPolicy { p.prove(); return p }) {
		if p.err != nil {
			return p.err
		}
	}
	return m.search()
}

// prepared are the policies that have cases. Suites in other layouts bring expectations that are no
// fixtures.
func (m *mutation) prepared(suites []suite) []*mutatedPolicy {
	var all []*mutatedPolicy
	for _, s := range suites {
		if s.subject.profile == nil && s.subject.bundle == nil {
			continue
		}
		for _, name := range s.subject.set.Policies() {
			var cases []fixture.Case
			for _, r := range s.results {
				if r.Case.Policy == name {
					cases = append(cases, r.Case)
				}
			}
			if len(cases) > 0 {
				all = append(all, &mutatedPolicy{subject: s.subject, name: name, cases: cases})
			}
		}
	}
	return all
}

func (p *mutatedPolicy) prepare(m *mutation) {
	p.judge = mutate.NewJudge(m.ctx, p.subject.set, p.name, p.cases)
	p.mutants, p.err = mutate.Of(p.subject.set, p.name)
	if m.only != nil {
		p.mutants = slices.DeleteFunc(p.mutants, func(x mutate.Mutant) bool { return !m.only(p.subject, x) })
	}
}

// judgeAll finds the mutants that no case kills.
func (m *mutation) judgeAll() error {
	type job struct {
		policy *mutatedPolicy
		mutant mutate.Mutant
		killed bool
		err    error
	}
	var jobs []*job
	for _, p := range m.policies {
		for _, x := range p.mutants {
			jobs = append(jobs, &job{policy: p, mutant: x})
		}
	}
	progress := newProgress(m.stderr, "mutant", len(jobs))
	defer progress.clear()
	for j := range inOrder(slices.Values(jobs), func(j *job) *job { j.killed, j.err = j.policy.judge.Kills(m.ctx, j.mutant); return j }) {
		if j.err != nil {
			return j.err
		}
		if !j.killed {
			j.policy.survived = append(j.policy.survived, survivor{Mutant: j.mutant})
		}
		progress.step()
	}
	return nil
}

// prove sets those apart of which it is proved that no request can tell them from the policy.
func (p *mutatedPolicy) prove() {
	if len(p.survived) == 0 {
		return
	}
	sets := make([]*harness.Set, len(p.survived))
	for i, s := range p.survived {
		if sets[i], p.err = s.Set(); p.err != nil {
			return
		}
	}
	proved, err := lint.Equivalent(p.subject.set, p.name, sets, lint.Options{Resources: p.subject.cluster.Resources})
	if p.err = err; err != nil {
		return
	}
	var rest []survivor
	for i, s := range p.survived {
		if proved[i] {
			p.equivalent = append(p.equivalent, s.Mutant)
		} else {
			rest = append(rest, s)
		}
	}
	p.survived = rest
}

// search looks for the cases that would kill the survivors.
func (m *mutation) search() error {
	type job struct {
		policy *mutatedPolicy
		at     int
		err    error
	}
	var jobs []*job
	for _, p := range m.policies {
		for i := range p.survived {
			jobs = append(jobs, &job{policy: p, at: i})
		}
	}
	for j := range inOrder(slices.Values(jobs), func(j *job) *job {
		s := &j.policy.survived[j.at]
		s.fixture, j.err = j.policy.judge.Search(m.ctx, s.Mutant)
		if tier := j.policy.subject.tier(); s.fixture != nil && tier != "" {
			s.fixture.Tiers = []string{tier}
		}
		return j
	}) {
		if j.err != nil {
			return j.err
		}
	}
	return nil
}

// totals are over all policies.
func (m *mutation) totals() (mutants, killed, survived, equivalent int) {
	for _, p := range m.policies {
		mutants += len(p.mutants)
		killed += p.killed()
		survived += len(p.survived)
		equivalent += len(p.equivalent)
	}
	return mutants, killed, survived, equivalent
}

func (m *mutation) status() error {
	switch mutants, _, survived, _ := m.totals(); {
	case survived > 0:
		return exitFound
	case mutants == 0 && m.only == nil:
		return withHint(fmt.Errorf("there is nothing to change: no policy has a case"), "name fixture files or folders; see policygen test --help")
	}
	return nil
}

func (m *mutation) print(p *printer) {
	for _, policy := range m.policies {
		for _, s := range policy.survived {
			policy.printSurvivor(p, s)
		}
	}
	m.printTable(p, func(_ *mutatedPolicy, x mutate.Mutant) string { return x.Operator })
	p.printf("\n")
	m.printTable(p, func(policy *mutatedPolicy, _ mutate.Mutant) string { return policy.name })
	mutants, killed, survived, equivalent := m.totals()
	p.printf("\n%s, %d killed, %d equivalent, %d survived\n", count(mutants, "mutant"), killed, equivalent, survived)
}

func (p *mutatedPolicy) printSurvivor(out *printer, s survivor) {
	on := ""
	if name := p.subject.name(); name != "" {
		on = " (" + name + ")"
	}
	out.printf("%s  %s%s: %s: %s\n", out.paint(red, "SURVIVED"), clean(p.name), clean(on), clean(s.Place()), s.Operator)
	before, after := s.diff()
	for _, line := range before {
		out.printf("  %s\n", out.paint(red, "- "+clean(line)))
	}
	for _, line := range after {
		out.printf("  %s\n", out.paint(green, "+ "+clean(line)))
	}
	if s.fixture == nil {
		out.printf("  no request was found on which the answers differ\n\n")
		return
	}
	text, err := s.fixture.YAML()
	if err != nil {
		out.printf("  %v\n\n", err)
		return
	}
	out.printf("  this case would notice it:\n%s\n", indented(clean(string(text))))
}

// diff are the lines that a mutant changes, before and after.
func (s survivor) diff() (before, after []string) {
	if s.Mutated == "" {
		if s.Before != "" {
			before = strings.Split(s.Before, "\n")
		}
		if s.After != "" {
			after = []string{s.After}
		}
		return before, after
	}
	before, after = strings.Split(s.Text, "\n"), strings.Split(s.Mutated, "\n")
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	return before, after
}

// printTable prints counts by a name, in the order of their first mutants.
func (m *mutation) printTable(p *printer, by func(*mutatedPolicy, mutate.Mutant) string) {
	type row struct{ mutants, survived, equivalent int }
	rows := map[string]*row{}
	var names []string
	row0 := func(name string) *row {
		if rows[name] == nil {
			rows[name] = &row{}
			names = append(names, name)
		}
		return rows[name]
	}
	for _, policy := range m.policies {
		for _, x := range policy.mutants {
			row0(by(policy, x)).mutants++
		}
		for _, s := range policy.survived {
			row0(by(policy, s.Mutant)).survived++
		}
		for _, x := range policy.equivalent {
			row0(by(policy, x)).equivalent++
		}
	}
	slices.Sort(names)
	t := &table{}
	for _, name := range names {
		r := rows[name]
		word, color := "ok", green
		if r.survived > 0 {
			word, color = "SURVIVED", red
		}
		equivalent := ""
		if r.equivalent > 0 {
			equivalent = fmt.Sprintf("%d equivalent", r.equivalent)
		}
		t.add(color, word, clean(name), count(r.mutants, "mutant"), fmt.Sprintf("%d killed", r.mutants-r.survived-r.equivalent), equivalent, fmt.Sprintf("%d survived", r.survived))
	}
	t.print(p, "")
}
