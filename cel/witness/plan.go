package witness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hangar.io/holdshort/cel/schema"
)

// plan is one attempt: changes of a world that are to bring about an outcome. Where there are several
// ways, it takes one at random, so that further attempts try others.
type plan struct {
	*Search
	rng   *rand.Rand
	world world
	depth int
}

// deepest bounds the variables and comprehensions that a plan follows into each other.
const deepest = 40

func pick[T any](p *plan, from []T) (T, bool) {
	if len(from) == 0 {
		var none T
		return none, false
	}
	return from[p.rng.IntN(len(from))], true
}

func (p *plan) chance(percent int) bool { return p.rng.IntN(100) < percent }

// put sets a value; on an update half of the time in the old object too.
func (p *plan) put(at path, v any) {
	p.both(at, func(at path) { p.world.put(p.Search, at, p.fitting(at, v)) })
}

func (p *plan) drop(at path) {
	if c := canonical(at); c.String() == "user.groups" {
		p.world["noGroups"] = true
	}
	p.both(at, func(at path) { p.world.drop(p.Search, at) })
}

func (p *plan) both(at path, change func(path)) {
	at = canonical(at)
	if at == nil {
		return
	}
	change(at)
	if r := at.root(); (r == "object" || r == "oldObject") && p.chance(50) {
		other := slices.Clone(at)
		other[0].key = map[string]string{"object": "oldObject", "oldObject": "object"}[r]
		change(other)
	}
}

// presence of a path: there is something, or nothing.
func (p *plan) presence(t term, present bool) {
	switch {
	case !t.isPath():
	case !present:
		p.drop(t.at)
	default:
		if at := canonical(t.at); at != nil {
			if _, has := get(map[string]any(p.world), at); has {
				return
			}
		}
		p.put(t.at, p.any(t.at))
	}
}

// hold makes a term have a value: the value at a path, a size, or a key of a map.
func (p *plan) hold(t term, v any) {
	switch {
	case t.at == nil:
	case t.size:
		if n, ok := v.(int64); ok {
			p.resize(t.at, int(max(0, min(n, 12))))
		}
	case t.isKey:
		if k, ok := v.(string); ok {
			at := t.at.then(step{key: k})
			p.put(at, p.any(at))
		}
	default:
		p.put(t.at, v)
	}
}

// resize gives a list or a string a size.
func (p *plan) resize(at path, n int) {
	c := canonical(at)
	if c == nil {
		return
	}
	switch v, _ := get(map[string]any(p.world), c); {
	case kindsOf(v)&p.textKinds(at) != 0:
		p.put(at, strings.Repeat("a", n))
	case n == 0 && p.chance(50):
		p.put(at, []any{})
	case n == 0:
		p.drop(at)
	default:
		if list, ok := v.([]any); ok && len(list) > n {
			p.put(at, slices.Clone(list[:n]))
			return
		}
		last := at.then(step{kind: toIndex, index: n - 1})
		if v, ok := get(map[string]any(p.world), canonical(last)); !ok || v == nil {
			p.put(last, p.any(last))
		}
	}
}

func (p *plan) value(at path) any {
	if c := canonical(at); c != nil {
		v, _ := get(map[string]any(p.world), c)
		return v
	}
	return nil
}

// misfit gives something another kind than it is used as, or takes it away.
func (p *plan) misfit(of []term) {
	t, ok := pick(p, of)
	if !ok || t.at == nil {
		return
	}
	if p.chance(25) {
		p.drop(t.at)
		return
	}
	p.hold(t, p.any(t.at))
}

// noise changes something that the policy reads.
func (p *plan) noise() {
	if len(p.reads) == 0 {
		return
	}
	at := p.reads[p.rng.IntN(len(p.reads))]
	if p.chance(35) {
		p.drop(at)
		return
	}
	p.put(at, p.any(at))
}

// hints make facts hold: what is to be there first, as what is made for it may hold more, and what is
// to be absent last.
func (p *plan) hints(c Condition) {
	for _, later := range []bool{false, true} {
		for _, f := range c {
			if (f.Is == Absent || f.Is == Null || f.Is == Lacks) == later {
				p.hint(f)
			}
		}
	}
}

// hint makes a fact hold.
func (p *plan) hint(f Fact) {
	if f.Is == True || f.Is == False {
		if x := p.expressions[f.Path]; x != nil {
			p.want(x, f.Is == True, nil)
		}
		return
	}
	at := parsePath(f.Path)
	if len(at) == 0 {
		return
	}
	t := term{at: at}
	number, _ := f.Value.(int64)
	switch f.Is {
	case Absent:
		p.drop(at)
	case Present:
		p.presence(t, true)
	case Null:
		p.put(at, nil)
	case EqualTo:
		p.put(at, f.Value)
	case DifferentFrom:
		if equalValues(p.value(at), f.Value) {
			p.put(at, p.other(f.Value))
		}
	case OfKind:
		p.ofKind(at, f.Value)
	case Contains, Lacks:
		p.member(t, f.Value, f.Is == Contains)
	case AtLeast, AtMost:
		if n, ok := p.value(at).(int64); !ok || f.Is == AtLeast && n < number || f.Is == AtMost && n > number {
			p.put(at, number)
		}
	case SizeAtLeast, SizeAtMost:
		if n := sizeOf(p.value(at)); f.Is == SizeAtLeast && n < number || f.Is == SizeAtMost && n > number {
			p.resize(at, int(max(0, min(number, 12))))
		}
	}
}

// ofKind gives something a kind, unless it has it.
func (p *plan) ofKind(at path, kinds any) {
	k, _ := kinds.(schema.Kinds)
	if c := canonical(at); c != nil {
		if v, has := get(map[string]any(p.world), c); has && kindsOf(v)&k != 0 {
			return
		}
	}
	switch {
	case k&schema.Map != 0:
		p.presence(term{at: at}, true)
		if kindsOf(p.value(at))&schema.Map == 0 {
			p.put(at, map[string]any{})
		}
	case k&schema.List != 0:
		p.presence(term{at: at}, true)
		if kindsOf(p.value(at))&schema.List == 0 {
			p.put(at, []any{})
		}
	case k&schema.String != 0:
		p.put(at, p.otherText(""))
	case k&schema.Int != 0:
		p.put(at, int64(1))
	case k&schema.Double != 0:
		p.put(at, 1.5)
	case k&schema.Bool != 0:
		p.put(at, true)
	case k&schema.Null != 0:
		p.put(at, nil)
	}
}

func sizeOf(v any) int64 {
	switch x := v.(type) {
	case string:
		return int64(len([]rune(x)))
	case []any:
		return int64(len(x))
	case map[string]any:
		return int64(len(x))
	}
	return 0
}

func equalValues(a, b any) bool { return fmt.Sprintf("%T %v", a, a) == fmt.Sprintf("%T %v", b, b) }

func isEmpty(v any) bool {
	switch x := v.(type) {
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	case string:
		return x == ""
	}
	return v == nil
}

func (p *plan) suffix() string {
	s, _ := pick(p, []string{"", "x", "1"})
	return s
}

func (p *plan) otherText(than string) string {
	s, _ := pick(p, []string{"x", "other", "", "example", "0"})
	if s == than {
		return s + "y"
	}
	return s
}

// other is a value that differs, of the same kind most of the time.
func (p *plan) other(than any) any {
	switch x := than.(type) {
	case string:
		return p.otherText(x)
	case int64:
		return x + int64(p.rng.IntN(3)) - 1
	case bool:
		return !x
	case nil:
		return p.any(nil)
	}
	return p.any(nil)
}
