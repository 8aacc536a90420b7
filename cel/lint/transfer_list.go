package lint

import (
	"math"

	"github.com/google/cel-go/common/operators"

	"hangar.io/holdshort/cel/schema"
)

// notNothing is the rule of functions that choose one of the items of a list.
func notNothing(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	if least, _ := e.sizeBounds(s, args[0]); least < 1 {
		return "the list may be empty", nil
	}
	return "", nil
}

// oneType is the rule of functions that order a list by the items of the argument at a place: they are
// all of one type, numbers too (cel-go ext/lists.go, sortListByAssociatedKeys).
func oneType(place int) rule {
	return func(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
		if k := e.itemKinds(s, args[place]); k&(k-1) != 0 {
			return "what it orders by may be " + kindNames(k), nil
		}
		return "", nil
	}
}

// sums is the rule of the sum of ints: as many of them as there can be do not overflow.
func sums(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	item := itemShape(args[0])
	if e.itemKinds(s, args[0])&^schema.Int != 0 {
		return "items may not be ints", nil
	}
	_, most := e.sizeBounds(s, args[0])
	least, greatest := item.Min, item.Max
	if args[0].kind == listTerm {
		least, greatest = math.MaxInt64, math.MinInt64
		for _, a := range args[0].args {
			x, y := s.bounds(a)
			least, greatest = min(least, x), max(greatest, y)
		}
	} else if least == 0 && greatest == 0 {
		least, greatest = math.MinInt64, math.MaxInt64
	}
	if most == 0 {
		return "", nil
	}
	a, ok := multiplyInts(min(least, 0), most)
	b, fits := multiplyInts(max(greatest, 0), most)
	if !ok || !fits {
		return "the sum may not fit an int", nil
	}
	return "", &schema.Shape{Kinds: schema.Int, Min: a, Max: b}
}

// lengths is the rule of lists.range, which takes no negative number.
func lengths(_ *evaluation, s *state, args []*term) (string, *schema.Shape) {
	const many = 1_000_000
	if least, most := s.bounds(args[0]); least < 0 || most > many {
		return "the number may be negative or too large", nil
	}
	return "", nil
}

// depth is the rule of flatten with a depth, which takes items that are no lists.
func depth(_ *evaluation, s *state, args []*term) (string, *schema.Shape) {
	if least, _ := s.bounds(args[1]); least < 0 {
		return "the depth may be negative", nil
	}
	return "", nil
}

// offset is the rule of a search that begins at an index, which may be beyond the end.
func offset(_ *evaluation, s *state, args []*term) (string, *schema.Shape) {
	if least, _ := s.bounds(args[2]); least < 0 {
		return "the index may be negative", nil
	}
	return "", nil
}

// within is the rule of functions that take indexes of a text or list, from one to the next: all from 0
// to its size, and none before the one before it.
func within(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	size, _ := e.sizeBounds(s, args[0])
	from := int64(0)
	for i, index := range args[1:] {
		least, most := s.bounds(index)
		if least < from || most > size && !e.inside(s, index, args[0]) {
			return "the index may be out of range", nil
		}
		if i+2 < len(args) {
			// What comes next is at least as large as this can be.
			from = most
			if next := args[i+2]; e.inside(s, index, args[0]) && next == e.size(args[0]) {
				from = 0
			}
		}
	}
	return "", nil
}

// inside tells whether an int is at most the size of a text or list: the size itself, an index that was
// found in it, or less.
func (e *evaluation) inside(s *state, index, of *term) bool {
	if index.kind != callTerm || len(index.args) == 0 {
		return false
	}
	switch index.name {
	case "size":
		return index.args[0] == of
	case "indexOf", "lastIndexOf":
		return index.args[0] == of
	case operators.Subtract:
		least, _ := s.bounds(index.args[1])
		return least >= 0 && e.inside(s, index.args[0], of)
	}
	return false
}
