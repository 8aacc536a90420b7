package completion_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"hangar.io/holdshort/e2e/completion"
	"hangar.io/holdshort/e2e/kit/differ"
	"hangar.io/holdshort/e2e/kit/pair"
	"hangar.io/holdshort/e2e/kit/scratch"
)

const (
	objects     = 500
	soakObjects = 5000
	leastKinds  = 25
	// soakEnv asks for soakObjects; seedEnv for the objects of another seed.
	soakEnv = "HOLDSHORT_SOAK"
	seedEnv = "SEED"
)

func TestCompletion(t *testing.T) {
	ctx, begin := t.Context(), time.Now()
	wanted, seed := size(t)
	author, err := completion.NewAuthor(seed)
	if err != nil {
		t.Fatal(err)
	}
	servers, err := pair.Start(ctx, scratch.Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Close()
	probe, err := completion.NewProbe(ctx, servers)
	if err != nil {
		t.Fatal(err)
	}
	tally, kinds, invalid, refusals := differ.NewTally(), map[string]int{}, map[string]int{}, map[string]string{}
	compared, failures := 0, 0
	for i := 0; compared < wanted; i++ {
		if i > 20*wanted {
			t.Fatalf("only %d of %d objects were valid", compared, i)
		}
		o, err := author.Write(i%author.Kinds(), 1+i%12)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: o}
		name := u.GetAPIVersion() + " " + u.GetKind()
		written, recorded, refusal, err := probe.Send(ctx, u)
		if err != nil {
			t.Fatalf("%s: %v\n%v", name, err, o)
		}
		if refusal != "" {
			invalid[name]++
			refusals[name] = refusal
			continue
		}
		compared++
		kinds[name]++
		differences := differ.Requests(written, recorded)
		tally.Add(differences)
		for _, d := range differences {
			if d.Cause == "" && failures < 50 {
				failures++
				t.Errorf("%s (seed %d, object %d): %s", name, seed, i, d)
			}
		}
	}
	tally.Print(os.Stdout)
	for _, name := range slices.Sorted(maps.Keys(invalid)) {
		if kinds[name] == 0 {
			t.Errorf("%s: none of %d objects was valid, the last is refused with: %s", name, invalid[name], refusals[name])
		}
	}
	fmt.Printf("completion: %d objects of %d kinds compared, %d more were not valid; seed %d, took %v\n",
		compared, len(kinds), sum(invalid), seed, time.Since(begin).Round(time.Second))
	fmt.Printf("completion: unexplained differences: %d\n", tally.Unexplained())
	if len(kinds) < leastKinds {
		t.Errorf("only %d kinds, expected at least %d", len(kinds), leastKinds)
	}
}

// size is how many objects are compared, and the seed that they come from.
func size(t *testing.T) (wanted int, seed uint64) {
	wanted, seed = objects, 1
	if os.Getenv(soakEnv) == "1" {
		wanted = soakObjects
	}
	if text := os.Getenv(seedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return wanted, seed
}

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}
