package differ

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// unexplained stands for the cause in a table where there is none.
const unexplained = "UNEXPLAINED"

// Tally counts differences by cause.
type Tally struct{ causes map[string]*counts }

type counts struct {
	requests, places int
	paths            map[string]int
}

// NewTally returns an empty tally.
func NewTally() *Tally { return &Tally{causes: map[string]*counts{}} }

// Add takes in the differences of one request.
func (t *Tally) Add(differences []Difference) {
	causes := map[string]bool{}
	for _, d := range differences {
		name := cmp.Or(d.Cause, unexplained)
		c := t.causes[name]
		if c == nil {
			c = &counts{paths: map[string]int{}}
			t.causes[name] = c
		}
		c.places++
		c.paths[generic(d.Path)]++
		if !causes[name] {
			causes[name] = true
			c.requests++
		}
	}
}

// Unexplained is how many differences have no known cause.
func (t *Tally) Unexplained() int {
	if c := t.causes[unexplained]; c != nil {
		return c.places
	}
	return 0
}

// Print writes the table. An error of the writer is not told: it prints for people.
func (t *Tally) Print(w io.Writer) {
	_, _ = fmt.Fprintln(w, "differences between the completed request and the recorded one, by cause:")
	tab := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(tab, "cause\trequests\tplaces\twhere")
	for _, name := range slices.Sorted(maps.Keys(t.causes)) {
		c := t.causes[name]
		_, _ = fmt.Fprintf(tab, "%s\t%d\t%d\t%s\n", name, c.requests, c.places, c.where())
	}
	_ = tab.Flush()
}

// shownPaths of a cause: the most frequent ones.
const shownPaths = 4

func (c *counts) where() string {
	paths := slices.SortedFunc(maps.Keys(c.paths), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.paths[b], c.paths[a]), cmp.Compare(a, b))
	})
	if len(paths) > shownPaths {
		paths = append(paths[:shownPaths:shownPaths], "…")
	}
	return strings.Join(paths, ", ")
}
