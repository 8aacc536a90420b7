package wait_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"hangar.io/holdshort/e2e/kit/wait"
)

func TestUntilReturnsWhenTheAttemptSucceeds(t *testing.T) {
	n := 0
	err := wait.Until(t.Context(), time.Minute, "three", func(context.Context) error {
		if n++; n < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || n != 3 {
		t.Fatalf("got %v after %d attempts", err, n)
	}
}

func TestUntilGivesUpAndTellsTheLastError(t *testing.T) {
	last := errors.New("still closed")
	err := wait.Until(t.Context(), 30*time.Millisecond, "the door", func(context.Context) error { return last })
	if !errors.Is(err, last) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestUntilStopsAtOnceOnAStopError(t *testing.T) {
	n, fatal := 0, errors.New("process ended")
	err := wait.Until(t.Context(), time.Minute, "ready", func(context.Context) error { n++; return wait.Stop(fatal) })
	if !errors.Is(err, fatal) || n != 1 {
		t.Fatalf("got %v after %d attempts", err, n)
	}
}
