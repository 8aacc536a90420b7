package main

import "hangar.io/holdshort/cel/fixture"

// testJSON is what `test -o json` prints. Its lists are never null.
type testJSON struct {
	Policies  int          `json:"policies"`
	Cases     int          `json:"cases"`
	Failed    int          `json:"failed"`
	Results   []resultJSON `json:"results"`
	Uncovered []itemJSON   `json:"uncovered"`
	NotRun    []notRunJSON `json:"notRun"`
}

type resultJSON struct {
	// Suite is the profile or the path of a foreign suite; empty with -f.
	Suite    string `json:"suite"`
	Policy   string `json:"policy"`
	Case     string `json:"case"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
	Decisive string `json:"decisive"`
	Error    string `json:"error"`
}

// itemJSON is something that no case proves.
type itemJSON struct {
	Policy  string           `json:"policy"`
	Tier    string           `json:"tier"`
	File    string           `json:"file"`
	Line    int              `json:"line"`
	Kind    fixture.ItemKind `json:"kind"`
	Name    string           `json:"name"`
	Message string           `json:"message"`
}

type notRunJSON struct {
	File string `json:"file"`
	Line int    `json:"line"`
	What string `json:"what"`
}

func (t *testRun) json() testJSON {
	out := testJSON{Policies: len(t.rows()), Results: []resultJSON{}, Uncovered: []itemJSON{}, NotRun: t.notRunJSON()}
	out.Cases, out.Failed = t.counts()
	for s, r := range t.results() {
		j := resultJSON{Suite: s.name, Policy: r.Case.Policy, Case: r.Case.Name, File: r.Case.File, Line: r.Case.Line,
			OK: r.OK, Expected: r.Expected, Actual: r.Actual, Decisive: r.Decisive}
		if r.Err != nil {
			j.Error = r.Err.Error()
		}
		out.Results = append(out.Results, j)
	}
	for _, s := range t.suites {
		for _, g := range s.gaps() {
			out.Uncovered = append(out.Uncovered, g.json())
		}
	}
	return out
}

func (t *testRun) notRunJSON() []notRunJSON {
	all := []notRunJSON{}
	for _, s := range t.suites {
		for _, n := range s.notRun() {
			all = append(all, notRunJSON(n))
		}
	}
	return all
}

func (g gap) json() itemJSON {
	return itemJSON{Policy: g.Policy, Tier: g.Tier, File: g.File, Line: g.Line, Kind: g.item.Kind, Name: g.item.Name, Message: g.item.Want()}
}
