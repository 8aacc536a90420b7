package main

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"hangar.io/holdshort/cel/schema"
)

// chosen are the fields in which schema.Create differs from a strategy alone: times are
// the object's own creation, and a service gets addresses from the storage in front of its
// strategy.
var chosen = map[string][]string{
	"Service":          {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "nodePort", "healthCheckNodePort"},
	"PersistentVolume": {"lastPhaseTransitionTime"},
	"APIService":       {"lastTransitionTime"},
	"Pod":              {"lastTransitionTime"},
}

// TestPreparationIsTheServers compares schema.Create with the server's own
// defaulting and registry strategies, on random objects of every kind that is stored.
func TestPreparationIsTheServers(t *testing.T) {
	kinds, err := tableKinds()
	if err != nil {
		t.Fatal(err)
	}
	table := schema.BuiltIn(schema.Newest)
	total, tested := 0, 0
	for _, kind := range kinds {
		if strategies[kind.GroupKind()] == nil {
			continue
		}
		tested++
		a := &author{Rand: rand.New(rand.NewPCG(3, 4))}
		shown := 0
		for i := range perKind(t) {
			obj, err := a.write(kind)
			if err != nil {
				t.Fatal(err)
			}
			obj["metadata"].(map[string]any)["name"] = "x"
			want, err := prepared(kind, runtime.DeepCopyJSON(obj))
			if err != nil {
				continue
			}
			want["apiVersion"], want["kind"] = kind.ToAPIVersionAndKind()
			got := runtime.DeepCopyJSON(obj)
			if err := schema.Create(table, kind, got); err != nil {
				t.Errorf("%s object %d: %v", kind, i, err)
			}
			total++
			for _, field := range append(chosen[kind.Kind], "timeAdded") {
				forget(want, field)
				forget(got, field)
			}
			if d := cmp.Diff(want, got); d != "" {
				in, _ := json.Marshal(obj)
				t.Errorf("%s object %d: server (-) and schema (+) differ:\n%s\ninput %.3000s", kind, i, d, in)
				if shown++; shown == 2 {
					break
				}
			}
		}
	}
	t.Logf("%d objects of %d kinds prepared as the server does", total, tested)
}
