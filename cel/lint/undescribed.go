package lint

import (
	"slices"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// Undescribed are the resources that a policy names in its rules, and the kind of its params, of which
// the table has no description, sorted: their objects may have any form, so that every read of them
// needs a guard.
func Undescribed(set *harness.Set, policy string, t *schema.Table) []string {
	def := set.Policy(policy)
	if def == nil {
		return nil
	}
	var out []string
	for _, c := range casesOf(def.Spec.MatchConstraints, t) {
		if !c.AnyResource && !known(t, c.Resource.Group, c.Resource.Resource) {
			out = append(out, c.Resource.GroupResource().String())
		}
	}
	if k := def.Spec.ParamKind; k != nil {
		gvk := kschema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
		if _, described := t.ForKind(gvk); !described {
			out = append(out, gvk.GroupKind().String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
