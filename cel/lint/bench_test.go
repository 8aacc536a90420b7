package lint

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"hangar.io/holdshort/cel/harness"
)

// BenchmarkForeign compiles and proves policies that it has never seen, in turn of the corpus and of the
// generator. The time should grow as their number does.
func BenchmarkForeign(b *testing.B) {
	kinds := soundKinds(b, rand.New(rand.NewPCG(1, 2)), 1)
	var written []corpusCase
	for _, file := range []string{"right.yaml", "wrong.yaml"} {
		var cases []corpusCase
		readYAML(b, file, &cases)
		written = append(written, cases...)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(written), func(i, j int) { written[i], written[j] = written[j], written[i] })
	for _, n := range []int{125, 250, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			expressions, paths := 0, 0
			for b.Loop() {
				var sets []*harness.Set
				for seed := uint64(0); len(sets) < n; seed++ {
					if i := len(sets); i%2 == 0 && i/2 < len(written) {
						sets = append(sets, written[i/2].set(b))
					} else if p := newPolicy(b, kinds, seed); p != nil {
						sets = append(sets, p.set)
					}
				}
				expressions, paths = proveAll(b, sets)
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(expressions)/seconds, "expressions/s")
			b.ReportMetric(float64(paths)/float64(expressions), "paths/expression")
			b.ReportMetric(1000*seconds/float64(n), "ms/policy")
		})
	}
}

// proveAll proves policies, several at once, and returns how many expressions they have, and the paths
// that were followed in each.
func proveAll(b *testing.B, sets []*harness.Set) (expressions, paths int) {
	var mu sync.Mutex // guards the results
	var workers sync.WaitGroup
	jobs := make(chan *harness.Set)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for set := range jobs {
				proofs, err := Total(set, "case", Options{Resources: corpusResources()})
				if err != nil {
					b.Error(err)
				}
				mu.Lock()
				for _, p := range proofs {
					expressions++
					paths += p.Paths
				}
				mu.Unlock()
			}
		})
	}
	for _, set := range sets {
		jobs <- set
	}
	close(jobs)
	workers.Wait()
	return expressions, paths
}
