package main

import (
	"fmt"
	"slices"

	"hangar.io/holdshort/cel/harness"
)

// evalResults prints verdicts as they come.
type evalResults interface {
	add(judged) error
	end(tally) error
}

func (o *evalOptions) results(p *printer, e evaluation) evalResults {
	switch {
	case o.format == asJSON:
		return &evalJSON{newJSONArray(p)}
	case o.verbose:
		return &evalBlocks{p: p}
	}
	return &evalText{p: p, traced: e.traced}
}

type evalJSON struct{ *jsonArray }

func (e *evalJSON) add(j judged) error {
	for _, v := range j.verdicts {
		out := toVerdictJSON(v.verdict)
		out.Request, out.Profile = toRequestJSON(j.file, j.line, v.request), v.profile
		if err := e.jsonArray.add(out); err != nil {
			return err
		}
	}
	return nil
}

func (e *evalJSON) end(tally) error { return e.jsonArray.end() }

// evalBlocks prints each verdict in full with its trace.
type evalBlocks struct {
	p *printer
	n int
}

func (e *evalBlocks) add(j judged) error {
	for _, v := range j.verdicts {
		if e.n++; e.n > 1 {
			e.p.printf("\n")
		}
		printVerdict(e.p, heading(j, v), title(j, v), v.verdict)
		printTrace(e.p, v.verdict.Trace)
	}
	return nil
}

func (e *evalBlocks) end(t tally) error {
	if e.n > 1 {
		e.p.printf("\n%s: %s\n", count(t.total(), "verdict"), t)
	}
	return e.p.flush()
}

// heading tells where a request is from and by which profile's policies it was judged.
func heading(j judged, v subjectVerdict) string {
	text := j.place()
	if v.profile != "" {
		text += ", " + v.profile
	}
	return text
}

// title names a request: a fixture's case by its name, else by what it does.
func title(j judged, v subjectVerdict) string {
	if j.title != "" {
		return oneLine(j.title)
	}
	r := v.request
	r.Name = j.request.Name // without the suffix that was made up for a generated name
	return requestText(r)
}

// evalText prints the verdicts of one request in full, of several as a table.
type evalText struct {
	p      *printer
	traced func(judged) judged
	single *judged // the first request, while there is no second
	many   bool    // there was a second
	rows   table   // not printed yet
	widths []int   // of the columns, fixed when the first rows are printed
}

// tableWindow is how many rows the widths of the columns are taken from. Requests may come for
// ever, so the table cannot wait for all of them.
const tableWindow = 200

func (e *evalText) add(j judged) error {
	if e.single == nil && !e.many {
		e.single = &j
		return nil
	}
	if e.many = true; e.single != nil {
		e.row(*e.single)
		e.single = nil
	}
	e.row(j)
	return nil
}

func (e *evalText) row(j judged) {
	for _, v := range j.verdicts {
		word, color := decisionWord(v.verdict.Decision)
		cells := []string{word}
		if v.profile != "" {
			cells = append(cells, v.profile)
		}
		e.rows.add(color, append(cells, clean(j.place()), title(j, v), reasonLine(v.verdict))...)
	}
	if e.widths != nil || len(e.rows.rows) >= tableWindow {
		e.flushRows()
	}
}

func (e *evalText) flushRows() {
	if e.widths == nil {
		e.widths = e.rows.widths()
	}
	e.rows.printWidths(e.p, "", e.widths)
	e.rows = table{}
}

// reasonLine is why a request is not allowed, on one line.
func reasonLine(v harness.Verdict) string {
	more := ""
	switch {
	case len(v.Denials) > 0:
		d := v.Denials[0]
		if len(v.Denials) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(v.Denials)-1)
		}
		return oneLine(fmt.Sprintf("%s %s: %s", d.Policy, d.Validation, d.Message)) + more
	case len(v.Undecided) > 0:
		g := v.Undecided[0]
		if len(v.Undecided) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(v.Undecided)-1)
		}
		return oneLine(fmt.Sprintf("%s needs %s: %s", g.Policy, g.Need, g.Detail)) + more
	case len(v.Ignored) > 0:
		d := v.Ignored[0]
		if len(v.Ignored) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(v.Ignored)-1)
		}
		return oneLine(fmt.Sprintf("ignored %s %s: %s", d.Policy, d.Validation, d.Message)) + more
	case len(v.Warnings) > 0:
		return oneLine("warning: " + v.Warnings[0])
	}
	return ""
}

func (e *evalText) end(t tally) error {
	if e.single != nil {
		j := e.traced(*e.single)
		for i, v := range j.verdicts {
			if i > 0 {
				e.p.printf("\n")
			}
			printVerdict(e.p, heading(j, v), title(j, v), v.verdict)
			if v.verdict.Decision == harness.Allowed && !applied(v.verdict) && len(v.verdict.Ignored) == 0 {
				e.p.printf("\n  no policy applies to it; -v says why\n")
			}
		}
		return e.p.flush()
	}
	e.flushRows()
	if e.many {
		e.p.printf("\n%s: %s\n", count(t.total(), "verdict"), t)
	}
	return e.p.flush()
}

// applied tells whether any policy looked at a request whose verdict was traced.
func applied(v harness.Verdict) bool {
	return slices.ContainsFunc(v.Trace, func(t harness.PolicyTrace) bool { return t.Applied })
}
