// Package wait polls until something holds. It is what tests do instead of sleeping.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// interval is the pause between two attempts: short against everything waited for here, a
// server's start or a watch event, and long against one attempt.
const interval = 10 * time.Millisecond

// stopError ends the polling at once.
type stopError struct{ error }

func (s stopError) Unwrap() error { return s.error }

// Stop wraps an error that further attempts cannot cure: Until returns it at once.
func Stop(err error) error { return stopError{err} }

// Until calls try until it returns nil, and gives up after the limit, when the context ends or
// when try returns an error made by Stop. The error says what was waited for and carries the
// last error of try.
func Until(ctx context.Context, limit time.Duration, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		var stop stopError
		if errors.As(err, &stop) {
			return fmt.Errorf("waiting for %s: %w", what, stop.error)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w, last: %w", what, context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}
