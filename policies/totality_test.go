package policies_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies/profile"
)

// TestNoExpressionFailsWhenSomethingIsAbsent takes away, one at a time, each field, list item and
// label of the requests that are admitted, and the user's name: the policies may refuse what
// remains, but every expression must have a value.
func TestNoExpressionFailsWhenSomethingIsAbsent(t *testing.T) {
	for _, p := range profile.Builtin() {
		x := prove(t, p)
		for policy, cases := range x.cases {
			set, judged := x.set.Only(policy), 0
			for _, c := range cases {
				if c.Expect.Outcome != fixture.Allow {
					continue
				}
				for what, r := range reduced(t, c) {
					prepared, err := harness.Prepare(r, c.Cluster)
					if err != nil {
						continue // no longer an object of its kind: the API server's decoder refuses it
					}
					judged++
					for _, d := range set.Evaluate(t.Context(), prepared, harness.Options{}).Denials {
						if d.Error {
							t.Errorf("%s: %s:%d without %s: %s: %s", p.Name, c.File, c.Line, what, d.Validation, d.Message)
						}
					}
				}
			}
			if judged < 10 {
				t.Errorf("%s: only %d reduced requests were judged", policy, judged)
			}
		}
	}
}

// reduced are the requests that a case's request becomes when one thing is taken away.
func reduced(t *testing.T, c fixture.Case) map[string]harness.Request {
	t.Helper()
	r := c.Request
	if err := harness.Complete(&r, c.Cluster, c.Now); err != nil {
		t.Fatal(err)
	}
	all := map[string]harness.Request{}
	nameless := r
	nameless.User.Name = ""
	all["user name"] = nameless
	for _, path := range paths(r.Object, nil) {
		x := r
		x.Object = without(r.Object, path)
		all[fmt.Sprint("object ", path)] = x
	}
	for _, path := range paths(r.OldObject, nil) {
		x := r
		x.OldObject = without(r.OldObject, path)
		all[fmt.Sprint("oldObject ", path)] = x
	}
	return all
}

// paths are the paths of everything in a JSON value, by keys and indexes.
func paths(v any, at []any) [][]any {
	var found [][]any
	add := func(step, child any) {
		path := append(slices.Clone(at), step)
		found = append(append(found, path), paths(child, path)...)
	}
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			add(k, child)
		}
	case []any:
		for i, child := range v {
			add(i, child)
		}
	}
	return found
}

// without is a copy of an object without what is at the path.
func without(o map[string]any, path []any) map[string]any {
	return remove(runtime.DeepCopyJSON(o), path).(map[string]any)
}

func remove(v any, path []any) any {
	switch v := v.(type) {
	case map[string]any:
		key := path[0].(string)
		if len(path) == 1 {
			delete(v, key)
		} else {
			v[key] = remove(v[key], path[1:])
		}
		return v
	case []any:
		i := path[0].(int)
		if len(path) == 1 {
			return slices.Delete(v, i, i+1)
		}
		v[i] = remove(v[i], path[1:])
		return v
	}
	return v
}
