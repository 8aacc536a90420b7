package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestWhatAnInputSaysCannotSteerATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ünïcode\n\ttoo": "plain text, ünïcode\n\ttoo",
		"\x1b[31mred":                `\u001b[31mred`,
		"over\rwritten":              `over\u000dwritten`,
		"backwards \u202e":           `backwards \u202e`,
		"not UTF-8 \xff":             `not UTF-8 \xff`,
		"tag \U000e0041":             `tag \U000e0041`,
		"\ufffd stays":               "\ufffd stays",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) is %q, want %q", in, got, want)
		}
	}
	if got := oneLine(" two\n lines\x00 "); got != `two lines\u0000` {
		t.Errorf("oneLine gives %q", got)
	}
}

// terminalPrinter prints as to a terminal of that width.
func terminalPrinter(w io.Writer, width int) *printer {
	p := newPrinter(w)
	p.color, p.width = true, width
	return p
}

func TestATableIsCutAndColouredOnATerminalOnly(t *testing.T) {
	rows := &table{}
	rows.add(green, "ok", "", "a", "a long last column of text")
	rows.add(red, "FAIL", "", "bcd", "")
	var plain, shown bytes.Buffer
	p := newPrinter(&plain)
	rows.print(p, "")
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	if want := "ok    a    a long last column of text\nFAIL  bcd\n"; plain.String() != want {
		t.Errorf("plain:\n%swant\n%s", plain.String(), want)
	}
	p = terminalPrinter(&shown, 30)
	rows.print(p, "")
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[1;32mok\x1b[0m    a    a long last column…\n\x1b[1;31mFAIL\x1b[0m  bcd\n"; shown.String() != want {
		t.Errorf("on a terminal:\n%q want\n%q", shown.String(), want)
	}
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{exitFound, 1},
		{exitUnable, 2},
		{fmt.Errorf("wrapped: %w", exitFound), 1},
		{errors.New("anything else"), 2},
		{withHint(errors.New("anything else"), "a hint"), 2},
	} {
		if got := status(c.err); got != c.want {
			t.Errorf("status(%v) is %d, want %d", c.err, got, c.want)
		}
	}
}

func TestAFixtureIsToldFromAManifestByItsKeys(t *testing.T) {
	for text, want := range map[string]bool{
		"policy: p\ncases:\n- name: a\n":                         true,
		"cases: []":                                              true,
		"# comment\n\"cases\": []\n":                             true,
		"apiVersion: v1\nkind: ConfigMap\ncases: []\n":           false,
		"spec:\n  cases: []\n":                                   false,
		"'kind': X\ncases: []\n":                                 false,
		"mycases: []\n":                                          false,
		"policy: p\ncases:\n- object: {kind: Pod}\n  kind: no\n": true,
		"": false,
	} {
		if got := looksLikeFixture([]byte(text)); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// brokenWriter is a full disk.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAResultThatCannotBeWrittenIsAnError(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"version", "-o", "json"}, {"render"}, {"explain", "breakglass-pod-delete"}} {
		var stderr bytes.Buffer
		if got := run(context.Background(), args, strings.NewReader(""), brokenWriter{}, &stderr); got != 2 {
			t.Errorf("%v: exit status %d, want 2", args, got)
		}
		if want := "policygen: write the result: no space left on device\n"; stderr.String() != want {
			t.Errorf("%v: stderr is %q, want %q", args, stderr.String(), want)
		}
	}
}
