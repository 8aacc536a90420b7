package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// jsonParser reads one JSON text (RFC 8259) into JSON-form values. It differs from encoding/json
// in what it refuses: repeated keys, bytes that are not UTF-8, integers beyond 64 bits, and what
// passes the bounds of a document.
type jsonParser struct {
	data  []byte
	pos   int
	depth int
	nodes int
}

// jsonError is a fault at an offset. syntax: the text is no JSON, as opposed to JSON that is
// refused.
type jsonError struct {
	offset int
	msg    string
	hint   string
	syntax bool
}

func (e *jsonError) Error() string { return e.msg }

// parseJSON reads data, which holds one value and white space around it.
func parseJSON(data []byte) (any, *jsonError) {
	p := jsonParser{data: data}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(data) {
		return nil, p.syntax("expected the end of the JSON document, found %s", p.here())
	}
	return v, nil
}

func (p *jsonParser) syntax(format string, args ...any) *jsonError {
	return &jsonError{offset: p.pos, msg: fmt.Sprintf(format, args...), syntax: true}
}

func (p *jsonParser) refuse(offset int, hint, format string, args ...any) *jsonError {
	return &jsonError{offset: offset, msg: fmt.Sprintf(format, args...), hint: hint}
}

// here describes the next character for messages.
func (p *jsonParser) here() string {
	if p.pos >= len(p.data) {
		return "the end of the document"
	}
	r, _ := utf8.DecodeRune(p.data[p.pos:])
	return strconv.QuoteRune(r)
}

func (p *jsonParser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *jsonParser) value() (any, *jsonError) {
	if p.nodes++; p.nodes > maxNodes {
		return nil, p.refuse(p.pos, "split it into several documents", "a document may hold %d values, this one holds more", maxNodes)
	}
	p.space()
	if p.pos >= len(p.data) {
		return nil, p.syntax("expected a value, found the end of the document")
	}
	switch c := p.data[p.pos]; {
	case c == '{':
		return p.nested((*jsonParser).object)
	case c == '[':
		return p.nested((*jsonParser).array)
	case c == '"':
		return p.text()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case p.literal("true"):
		return true, nil
	case p.literal("false"):
		return false, nil
	case p.literal("null"):
		return nil, nil
	}
	return nil, p.syntax("expected a JSON value, found %s", p.here())
}

func (p *jsonParser) literal(word string) bool {
	if !bytes.HasPrefix(p.data[p.pos:], []byte(word)) {
		return false
	}
	p.pos += len(word)
	return true
}

func (p *jsonParser) nested(read func(*jsonParser) (any, *jsonError)) (any, *jsonError) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.refuse(p.pos, "", "values may be nested %d deep, these are deeper", maxDepth)
	}
	v, err := read(p)
	p.depth--
	return v, err
}

func (p *jsonParser) object() (any, *jsonError) {
	p.pos++ // the brace
	object := map[string]any{}
	for first := true; ; first = false {
		p.space()
		if first && p.take('}') {
			return object, nil
		}
		if p.pos >= len(p.data) || p.data[p.pos] != '"' {
			return nil, p.syntax("expected a key in double quotes, found %s", p.here())
		}
		start := p.pos
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		if _, dup := object[key]; dup {
			return nil, p.refuse(start, "remove one of them", "the key %q is given twice", clip(key))
		}
		p.space()
		if !p.take(':') {
			return nil, p.syntax("expected ':' after a key, found %s", p.here())
		}
		if object[key], err = p.value(); err != nil {
			return nil, err
		}
		p.space()
		if p.take('}') {
			return object, nil
		}
		if !p.take(',') {
			return nil, p.syntax("expected ',' or '}' in an object, found %s", p.here())
		}
	}
}

func (p *jsonParser) array() (any, *jsonError) {
	p.pos++ // the bracket
	array := []any{}
	for first := true; ; first = false {
		p.space()
		if first && p.take(']') {
			return array, nil
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		array = append(array, v)
		p.space()
		if p.take(']') {
			return array, nil
		}
		if !p.take(',') {
			return nil, p.syntax("expected ',' or ']' in a list, found %s", p.here())
		}
	}
}

func (p *jsonParser) take(c byte) bool {
	if p.pos < len(p.data) && p.data[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// text reads a string. Text without escapes, nearly all of it, is copied once.
func (p *jsonParser) text() (string, *jsonError) {
	start, escaped, ascii := p.pos, false, true
	for p.pos++; p.pos < len(p.data); p.pos++ {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			raw := p.data[start:p.pos]
			if !ascii && !utf8.Valid(raw) {
				return "", p.refuse(start, "save the file as UTF-8", "text that is not valid UTF-8")
			}
			if !escaped {
				return string(raw[1 : len(raw)-1]), nil
			}
			var s string
			if err := json.Unmarshal(raw, &s); err != nil {
				p.pos = start
				return "", p.syntax("text with an escape that JSON does not have")
			}
			return s, nil
		case c == '\\':
			escaped = true
			p.pos++
		case c < ' ':
			return "", p.syntax("text with a bare control character or line break, expected an escape such as \\n")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	p.pos = start
	return "", p.syntax("text without a closing quote")
}

func (p *jsonParser) number() (any, *jsonError) {
	start := p.pos
	end, whole := scanNumber(p.data[start:])
	if end == 0 {
		return nil, p.syntax("expected a number")
	}
	p.pos += end
	literal := string(p.data[start:p.pos])
	if whole {
		i, err := strconv.ParseInt(literal, 10, 64)
		if err != nil {
			return nil, p.refuse(start, hintBigInt, "the integer %s does not fit in 64 bits", clip(literal))
		}
		return i, nil
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return nil, p.refuse(start, "", "the number %s is out of range", clip(literal))
	}
	return jsonFloat(f), nil
}

const hintBigInt = "quote it if text is meant"

// scanNumber is the length of the JSON number at the start of b, 0 if there is none, and whether
// it has neither fraction nor exponent.
func scanNumber(b []byte) (n int, whole bool) {
	digits := func() bool {
		start := n
		for n < len(b) && '0' <= b[n] && b[n] <= '9' {
			n++
		}
		return n > start
	}
	if n < len(b) && b[n] == '-' {
		n++
	}
	if n < len(b) && b[n] == '0' {
		n++
	} else if !digits() {
		return 0, false
	}
	whole = true
	if n < len(b) && b[n] == '.' {
		n++
		whole = false
		if !digits() {
			return 0, false
		}
	}
	if n < len(b) && (b[n] == 'e' || b[n] == 'E') {
		n++
		whole = false
		if n < len(b) && (b[n] == '+' || b[n] == '-') {
			n++
		}
		if !digits() {
			return 0, false
		}
	}
	return n, whole
}

// jsonFloat is a float as it arrives at the API server. A client writes 1.0 as 1 (encoding/json
// drops a zero fraction below 1e21), and what is written as an integer is read as an int64 where
// it fits (sigs.k8s.io/json), so 1.0 and 1e3 are integers there.
func jsonFloat(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) < 1e19 {
		if i, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
			return i
		}
	}
	return f
}

// clip shortens text from an input for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// jsonLine is the number of line breaks in data before the value at path, or before its deepest
// part that exists. data is valid JSON. For a key, the line is the key's.
func jsonLine(data []byte, path []string) int {
	p := jsonParser{data: data}
	p.space()
	at := p.pos
	for _, part := range path {
		offset, ok := p.find(part)
		if !ok {
			break
		}
		at = offset
	}
	return bytes.Count(data[:at], []byte{'\n'})
}

// find moves from the start of an object or array to the value under key, and tells where the
// key (or the array's element) begins.
func (p *jsonParser) find(key string) (offset int, ok bool) {
	p.space()
	if p.pos >= len(p.data) {
		return 0, false
	}
	open := p.data[p.pos]
	if open != '{' && open != '[' {
		return 0, false
	}
	p.pos++
	for i := 0; ; i++ {
		p.space()
		start := p.pos
		name := strconv.Itoa(i)
		if open == '{' {
			if p.pos >= len(p.data) || p.data[p.pos] != '"' {
				return 0, false
			}
			var err *jsonError
			if name, err = p.text(); err != nil {
				return 0, false
			}
			p.space()
			p.take(':')
			p.space()
		}
		if name == key && p.pos < len(p.data) && p.data[p.pos] != ']' {
			return start, true
		}
		if _, err := p.value(); err != nil {
			return 0, false
		}
		p.space()
		if !p.take(',') {
			return 0, false
		}
	}
}
