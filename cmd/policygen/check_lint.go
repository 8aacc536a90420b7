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
	for _, s := range subjects {
		for r, err := range l.reports(s) {
			if err != nil {
				return err
			}
			n := proofCount{Expressions: len(r.Outcomes)}
			for _, o := range r.Outcomes {
				if o == lint.Proved {
					n.Proved++
				}
			}
			c.proofs[costKey{s.set, r.Policy}] = n
			for _, f := range r.Findings {
				c.fault(l.finding(f, s), s)
			}
		}
	}
	return nil
}

// fault makes a finding of lint one of the check, if it is to be mended.
func (c *checkRun) fault(f lintFinding, s subject) {
	switch {
	case f.Rule == "compile": // find has it, with its place
	case f.Reason != "" && s.bundle != nil: // the rule set has to be proved in spite of it
	case f.Severity == lint.Error, s.bundle == nil && f.Rule == "total":
		c.findings = append(c.findings, finding{Kind: "lint", Policy: f.Policy, Profile: f.profile, File: f.File, Line: f.Line,
			Message: fmt.Sprintf("%s: %s: %s; policygen lint tells more", f.Rule, f.where(), f.Message)})
	}
}
