package witness

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// shrink leaves out of a world what the outcome does not need.
func (s *Search) shrink(ctx context.Context, g *goal, r *trial) *trial {
	budget := 600
	keep := func(w world) bool {
		budget--
		smaller := s.run(ctx, w)
		if smaller == nil || !s.meets(ctx, g, smaller) {
			return false
		}
		r = smaller
		return true
	}
	s.choice = 0
	// Whole parts first.
	for _, root := range []string{"user", "params", "object", "oldObject", "namespaceObject"} {
		w := r.world.copy()
		first := s.first()
		if first[root] == nil {
			continue
		}
		w[root] = first[root]
		keep(w)
	}
	if s.kase.Operation == admission.Update {
		w := r.world.copy()
		w["oldObject"] = runtime.DeepCopyJSONValue(w["object"])
		if !keep(w) {
			w = r.world.copy()
			w["object"] = runtime.DeepCopyJSONValue(w["oldObject"])
			keep(w)
		}
	}
	for changed := true; changed && budget > 0; {
		changed = false
		for _, at := range removable(r.world) {
			if budget <= 0 {
				break
			}
			if _, ok := get(map[string]any(r.world), at); !ok || at.root() == "namespace" || at.root() == "name" {
				continue
			}
			if at.root() == "user" && equal(r.world.object("user"), administrator) {
				continue
			}
			w := r.world.copy()
			if len(at) == 1 {
				if !slices.Contains([]string{"allow", "dryRun", "options", "noGroups"}, at.root()) {
					continue
				}
				delete(w, at.root())
			} else {
				w.drop(s, at)
			}
			if equal(w, r.world) {
				continue
			}
			changed = keep(w) || changed
		}
	}
	return r
}

func equal(a, b map[string]any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// removable are the paths to everything in a world, the largest parts first.
func removable(w world) []path {
	var all []path
	var walk func(v any, at path)
	walk = func(v any, at path) {
		switch x := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(x)) {
				all = append(all, at.then(step{key: k}))
				walk(x[k], at.then(step{key: k}))
			}
		case []any:
			for i := len(x) - 1; i >= 0; i-- {
				all = append(all, at.then(step{kind: toIndex, index: i}))
				walk(x[i], at.then(step{kind: toIndex, index: i}))
			}
		}
	}
	walk(map[string]any(w), nil)
	slices.SortStableFunc(all, func(a, b path) int { return cmp.Compare(len(a), len(b)) })
	return all
}
