package main

import (
	"strings"
	"testing"
	"time"
)

func TestProgressTellsHowFarAndGoesAway(t *testing.T) {
	var out strings.Builder
	p := &progress{w: &out, what: "policy", all: 40}
	p.step()
	p.shown = time.Now().Add(time.Hour) // too soon to show more
	p.step()
	p.clear()
	p.clear()
	if want := "\r1 of 40 policies\r\x1b[K"; out.String() != want {
		t.Errorf("have %q, want %q", out.String(), want)
	}
	out.Reset()
	p = &progress{w: &out, what: "request"}
	p.step()
	if want := "\r1 request"; out.String() != want {
		t.Errorf("have %q, want %q", out.String(), want)
	}
	newProgress(&out, "request", 0).step() // no terminal
	if out.String() != "\r1 request" {
		t.Errorf("without a terminal: %q", out.String())
	}
}
