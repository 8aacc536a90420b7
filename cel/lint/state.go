package lint

import (
	"slices"
	"sort"

	"github.com/google/cel-go/common/types"

	"hangar.io/holdshort/cel/schema"
)

// state is what is known on one path of an evaluation. It is never changed; with returns another.
type state struct {
	facts []fact // sorted by key
}

type fact struct {
	key   factKey
	value int64
}

// factKey is a term's id and what is known of it.
type factKey uint64

type aspect uint64

const (
	presentFact aspect = iota // 1: the map has the key, 0: it has not
	kindsFact                 // the kinds that the value can still have
	truthFact                 // 1: true, 0: false
	leastFact                 // an int is at least that
	mostFact                  // an int is at most that
	equalFact                 // the value is the constant term of that id
)

func keyOf(t *term, a aspect) factKey { return factKey(t.id)<<3 | factKey(a) }

func (k factKey) aspect() aspect { return aspect(k & 7) }
func (k factKey) term() int32    { return int32(k >> 3) }

var noFacts = &state{}

func (s *state) get(t *term, a aspect) (int64, bool) {
	k := keyOf(t, a)
	i := sort.Search(len(s.facts), func(i int) bool { return s.facts[i].key >= k })
	if i < len(s.facts) && s.facts[i].key == k {
		return s.facts[i].value, true
	}
	return 0, false
}

func (s *state) with(t *term, a aspect, v int64) *state {
	k := keyOf(t, a)
	i := sort.Search(len(s.facts), func(i int) bool { return s.facts[i].key >= k })
	if i < len(s.facts) && s.facts[i].key == k {
		if s.facts[i].value == v {
			return s
		}
		facts := slices.Clone(s.facts)
		facts[i].value = v
		return &state{facts}
	}
	facts := make([]fact, 0, len(s.facts)+1)
	facts = append(facts, s.facts[:i]...)
	facts = append(facts, fact{k, v})
	return &state{append(facts, s.facts[i:]...)}
}

// find is a fact about a term, or about one of its general terms.
func (s *state) find(t *term, a aspect) (int64, bool) {
	if v, ok := s.get(t, a); ok {
		return v, true
	}
	for _, g := range t.general {
		if v, ok := s.get(g, a); ok {
			return v, true
		}
	}
	return 0, false
}

// kinds that a term can have.
func (s *state) kinds(t *term) schema.Kinds {
	k := t.shape.Kinds
	for _, x := range append([]*term{t}, t.general...) {
		if v, ok := s.get(x, kindsFact); ok {
			k &= schema.Kinds(v)
		}
	}
	return k
}

// narrow is the state in which a term has one of these kinds, nil if that cannot be.
func (s *state) narrow(t *term, k schema.Kinds) *state {
	have := s.kinds(t)
	switch have & k {
	case 0:
		return nil
	case have:
		return s
	}
	return s.with(t, kindsFact, int64(have&k))
}

// bounds of an int term.
func (s *state) bounds(t *term) (least, most int64) {
	least, most = minInt, maxInt
	if t.shape.Kinds&schema.Int != 0 && (t.shape.Min != 0 || t.shape.Max != 0 || t.kind == constTerm) {
		least, most = t.shape.Min, t.shape.Max
	}
	for _, x := range append([]*term{t}, t.general...) {
		if v, ok := s.get(x, leastFact); ok {
			least = max(least, v)
		}
		if v, ok := s.get(x, mostFact); ok {
			most = min(most, v)
		}
	}
	return least, most
}

// bound is the state in which an int term is within bounds, nil if it cannot be.
func (s *state) bound(t *term, least, most int64) *state {
	a, b := s.bounds(t)
	if least > b || most < a || least > most {
		return nil
	}
	if least > a {
		s = s.with(t, leastFact, least)
	}
	if most < b {
		s = s.with(t, mostFact, most)
	}
	return s
}

// equal is the constant that a term is known to be, nil if it is not.
func (s *state) equal(t *term, ts *terms) *term {
	if t.kind == constTerm {
		return t
	}
	if v, ok := s.find(t, equalFact); ok {
		return ts.all[v]
	}
	if v, ok := s.find(t, truthFact); ok && t.shape.Kinds == schema.Bool {
		return ts.truth(v == 1)
	}
	return nil
}

// join is what both states know.
func (s *state) join(other *state) *state {
	if s == other {
		return s
	}
	var out []fact
	i, j := 0, 0
	for i < len(s.facts) && j < len(other.facts) {
		a, b := s.facts[i], other.facts[j]
		switch {
		case a.key < b.key:
			i++
		case a.key > b.key:
			j++
		default:
			if v, ok := joinFacts(a.key.aspect(), a.value, b.value); ok {
				out = append(out, fact{a.key, v})
			}
			i++
			j++
		}
	}
	return &state{out}
}

func joinFacts(a aspect, x, y int64) (int64, bool) {
	switch a {
	case kindsFact:
		return x | y, true
	case leastFact:
		return min(x, y), true
	case mostFact:
		return max(x, y), true
	}
	return x, x == y
}

// without drops what is known of a term and of what is made of it.
func (s *state) without(t *term, ts *terms) *state {
	var out []fact
	for _, f := range s.facts {
		if !ts.all[f.key.term()].uses(t) {
			out = append(out, f)
		}
	}
	if len(out) == len(s.facts) {
		return s
	}
	return &state{out}
}

// about keeps what is known of a term and of what is made of it, as known of another.
func (s *state) about(t, as *term, ts *terms) []fact {
	var out []fact
	for _, f := range s.facts {
		if x := ts.all[f.key.term()]; x.uses(t) {
			out = append(out, fact{keyOf(ts.replace(x, t, as), f.key.aspect()), f.value})
		}
	}
	return out
}

// adding is the state with more facts; what it knows itself stays.
func (s *state) adding(facts []fact, ts *terms) *state {
	for _, f := range facts {
		if t := ts.all[f.key.term()]; true {
			if _, ok := s.get(t, f.key.aspect()); !ok {
				s = s.with(t, f.key.aspect(), f.value)
			}
		}
	}
	return s
}

// constantEqual tells whether two constants are equal, as == of CEL does.
func constantEqual(a, b *term) bool { return types.Equal(a.value, b.value) == types.True }
