package main

import (
	"iter"
	"runtime"
)

// inOrder runs work on the items of a sequence in parallel and yields the results in the order of
// the items. It holds only a bounded number of items and results, however long the sequence is.
func inOrder[T, R any](items iter.Seq[T], work func(T) R) iter.Seq[R] {
	type job struct {
		item   T
		result chan R
	}
	workers := runtime.GOMAXPROCS(0)
	return func(yield func(R) bool) {
		jobs := make(chan job)
		ordered := make(chan chan R, 16*workers)
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			defer close(ordered)
			defer close(jobs)
			for item := range items {
				j := job{item, make(chan R, 1)}
				select {
				case ordered <- j.result:
				case <-stop:
					return
				}
				select {
				case jobs <- j:
				case <-stop:
					return
				}
			}
		}()
		for range workers {
			go func() {
				for j := range jobs {
					j.result <- work(j.item)
				}
			}()
		}
		for result := range ordered {
			if !yield(<-result) {
				return
			}
		}
	}
}
