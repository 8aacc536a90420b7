package mutate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
)

// mostTries bounds the requests of one search.
const mostTries = 500

// Search looks for a case that would kill a mutant: a request of the cases with one part of it left out,
// or with another value, that the policy answers and the mutant answers otherwise. It expects what the
// policy answers. Nil: it found none.
func (j *Judge) Search(ctx context.Context, m Mutant) (*fixture.Case, error) {
	set, err := m.Set()
	if err != nil {
		return nil, err
	}
	values := m.values()
	tries := 0
	for _, mentioned := range []bool{true, false} { // first what the expression speaks of
		for _, near := range j.near(m) {
			for _, v := range variations(near.Case, values) {
				if m.mentions(v) != mentioned {
					continue
				}
				if tries++; tries > mostTries || ctx.Err() != nil {
					return nil, ctx.Err()
				}
				if found := j.kills(ctx, set, v); found != nil {
					return found, nil
				}
			}
		}
	}
	return nil, nil
}

// mentions tells whether the expression has the name of the part that is varied.
func (m Mutant) mentions(v variation) bool { return v.part != "" && strings.Contains(m.Text, v.part) }

// near are the cases of the policy, those first that expect something of what is changed.
func (j *Judge) near(m Mutant) []fixture.Ready {
	all := slices.Clone(j.cases)
	rank := func(r fixture.Ready) int {
		switch {
		case slices.Contains(r.Case.Expect.Names, m.Name), m.Mutated == "" && r.Case.Expect.Outcome == fixture.Deny:
			return 0
		case r.Case.Expect.Outcome == fixture.Allow:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b fixture.Ready) int { return rank(a) - rank(b) })
	return all
}

// kills is the case with the answer of the policy, if the mutant gives another.
func (j *Judge) kills(ctx context.Context, mutant *harness.Set, v variation) *fixture.Case {
	ready, err := v.Prepare()
	if err != nil {
		return nil
	}
	expect, ok := ready.Observe(ctx, j.set)
	if !ok || ctx.Err() != nil {
		return nil
	}
	ready.Case.Expect = expect
	if ready.Holds(ctx, mutant) {
		return nil
	}
	found := ready.Case
	verb := map[fixture.Outcome]string{fixture.Allow: "admitted", fixture.Skip: "not looked at"}[expect.Outcome]
	if verb == "" {
		verb = "refused"
	}
	found.Name = fmt.Sprintf("%s is %s (otherwise as: %s)", strings.TrimSpace(v.what), verb, found.Name)
	return &found
}

// values are the texts and numbers that the mutant's change is about: what the expression mentions,
// and what is near it.
func (m Mutant) values() []any {
	var all []any
	add := func(v any) {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	for _, text := range []string{m.After, m.Before, m.Mutated, m.Text} {
		s, err := read(strings.Trim(text, " ,&|"))
		if err != nil {
			continue
		}
		for _, n := range s.nodes {
			if n.Kind() != ast.LiteralKind {
				continue
			}
			switch v := n.AsLiteral().(type) {
			case types.String:
				for _, t := range []string{string(v), string(v) + "x", "x" + string(v)} {
					add(t)
				}
			case types.Int:
				for _, i := range []int64{int64(v), int64(v) - 1, int64(v) + 1} {
					add(i)
				}
			}
		}
	}
	add("")
	return all
}

// variation is a case with one change.
type variation struct {
	fixture.Case
	what string
	part string // the name of the field or key
}

// variations are those of a case: a part left out, a value changed.
func variations(c fixture.Case, values []any) []variation {
	var out []variation
	u := c.Request.User
	change := func(what, part string, apply func(*fixture.Case)) {
		v := c
		apply(&v)
		out = append(out, variation{v, what, part})
	}
	change("from nobody", "username", func(v *fixture.Case) { v.Request.User.Name = "" })
	change("from a user without groups", "groups", func(v *fixture.Case) { v.Request.User.Groups = nil })
	for _, x := range values {
		if s, ok := x.(string); ok {
			change(fmt.Sprintf("from user %q", s), "username", func(v *fixture.Case) { v.Request.User.Name = s })
			change(fmt.Sprintf("from a user in %q", s), "groups", func(v *fixture.Case) { v.Request.User.Groups = append(slices.Clone(u.Groups), s) })
		}
	}
	switch c.Request.Operation {
	case admission.Create:
		change("an update", "operation", func(v *fixture.Case) {
			v.Request.Operation, v.Request.OldObject = admission.Update, v.Request.Object
		})
		change("a deletion", "operation", func(v *fixture.Case) {
			v.Request.Operation, v.Request.OldObject, v.Request.Object = admission.Delete, v.Request.Object, nil
		})
	case admission.Update:
		change("a creation", "operation", func(v *fixture.Case) { v.Request.Operation, v.Request.OldObject = admission.Create, nil })
		change("a deletion", "operation", func(v *fixture.Case) { v.Request.Operation, v.Request.Object = admission.Delete, nil })
	}
	for _, root := range []string{"object", "old"} {
		of := c.Request.Object
		if root == "old" {
			of = c.Request.OldObject
		}
		if of == nil {
			continue
		}
		for _, e := range edits(of, values) {
			changed, ok := e.apply(of)
			if !ok {
				continue
			}
			v := c
			if root == "old" {
				v.Request.OldObject = changed
			} else {
				v.Request.Object = changed
			}
			out = append(out, variation{v, root + e.String(), e.part()})
		}
	}
	return out
}

// objectEdit changes the value at a path; without a value it removes it.
type objectEdit struct {
	path  []any // keys and indexes
	value any
	keep  bool
}

func (e objectEdit) String() string {
	var b strings.Builder
	for _, step := range e.path {
		switch x := step.(type) {
		case string:
			if strings.ContainsAny(x, "./") {
				fmt.Fprintf(&b, "['%s']", x)
			} else {
				b.WriteString("." + x)
			}
		case int:
			fmt.Fprintf(&b, "[%d]", x)
		}
	}
	if !e.keep {
		return " without " + strings.TrimPrefix(b.String(), ".")
	}
	return fmt.Sprintf("%s = %v", b.String(), e.value)
}

// part is the last key on the path.
func (e objectEdit) part() string {
	for _, step := range slices.Backward(e.path) {
		if key, ok := step.(string); ok {
			return key
		}
	}
	return ""
}

// edits are the changes of an object.
func edits(o map[string]any, values []any) []objectEdit {
	var out []objectEdit
	var walk func(v any, path []any)
	walk = func(v any, path []any) {
		here := slices.Clip(path)
		if len(path) > 0 {
			out = append(out, objectEdit{path: here})
		}
		switch x := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(x)) {
				if len(path) > 0 || k != "apiVersion" && k != "kind" {
					walk(x[k], append(here, k))
				}
			}
			for _, value := range values {
				if s, ok := value.(string); ok && s != "" && len(path) > 0 {
					out = append(out, objectEdit{append(here, s), firstText(x), true})
				}
			}
		case []any:
			for i, item := range x {
				walk(item, append(here, i))
			}
			for _, item := range x {
				for _, more := range append([]any{item}, others(item, values)...) {
					out = append(out, objectEdit{here, append(slices.Clone(x), more), true})
				}
			}
		case string:
			for _, near := range append([]any{x + "-x", "x-" + x}, values...) {
				out = append(out, objectEdit{here, near, true})
			}
		case bool:
			out = append(out, objectEdit{here, !x, true})
		case int64:
			for _, near := range append([]any{x - 1, x + 1}, values...) {
				out = append(out, objectEdit{here, near, true})
			}
		}
	}
	walk(o, nil)
	// A changed value makes a better case than a missing field: more objects are valid with it.
	slices.SortStableFunc(out, func(a, b objectEdit) int {
		if a.keep != b.keep {
			return map[bool]int{true: -1, false: 1}[a.keep]
		}
		return len(a.path) - len(b.path)
	})
	return out
}

// others are an item with another text in it, for a list in which not all are alike.
func others(item any, values []any) []any {
	var out []any
	switch x := item.(type) {
	case string:
		out = append(append(out, "x-"+x, x+"-x"), values...)
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if s, ok := x[k].(string); ok {
				for _, v := range append([]any{"x-" + s, s + "-x"}, values...) {
					changed := maps.Clone(x)
					changed[k] = v
					out = append(out, changed)
				}
			}
		}
	}
	return out
}

// firstText is a value for a new key of a map of texts.
func firstText(m map[string]any) any {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if s, ok := m[k].(string); ok {
			return s
		}
	}
	return "x"
}

// apply changes a copy.
func (e objectEdit) apply(o map[string]any) (map[string]any, bool) {
	out := runtime.DeepCopyJSON(o)
	var at any = out
	for _, step := range e.path[:len(e.path)-1] {
		switch s := step.(type) {
		case string:
			at = at.(map[string]any)[s]
		case int:
			at = at.([]any)[s]
		}
	}
	switch last := e.path[len(e.path)-1].(type) {
	case string:
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if e.keep {
			m[last] = runtime.DeepCopyJSONValue(e.value)
		} else {
			delete(m, last)
		}
	case int:
		if !e.keep {
			return nil, false // the whole list is another edit
		}
		at.([]any)[last] = runtime.DeepCopyJSONValue(e.value)
	}
	return out, true
}
