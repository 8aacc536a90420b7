package manifest

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The functions of this file read text values once more, to know where each character stands. They
// follow YAML 1.2.2, chapters 7.3 and 8.1, as far as expressions are written; what comes out is compared
// with what the parser read, so that a form that they do not know is refused and never damaged.

func runeLength(data []byte) int {
	_, n := utf8.DecodeRune(data)
	return n
}

var (
	jsonEscapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
	yamlEscapes = map[byte]rune{
		'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', ' ': ' ', '0': 0, 'a': 7, 'e': 27, 'v': 11,
	}
)

// scanner collects characters with their places.
type scanner struct {
	text []rune
	at   []int
}

func (s *scanner) put(r rune, at int) { s.text, s.at = append(s.text, r), append(s.at, at) }

// trim drops white space of the end of a line that is folded, back to a length.
func (s *scanner) trim(least int) {
	for len(s.text) > least && (s.text[len(s.text)-1] == ' ' || s.text[len(s.text)-1] == '\t') {
		s.text, s.at = s.text[:len(s.text)-1], s.at[:len(s.at)-1]
	}
}

// fold reads a line break of a flow scalar, with the empty lines after it and the indentation of the next
// line, and is behind them.
func (s *scanner) fold(data []byte, i, least int) int {
	s.trim(least)
	at, breaks := i, 0
	for i < len(data) && strings.IndexByte(" \t\r\n", data[i]) >= 0 {
		if data[i] == '\n' {
			breaks++
		}
		i++
	}
	if breaks == 1 {
		s.put(' ', at)
		return i
	}
	for range breaks - 1 {
		s.put('\n', at)
	}
	return i
}

// scanQuoted reads a text in quotes. Without escapes the quote is doubled to stand for itself.
func scanQuoted(data []byte, start int, escapes map[byte]rune) ([]rune, []int) {
	s := &scanner{}
	if start >= len(data) {
		return nil, nil
	}
	quote := data[start]
	least := 0
	for i := start + 1; i < len(data); {
		switch c := data[i]; {
		case c == quote && escapes == nil && i+1 < len(data) && data[i+1] == quote:
			s.put(rune(quote), i)
			i += 2
		case c == quote:
			return s.text, append(s.at, i)
		case c == '\\' && escapes != nil:
			r, n := escaped(data[i:], escapes)
			if n == 0 {
				return nil, nil
			}
			s.put(r, i)
			i += n
			least = len(s.text) // an escaped space is no white space that folding drops
		case c == '\n' || c == '\r':
			i = s.fold(data, i, least)
			least = len(s.text)
		default:
			r, n := utf8.DecodeRune(data[i:])
			s.put(r, i)
			i += n
		}
	}
	return nil, nil
}

// escaped is the character of an escape and its length; 0 if the escape is of another form.
func escaped(data []byte, escapes map[byte]rune) (rune, int) {
	if len(data) < 2 {
		return 0, 0
	}
	if r, ok := escapes[data[1]]; ok {
		return r, 2
	}
	length := map[byte]int{'x': 2, 'u': 4, 'U': 8}[data[1]]
	if length == 0 || len(data) < 2+length {
		return 0, 0
	}
	n, err := strconv.ParseUint(string(data[2:2+length]), 16, 32)
	if err != nil || n >= 0xD800 && n < 0xE000 || n > utf8.MaxRune { // halves of a pair are left alone
		return 0, 0
	}
	return rune(n), 2 + length
}

// scanPlain reads as much of a plain scalar as its value needs.
func scanPlain(data []byte, start int, value string) ([]rune, []int) {
	s := &scanner{}
	want := len([]rune(value))
	i := start
	for i < len(data) && len(s.text) < want {
		if data[i] == '\n' || data[i] == '\r' {
			i = s.fold(data, i, 0)
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		s.put(r, i)
		i += n
	}
	return s.text, append(s.at, i)
}

// scanBlock reads a block scalar from its | or >.
func scanBlock(data []byte, start int, folded bool) ([]rune, []int) {
	s := &scanner{}
	end := bytes.IndexByte(data[start:], '\n')
	if end < 0 {
		return nil, nil
	}
	header := strings.TrimSpace(strings.SplitN(string(data[start:start+end]), "#", 2)[0])
	if strings.ContainsAny(header, "123456789") {
		return nil, nil // an indentation that is written down
	}
	lines := blockLines(data, start+end+1)
	last := start + end + 1
	for k, l := range lines {
		if k > 0 {
			s.breakLine(data, lines, k, folded)
		}
		for i := l.start; i < l.end; {
			r, n := utf8.DecodeRune(data[i:])
			s.put(r, i)
			i += n
		}
		last = l.end
	}
	switch {
	case strings.Contains(header, "+"):
		return nil, nil
	case !strings.Contains(header, "-") && len(lines) > 0:
		s.put('\n', last)
	}
	return s.text, append(s.at, last)
}

// blockLine is a line of a block scalar without its indentation.
type blockLine struct{ start, end int }

// blockLines are the lines up to the last that is not empty.
func blockLines(data []byte, from int) []blockLine {
	var lines []blockLine
	indent, full := 0, 0
	for i := from; i < len(data); {
		end := len(data)
		if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
			end = i + n
		}
		next := end + 1
		line := bytes.TrimSuffix(data[i:end], []byte{'\r'})
		spaces := len(line) - len(bytes.TrimLeft(line, " "))
		switch {
		case spaces == len(line):
			cut := i + min(max(indent, 0), spaces)
			if indent == 0 {
				cut = i + spaces
			}
			lines = append(lines, blockLine{cut, i + len(line)})
		case indent == 0 || spaces >= indent:
			if indent == 0 {
				indent = spaces
			}
			lines = append(lines, blockLine{i + indent, i + len(line)})
			full = len(lines)
		default:
			return lines[:full]
		}
		if indent == 0 && spaces < len(line) {
			return lines[:full] // text at the margin
		}
		i = next
	}
	return lines[:full]
}

// breakLine is the break before line k: in a folded block one between two lines of text is a space, the
// first of several breaks is dropped, and lines that are indented more keep theirs (YAML 1.2.2, 8.1.3).
func (s *scanner) breakLine(data []byte, lines []blockLine, k int, folded bool) {
	at := lines[k-1].end
	empty := func(l blockLine) bool { return l.start == l.end }
	more := func(l blockLine) bool { return !empty(l) && (data[l.start] == ' ' || data[l.start] == '\t') }
	before, this := lines[k-1], lines[k]
	if !folded {
		s.put('\n', at)
		return
	}
	text := k - 1 // the last line of text before
	for text >= 0 && empty(lines[text]) {
		text--
	}
	next := k
	for next < len(lines)-1 && empty(lines[next]) {
		next++
	}
	switch {
	case text < 0, more(lines[text]), more(lines[next]):
		s.put('\n', at)
	case !empty(before) && !empty(this):
		s.put(' ', at)
	case empty(before):
		s.put('\n', at)
	}
}
