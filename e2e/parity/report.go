package parity

import (
	"fmt"
	"io"
	"text/tabwriter"

	"hangar.io/holdshort/e2e/kit/differ"
)

// Report counts the results of suites.
type Report struct {
	rows       []*row
	byName     map[string]*row
	passed     map[string]bool // by hash: every result so far passed
	counted    map[string]bool // cases that are counted, by file and name
	together   [2]int          // results under a whole set: passed, all
	causes     *differ.Tally
	unsendable []string
	failed     []*Result
}

// row is a policy of the three-way table.
type row struct {
	policy             string
	cases              int
	written, recorded  int // server equal to the harness on the fixture, on the review
	identical, differs int // requests that are identical to the review's, and that differ
}

// NewReport returns an empty report.
func NewReport() *Report {
	return &Report{byName: map[string]*row{}, passed: map[string]bool{}, counted: map[string]bool{}, causes: differ.NewTally()}
}

// Add takes in a result of a case alone. Of a case that several suites have, the first is counted.
func (p *Report) Add(r *Result) {
	if r.Unsendable != "" {
		p.unsendable = append(p.unsendable, fmt.Sprintf("%s:%d: %s: %s", r.Case.File, r.Case.Line, r.Case.Name, r.Unsendable))
		return
	}
	ok := len(r.Faults) == 0
	if !ok {
		p.failed = append(p.failed, r)
	}
	id := r.Case.File + "\x00" + r.Case.Name
	if before, seen := p.passed[r.Hash]; !p.counted[id] || seen {
		p.passed[r.Hash] = ok && (before || !seen)
		p.counted[id] = true
	} else if !ok {
		p.passed[r.Hash] = false // a copy for another tier is not counted, unless it fails
	}
	p.row(r)
	p.causes.Add(r.Differences)
}

// AddTogether takes in a result of a case under the whole set.
func (p *Report) AddTogether(r *Result) {
	if r.Unsendable != "" {
		return
	}
	p.together[1]++
	if len(r.Faults) == 0 {
		p.together[0]++
	} else {
		p.failed = append(p.failed, r)
	}
}

func (p *Report) row(r *Result) {
	x := p.byName[r.Case.Policy]
	if x == nil {
		x = &row{policy: r.Case.Policy}
		p.byName[r.Case.Policy] = x
		p.rows = append(p.rows, x)
	}
	x.cases++
	if len(r.Server.differences(r.Written)) == 0 {
		x.written++
	}
	if len(r.Server.differences(r.Recorded)) == 0 {
		x.recorded++
	}
	if len(r.Differences) == 0 {
		x.identical++
	} else {
		x.differs++
	}
}

// Counts are the distinct requests that passed, and all of them.
func (p *Report) Counts() (passed, all int) {
	for _, ok := range p.passed {
		if ok {
			passed++
		}
	}
	return passed, len(p.passed)
}

// Failed are the results that did not pass.
func (p *Report) Failed() []*Result { return p.failed }

// Print writes the tables. An error of the writer is not told: it prints for people.
func (p *Report) Print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "policy\tcases\tserver = harness on fixture\tserver = harness on review\trequest = review\tdiffers by known causes")
	total := row{policy: "all"}
	for _, x := range p.rows {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\n", x.policy, x.cases, x.written, x.recorded, x.identical, x.differs)
		total.cases += x.cases
		total.written += x.written
		total.recorded += x.recorded
		total.identical += x.identical
		total.differs += x.differs
	}
	_, _ = fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\n", total.policy, total.cases, total.written, total.recorded, total.identical, total.differs)
	_ = t.Flush()

	fmt.Fprintln(w)
	p.causes.Print(w)
	for _, line := range p.unsendable {
		_, _ = fmt.Fprintln(w, "not sendable:", line)
	}
	if p.together[1] > 0 {
		_, _ = fmt.Fprintf(w, "under the tier's whole set: %d/%d\n", p.together[0], p.together[1])
	}
	passed, all := p.Counts()
	_, _ = fmt.Fprintf(w, "parity: %d/%d\n", passed, all)
}
