package main

import (
	"fmt"

	"hangar.io/holdshort/cel/lint"
)

// proofCount counts the expressions of a policy.
type proofCount struct {
	Expressions int `json:"expressions"`
	Proved      int `json:"proved"`
}

func (n proofCount) text() string {
	if n.Expressions == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d proved", n.Proved, n.Expressions)
}

// lint applies the rules of lint. An error is a finding; of the rule set each expression has to be
// proved as well.
func (c *checkRun) lint(subjects []subject) error {
	l := newLinter(c.ctx, &lintOptions{subjects: c.flags}, subjects[0].cluster.Resources)
	c.proofs = map[costKey]proofCount{}
	for r := range inOrder(lintJobs(subjects), l.policy) {
		if r.err != nil {
			return r.err
		}
		n := proofCount{Expressions: len(r.outcomes)}
		for _, o := range r.outcomes {
			if o == lint.Proved {
				n.Proved++
			}
		}
		c.proofs[costKey{r.job.subject.set, r.job.policy}] = n
		for _, f := range r.findings {
			switch {
			case f.Rule == "compile": // find has it, with its place
				continue
			case f.Severity == lint.Error, r.job.subject.bundle == nil && f.Rule == "total":
				l.locate(&f)
				c.findings = append(c.findings, finding{Kind: "lint", Policy: f.Policy, Profile: f.profile, File: f.File, Line: f.Line,
					Message: fmt.Sprintf("%s: %s: %s; policygen lint tells more", f.Rule, f.where(), f.Message)})
			}
		}
	}
	return nil
}
