package lint

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	"hangar.io/holdshort/cel"
)

// TestEveryOverloadHasARule goes through the environments of all supported versions: an overload
// without a rule makes every expression that uses it unproved.
func TestEveryOverloadHasARule(t *testing.T) {
	used := map[string]bool{}
	for minor := uint(30); minor <= 37; minor++ {
		set := environment.MustBaseEnvSet(version.MajorMinor(1, minor))
		for _, mode := range []environment.Type{environment.NewExpressions, environment.StoredExpressions} {
			env, err := set.Env(mode)
			if err != nil {
				t.Fatal(err)
			}
			if env, err = cel.AdmissionEnv(env, cel.Declarations{HasParams: true, HasAuthorizer: true}); err != nil {
				t.Fatal(err)
			}
			for id := range functionsOf(env).overloads {
				used[id] = true
				if rules[id] == nil && !slices.Contains(elsewhere, id) {
					t.Errorf("1.%d: no rule for the overload %s", minor, id)
				}
			}
		}
	}
	for id := range rules {
		if !used[id] {
			t.Errorf("the rule for %s is for no overload of any environment", id)
		}
	}
}
