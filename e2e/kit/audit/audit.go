// Package audit reads the audit log that an API server writes: JSON lines, still growing.
package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"hangar.io/holdshort/e2e/kit/wait"
)

// limit is how long an event may take to be in the log. In blocking mode it is written before
// the response ends, so this only bounds a test that waits for an event that never comes.
const limit = 20 * time.Second

// Policy is an audit policy that logs every request once, when it is answered, without bodies.
const Policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

// Event is an event of the log.
type Event = auditv1.Event

// Reader reads a log from its beginning. It is not safe for concurrent use.
type Reader struct {
	path   string
	offset int64
	rest   []byte // a line that is not complete yet
	queue  []Event
}

// Open returns a reader; the file may not exist yet.
func Open(path string) *Reader { return &Reader{path: path} }

// Wait returns the next event that matches. Events before it are consumed: waiting for two
// events is done in their order.
func (r *Reader) Wait(ctx context.Context, match func(*Event) bool) (*Event, error) {
	var found *Event
	err := wait.Until(ctx, limit, "an event in "+r.path, func(context.Context) error {
		if err := r.read(); err != nil {
			return wait.Stop(err)
		}
		for len(r.queue) > 0 {
			event := r.queue[0]
			r.queue = r.queue[1:]
			if match(&event) {
				found = &event
				return nil
			}
		}
		return errors.New("not there")
	})
	return found, err
}

// ID matches the event of one request, whose Audit-Id response header is given, at the end of
// the request.
func ID(id string) func(*Event) bool {
	return func(e *Event) bool {
		return string(e.AuditID) == id && (e.Stage == auditv1.StageResponseComplete || e.Stage == auditv1.StagePanic)
	}
}

// read takes in what has been appended since the last time.
func (r *Reader) read() error {
	f, err := os.Open(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(r.offset, io.SeekStart); err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	r.offset += int64(len(b))
	r.rest = append(r.rest, b...)
	for {
		line, rest, complete := bytes.Cut(r.rest, []byte("\n"))
		if !complete {
			return nil
		}
		r.rest = rest
		var event Event
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("%s: line is not an audit event: %w", r.path, err)
		}
		r.queue = append(r.queue, event)
	}
}
