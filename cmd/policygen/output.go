package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// printer writes text for people. Colour and cutting to the width of the line are for terminals
// only; everything else gets the whole plain text.
type printer struct {
	w     *bufio.Writer
	color bool
	width int // of the terminal's line, 0 if the text does not go to one
	err   error
}

func newPrinter(w io.Writer) *printer {
	p := &printer{w: bufio.NewWriterSize(w, 64<<10)}
	fd, ok := terminal(w)
	if !ok {
		return p
	}
	if width, _, err := term.GetSize(fd); err == nil {
		p.width = width
	}
	p.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return p
}

// terminal returns the descriptor of a terminal that w writes to.
func terminal(w any) (fd int, ok bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

func (p *printer) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); err != nil && p.err == nil {
		p.err = err
	}
}

// flush returns the first error of all writing so far.
func (p *printer) flush() error {
	if err := p.w.Flush(); err != nil && p.err == nil {
		p.err = err
	}
	if p.err != nil {
		return fmt.Errorf("write the result: %w", p.err)
	}
	return nil
}

// style is a text style of a terminal (ECMA-48 SGR parameters).
type style string

const (
	bold   style = "1"
	faint  style = "2"
	red    style = "1;31"
	green  style = "1;32"
	yellow style = "1;33"
)

func (p *printer) paint(s style, text string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// fit cuts text to what is left of the terminal's line after the given number of columns.
func (p *printer) fit(text string, used int) string {
	room := p.width - used
	if p.width == 0 || utf8.RuneCountInString(text) <= room {
		return text
	}
	if room < 10 {
		return text // no use in cutting so much; the terminal wraps the line
	}
	return string([]rune(text)[:room-1]) + "…"
}

// clean makes text from an input safe to print: a policy or an object must not steer the terminal
// or forge lines of a report. Line breaks and tabs stay.
func clean(s string) string {
	safe := func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case safe(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[size:]
	}
	return b.String()
}

// oneLine is clean text with its line breaks, and white space around them, as single spaces.
func oneLine(s string) string { return clean(strings.Join(strings.Fields(s), " ")) }

// table prints rows in aligned columns, without those that are empty in all rows; the last column
// is cut to the terminal's width.
type table struct {
	rows   [][]string
	styles []style // one a row, may be empty; paints the first cell
}

func (t *table) add(s style, cells ...string) {
	t.rows, t.styles = append(t.rows, cells), append(t.styles, s)
}

func (t *table) print(p *printer, indent string) { t.printWidths(p, indent, t.widths()) }

func (t *table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func (t *table) printWidths(p *printer, indent string, widths []int) {
	for r, row := range t.rows {
		for len(row) > 0 && row[len(row)-1] == "" {
			row = row[:len(row)-1]
		}
		p.printf("%s", indent)
		used := utf8.RuneCountInString(indent)
		for i, cell := range row {
			text := cell
			if i == len(row)-1 {
				text = p.fit(cell, used)
			}
			pad := ""
			if i < len(row)-1 && i < len(widths) && widths[i] > 0 {
				pad = strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(cell), 0)+2)
			}
			used += utf8.RuneCountInString(text) + len(pad)
			if i == 0 && t.styles[r] != "" {
				text = p.paint(t.styles[r], text)
			}
			p.printf("%s%s", text, pad)
		}
		p.printf("\n")
	}
}

// jsonArray writes the elements of a JSON array as they come, one a line.
type jsonArray struct {
	p       *printer
	encoder *json.Encoder
	count   int
}

func newJSONArray(p *printer) *jsonArray {
	e := json.NewEncoder(p.w)
	e.SetEscapeHTML(false)
	p.printf("[")
	return &jsonArray{p: p, encoder: e}
}

func (a *jsonArray) add(v any) error {
	if a.count++; a.count > 1 {
		a.p.printf(",")
	} else {
		a.p.printf("\n")
	}
	if err := a.encoder.Encode(v); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func (a *jsonArray) end() error {
	a.p.printf("]\n")
	return a.p.flush()
}

// writeJSON prints one indented JSON document.
func writeJSON(p *printer, v any) error {
	e := json.NewEncoder(p.w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return p.flush()
}

// count is "1 request", "2 requests".
func count(n int, singular string) string {
	if n == 1 {
		return "1 " + singular
	}
	plural := singular + "s"
	if strings.HasSuffix(singular, "y") {
		plural = strings.TrimSuffix(singular, "y") + "ies"
	}
	return fmt.Sprintf("%d %s", n, plural)
}
