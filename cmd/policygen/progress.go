package main

import (
	"fmt"
	"io"
	"time"
)

// progress shows on a terminal how far work has come.
type progress struct {
	w     io.Writer // nil if there is no terminal
	what  string    // that is counted, in the singular
	all   int       // of them, 0 if nobody knows
	n     int
	shown time.Time
	dirty bool
}

func newProgress(w io.Writer, what string, all int) *progress {
	if _, ok := terminal(w); !ok {
		return &progress{}
	}
	return &progress{w: w, what: what, all: all, shown: time.Now()}
}

const progressInterval = 200 * time.Millisecond

func (p *progress) step() {
	p.n++
	if p.w == nil || time.Since(p.shown) < progressInterval {
		return
	}
	p.shown, p.dirty = time.Now(), true
	of := ""
	if p.all > 0 {
		of = fmt.Sprintf("%d of ", p.n)
	}
	_, _ = fmt.Fprintf(p.w, "\r%s%s", of, count(max(p.all, p.n), p.what))
}

// clear removes what is shown, before other text is printed.
func (p *progress) clear() {
	if p.dirty {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.dirty = false
	}
}
