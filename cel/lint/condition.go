package lint

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/cel/witness"
)

// condition is what a state knows of a request, as far as facts can say it: what it knows of values
// that are computed they cannot. given is what is known of every request of the case.
func (ts *terms) condition(s, given *state) witness.Condition {
	var out witness.Condition
	for _, f := range s.facts {
		t := ts.all[f.key.term()]
		if v, ok := given.get(t, f.key.aspect()); ok && v == f.value {
			continue
		}
		if x, ok := ts.factOf(t, f.key.aspect(), f.value); ok {
			out = append(out, x)
		}
	}
	return out
}

func (ts *terms) factOf(t *term, a aspect, v int64) (witness.Fact, bool) {
	if t.kind == callTerm {
		return ts.factOfCall(t, a, v)
	}
	at, ok := pathOf(t)
	if !ok {
		return witness.Fact{}, false
	}
	say := func(is witness.Is, value any) (witness.Fact, bool) {
		return witness.Fact{Path: at, Is: is, Value: value}, true
	}
	switch a {
	case presentFact:
		if v == 0 {
			return say(witness.Absent, nil)
		}
		return say(witness.Present, nil)
	case kindsFact:
		if schema.Kinds(v) == schema.Null {
			return say(witness.Null, nil)
		}
		return say(witness.OfKind, schema.Kinds(v))
	case truthFact:
		return say(witness.EqualTo, v == 1)
	case leastFact:
		return say(witness.AtLeast, v)
	case mostFact:
		return say(witness.AtMost, v)
	case equalFact:
		if value, ok := plain(ts.all[v]); ok {
			return say(witness.EqualTo, value)
		}
	}
	return witness.Fact{}, false
}

// factOfCall is a fact about a size, a membership or a comparison.
func (ts *terms) factOfCall(t *term, a aspect, v int64) (witness.Fact, bool) {
	none := witness.Fact{}
	if t.name == "size" && len(t.args) == 1 && (a == leastFact || a == mostFact) {
		at, ok := pathOf(t.args[0])
		is := witness.SizeAtLeast
		if a == mostFact {
			is = witness.SizeAtMost
		}
		return witness.Fact{Path: at, Is: is, Value: v}, ok
	}
	if a != truthFact || len(t.args) != 2 {
		return none, false
	}
	x, of := t.args[0], t.args[1]
	is := map[string][2]witness.Is{
		operators.In:     {witness.Lacks, witness.Contains},
		operators.Equals: {witness.DifferentFrom, witness.EqualTo},
	}[t.name]
	if t.name == operators.Equals {
		x, of = of, x // the constant is the second
	}
	value, isPlain := plain(x)
	at, isPath := pathOf(of)
	if !isPlain || !isPath || is == [2]witness.Is{} || v < 0 || v > 1 {
		return none, false
	}
	return witness.Fact{Path: at, Is: is[v], Value: value}, true
}

// plain is a constant that facts take.
func plain(t *term) (any, bool) {
	if t.kind != constTerm {
		return nil, false
	}
	switch x := t.value.(type) {
	case types.Bool:
		return bool(x), true
	case types.Int:
		return int64(x), true
	case types.String:
		return string(x), true
	}
	return nil, false
}

var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pathOf is the path of facts to a term, if it is a part of the request. One item of a list is the first.
func pathOf(t *term) (string, bool) {
	switch t.kind {
	case rootTerm:
		return t.name, !strings.HasPrefix(t.name, "authorizer")
	case fieldTerm, indexTerm, itemTerm, everyTerm:
	default:
		return "", false
	}
	of, ok := pathOf(t.args[0])
	switch t.kind {
	case fieldTerm:
		if !fieldName.MatchString(t.name) {
			return of + "['" + t.name + "']", ok && !strings.Contains(t.name, "'")
		}
		return of + "." + t.name, ok
	case itemTerm:
		return of + "[0]", ok && t.args[0].shape.Kinds&schema.List != 0
	case everyTerm:
		return of + "[*]", ok && t.args[0].shape.Kinds&schema.List != 0
	}
	if i, isInt := t.args[1].value.(types.Int); isInt && i >= 0 {
		return of + "[" + strconv.Itoa(int(i)) + "]", ok
	}
	return "", false
}
