package parity

import (
	"strings"
	"testing"

	"hangar.io/holdshort/cel/fixture"
)

func TestRequestsAreCountedOnceAndACopyThatFailsCounts(t *testing.T) {
	r := NewReport()
	add := func(name, hash string, faults ...string) {
		r.Add(&Result{Case: fixture.Case{File: "f", Name: name, Policy: "p"}, Hash: hash, Faults: faults})
	}
	add("one", "a")
	add("one", "b")          // the same case on another tier
	add("two", "a")          // the same request in another case
	add("three", "c")        // a request of its own
	add("four", "d", "bad")  // fails
	add("three", "e", "bad") // a copy for another tier, which fails
	if passed, all := r.Counts(); passed != 2 || all != 4 {
		t.Errorf("%d/%d, expected 2/4", passed, all)
	}
	add("five", "a", "bad") // a counted request fails in another case
	if passed, all := r.Counts(); passed != 1 || all != 4 {
		t.Errorf("%d/%d, expected 1/4", passed, all)
	}
	var out strings.Builder
	r.Print(&out)
	if !strings.Contains(out.String(), "parity: 1/4\n") || len(r.Failed()) != 3 {
		t.Errorf("%s with %d failures", &out, len(r.Failed()))
	}
}

func TestWhatCannotBeSentIsListedAndNotCounted(t *testing.T) {
	r := NewReport()
	r.Add(&Result{Case: fixture.Case{File: "f", Line: 3, Name: "nobody asks"}, Hash: "a", Unsendable: "no name"})
	var out strings.Builder
	r.Print(&out)
	if !strings.Contains(out.String(), "not sendable: f:3: nobody asks: no name\n") || !strings.Contains(out.String(), "parity: 0/0\n") {
		t.Error(&out)
	}
}
