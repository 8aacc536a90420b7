package mutate

import (
	"context"
	"sync"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
)

// Judge judges the cases of one policy by its mutants. It is safe for concurrent use.
type Judge struct {
	set    *harness.Set
	policy string
	cases  []fixture.Ready

	mu    sync.Mutex // guards order
	order []int      // of the cases; those that killed last come first
}

// NewJudge prepares the cases of a policy of a set. Those that the policy itself does not satisfy kill
// nothing.
func NewJudge(ctx context.Context, set *harness.Set, policy string, cases []fixture.Case) *Judge {
	j := &Judge{set: set.Only(policy), policy: policy}
	for _, c := range cases {
		if c.Policy != policy {
			continue
		}
		if ready, err := c.Prepare(); err == nil && ready.Holds(ctx, j.set) {
			j.order = append(j.order, len(j.cases))
			j.cases = append(j.cases, ready)
		}
	}
	return j
}

// Kills tells whether a case does not get from the mutant what it expects. Whether one does depends on
// the cases alone, which of them is asked first on the mutants before.
func (j *Judge) Kills(ctx context.Context, m Mutant) (bool, error) {
	set, err := m.Set()
	if err != nil {
		return false, err
	}
	j.mu.Lock()
	order := append([]int(nil), j.order...)
	j.mu.Unlock()
	for _, i := range order {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if !j.cases[i].Holds(ctx, set) {
			j.first(i)
			return true, nil
		}
	}
	return false, nil
}

// first moves a case to the front of the order.
func (j *Judge) first(i int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := 0
	for j.order[at] != i {
		at++
	}
	copy(j.order[1:at+1], j.order[:at])
	j.order[0] = i
}
