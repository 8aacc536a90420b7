package main

import (
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func numbers(n int, taken *atomic.Int64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			taken.Add(1)
			if !yield(i) {
				return
			}
		}
	}
}

func TestResultsComeInTheOrderOfTheItems(t *testing.T) {
	var taken atomic.Int64
	uneven := func(i int) int {
		time.Sleep(time.Duration(i%3) * time.Microsecond)
		return i
	}
	got := slices.Collect(inOrder(numbers(1000, &taken), uneven))
	want := slices.Collect(numbers(1000, &taken))
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestOnlyAWindowOfItemsIsHeld(t *testing.T) {
	var taken atomic.Int64
	consumed, most := int64(0), int64(0)
	for range inOrder(numbers(20_000, &taken), func(i int) int { return i }) {
		consumed++
		most = max(most, taken.Load()-consumed)
	}
	// 16 waiting results and one job for each worker, and some on their way.
	if most > 1000 {
		t.Errorf("%d items were read ahead", most)
	}
}

func TestWhoStopsEarlyLeavesNothingRunning(t *testing.T) {
	var taken atomic.Int64
	for range inOrder(numbers(1_000_000, &taken), func(i int) int { return i }) {
		break
	}
	if n := taken.Load(); n > 10_000 {
		t.Errorf("%d items were read after the first result", n)
	}
}
