package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"hangar.io/holdshort/cel/schema"
)

// perKind is the number of random objects of a kind; SCHEMA_OBJECTS overrides it.
func perKind(t *testing.T) int {
	if s := os.Getenv("SCHEMA_OBJECTS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("SCHEMA_OBJECTS: %v", err)
		}
		return n
	}
	return 250
}

// TestDefaultsAreTheServers compares schema.Default with the server's own decoding, defaulting and
// conversion, on random objects of every kind.
func TestDefaultsAreTheServers(t *testing.T) {
	kinds, err := tableKinds()
	if err != nil {
		t.Fatal(err)
	}
	table := schema.BuiltIn(schema.Newest)
	total, refused := 0, 0
	for _, kind := range kinds {
		a := &author{Rand: rand.New(rand.NewPCG(1, 2))}
		shown := 0
		for i := range perKind(t) {
			obj, err := a.write(kind)
			if err != nil {
				t.Fatal(err)
			}
			want, err := defaulted(kind, runtime.DeepCopyJSON(obj))
			if err != nil {
				refused++
				continue
			}
			want["apiVersion"], want["kind"] = kind.ToAPIVersionAndKind()
			got := runtime.DeepCopyJSON(obj)
			if err := schema.Default(table, kind, got); err != nil {
				t.Errorf("%s object %d: %v", kind, i, err)
			}
			total++
			forget(want, "timeAdded")
			forget(got, "timeAdded")
			if d := cmp.Diff(want, got); d != "" {
				in, _ := json.Marshal(obj)
				t.Errorf("%s object %d: server (-) and schema (+) differ:\n%s\ninput %.3000s", kind, i, d, in)
				if shown++; shown == 2 {
					break
				}
			}
		}
	}
	t.Logf("%d objects of %d kinds defaulted as the server does; the server refuses %d more", total, len(kinds), refused)
	if refused*20 > total {
		t.Errorf("the server cannot read %d of the random objects: they prove too little", refused)
	}
}

// forget removes a field everywhere. schema leaves out the one default that reads a clock, the
// time that a device taint was added.
func forget(v any, field string) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, field)
		for _, e := range v {
			forget(e, field)
		}
	case []any:
		for _, e := range v {
			forget(e, field)
		}
	}
}
