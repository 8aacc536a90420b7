package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// splitter cuts a stream into the texts of its documents. YAML documents end at a line that
// begins with --- or ..., JSON documents at their closing bracket, so that JSON lines,
// concatenated JSON and both forms mixed can be read.
type splitter struct {
	file string
	r    *bufio.Reader
	left int64 // bytes that may still be read, negative: any number
	line int   // number of the line read last
	// held is a line, or the rest of one behind a JSON document, that was read and not used.
	held []byte
}

func newSplitter(file string, r io.Reader, limits Limits) *splitter {
	return &splitter{file: file, r: bufio.NewReaderSize(r, 64<<10), left: limits.FileBytes}
}

// chunk is the text of one document. isJSON: value is what it holds.
type chunk struct {
	data   []byte
	line   int // of data's first line
	isJSON bool
	value  any
}

// end is the error of a stream that cannot be read further, as opposed to one broken document.
type end struct{ error }

func (e end) Unwrap() error { return e.error }

func (s *splitter) fail(line int, hint, format string, args ...any) *Error {
	return &Error{File: s.file, Line: line, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// next is the next document's text, io.EOF behind the last.
func (s *splitter) next() (chunk, error) {
	for {
		line, err := s.readLine(maxJSONBytes)
		if err != nil {
			return chunk{}, err
		}
		switch text := bytes.TrimSpace(line); {
		case len(text) == 0, text[0] == '#', isMarker(line, "..."):
		case isMarker(line, "---") && (len(text) == 3 || bytes.TrimSpace(text[3:])[0] == '#'):
		case text[0] == '{', text[0] == '[':
			return s.json(line)
		default:
			return s.yaml(nil, line, s.line)
		}
	}
}

var byteOrderMark = []byte("\ufeff")

// readLine reads one line with its line break, of most bytes at most.
func (s *splitter) readLine(most int) ([]byte, error) {
	if s.held != nil {
		line := s.held
		s.held = nil
		return line, nil
	}
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		if s.left >= 0 {
			if s.left -= int64(len(part)); s.left < 0 {
				return nil, end{s.fail(s.line+1, "split it", "the file is larger than the limit")}
			}
		}
		line = append(line, part...)
		switch {
		case len(line) > most:
			return nil, s.tooLarge(s.line+1, most)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, end{&Error{File: s.file, Line: s.line + 1, Msg: err.Error(), Err: err}}
		}
		if s.line++; s.line == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
			if bytes.HasPrefix(line, []byte("\xff\xfe")) || bytes.HasPrefix(line, []byte("\xfe\xff")) {
				return nil, end{s.fail(1, "save the file as UTF-8", "expected UTF-8, found UTF-16")}
			}
		}
		return line, nil
	}
}

func (s *splitter) tooLarge(line, most int) error {
	return end{s.fail(line, "split it into several documents", "a document may have %d bytes, this one is larger", most)}
}

// isMarker tells whether a line begins with the marker --- or ... and nothing sticks to it.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// yaml reads a YAML document's text: what was read of it before, then line, then what follows.
func (s *splitter) yaml(read, line []byte, first int) (chunk, error) {
	// Behind a directive, %YAML or %TAG, the first --- belongs to the document.
	directives := len(read) == 0 && line[0] == '%'
	data := append(read, line...)
	for {
		if len(data) > maxYAMLBytes {
			return chunk{}, s.tooLarge(first, maxYAMLBytes)
		}
		line, err := s.readLine(maxYAMLBytes)
		if errors.Is(err, io.EOF) {
			return chunk{data: data, line: first}, nil
		}
		if err != nil {
			return chunk{}, err
		}
		switch {
		case isMarker(line, "---") && !directives:
			s.held = line
			return chunk{data: data, line: first}, nil
		case isMarker(line, "..."):
			return chunk{data: data, line: first}, nil
		}
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' && text[0] != '%' {
			directives = false
		}
		data = append(data, line...)
	}
}

// json reads a document that begins with a bracket: JSON if it can be read as such, else YAML
// in its flow style.
func (s *splitter) json(line []byte) (chunk, error) {
	first := s.line
	line = bytes.TrimLeft(line, " \t\r\n\v\f")
	var data []byte
	var t tracker
	for {
		n, state := t.feed(line)
		switch state {
		case closed:
			data = append(data, line[:n]...)
			return s.bracketed(data, line[n:], first)
		case broken:
			return s.yaml(data, line, first)
		}
		data = append(data, line...)
		if len(data) > maxJSONBytes {
			return chunk{}, s.tooLarge(first, maxJSONBytes)
		}
		var err error
		if line, err = s.readLine(maxJSONBytes); errors.Is(err, io.EOF) {
			return chunk{data: data, line: first}, nil
		} else if err != nil {
			return chunk{}, err
		}
		if isMarker(line, "---") {
			s.held = line
			return chunk{data: data, line: first}, nil
		}
	}
}

// bracketed decides what a text with balanced brackets is; rest is what follows on its last line.
func (s *splitter) bracketed(data, rest []byte, first int) (chunk, error) {
	if len(bytes.TrimSpace(rest)) > 0 {
		s.held = rest
	}
	value, err := parseJSON(data)
	if err == nil {
		return chunk{data: data, line: first, isJSON: true, value: value}, nil
	}
	if err.syntax && !looksLikeJSON(data) {
		if _, _, err := parseYAML(data); err == nil {
			return chunk{data: data, line: first}, nil
		}
		held := s.held
		if held == nil {
			held = []byte{'\n'}
		}
		s.held = nil
		return s.yaml(data, held, first)
	}
	at := first + bytes.Count(data[:min(err.offset, len(data))], []byte{'\n'})
	return chunk{}, s.fail(at, err.hint, "%s", err.msg)
}

// looksLikeJSON tells JSON from YAML's flow style by its first key or value. What begins as JSON
// is held to it: YAML would read {"a": 1 "b": 2} as one key whose value is text.
func looksLikeJSON(data []byte) bool {
	inside := bytes.TrimSpace(data[1:])
	return len(inside) > 0 && (inside[0] == '"' || inside[0] == '}' || data[0] == '[' && inside[0] == '{')
}

// tracker follows the brackets and strings of a JSON text.
type tracker struct {
	depth   int
	text    bool
	escaped bool
}

// States that a tracker reports.
const (
	going  = iota // the value goes on behind the line
	closed        // it ended
	broken        // it is no JSON: a string goes over the line's end
)

// feed reads a line; when the value is closed, n is the length of its part in the line.
func (t *tracker) feed(line []byte) (n, state int) {
	for i, c := range line {
		if t.text {
			switch {
			case t.escaped:
				t.escaped = false
			case c == '\\':
				t.escaped = true
			case c == '"':
				t.text = false
			case c == '\n':
				return i, broken
			}
			continue
		}
		switch c {
		case '"':
			t.text = true
		case '{', '[':
			t.depth++
		case '}', ']':
			if t.depth--; t.depth == 0 {
				return i + 1, closed
			}
		}
	}
	return len(line), going
}
