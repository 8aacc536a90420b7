package cel

import (
	"fmt"
	"strings"
)

// A Placeholder stands in an expression for a value that is put there as a literal: a dollar
// sign and a name, as in `request.userInfo.username == $writer`. CEL has no dollar sign outside
// of string literals and comments, so a placeholder cannot be mistaken for anything else.
type Placeholder struct {
	Name string
	// Start and End are the byte offsets of the whole placeholder, dollar sign included.
	Start, End int
}

// Placeholders returns the placeholders of an expression in their order. A dollar sign inside a
// string literal or a comment is just a character.
//
// A placeholder that touches a letter, a digit or a quote is an error: what takes its place begins
// and ends with a quote, which would become a part of its neighbour. After an r it would start a
// raw string, after two quotes a block string.
func Placeholders(expr string) ([]Placeholder, error) {
	var found []Placeholder
	err := scan(expr, func(kind tokenKind, start, end int) error {
		if kind != placeholderToken {
			return nil
		}
		if end == start+1 {
			return fmt.Errorf("a $ without a name at offset %d", start)
		}
		if start > 0 && touches(expr[start-1]) || end < len(expr) && touches(expr[end]) {
			return fmt.Errorf("placeholder %s at offset %d touches its neighbour: put a space between", expr[start:end], start)
		}
		found = append(found, Placeholder{Name: expr[start+1 : end], Start: start, End: end})
		return nil
	})
	return found, err
}

// Expand replaces each placeholder of expr by the literal of its value. Nothing else of expr
// changes, and the result has the same syntax tree as expr with a constant, or a list of
// constants, where each placeholder stood.
//
// A placeholder without a value is an error, and so is one inside a string literal or a comment:
// it would stay as it is.
func Expand(expr string, value func(name string) (any, bool)) (string, error) {
	if err := refuseUnreplaced(expr, value); err != nil {
		return "", err
	}
	found, err := Placeholders(expr)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	last := 0
	for _, p := range found {
		v, ok := value(p.Name)
		if !ok {
			return "", fmt.Errorf("unknown placeholder $%s at offset %d", p.Name, p.Start)
		}
		literal, err := Literal(v)
		if err != nil {
			return "", fmt.Errorf("placeholder $%s: %w", p.Name, err)
		}
		b.WriteString(expr[last:p.Start])
		b.WriteString(literal)
		last = p.End
	}
	b.WriteString(expr[last:])
	return b.String(), nil
}

// refuseUnreplaced finds known placeholders where they are only text.
func refuseUnreplaced(expr string, value func(name string) (any, bool)) error {
	return scan(expr, func(kind tokenKind, start, end int) error {
		if kind != textToken {
			return nil
		}
		text := expr[start:end]
		for i := range len(text) {
			if text[i] != '$' {
				continue
			}
			name := identifier(text[i+1:])
			if _, known := value(name); known && name != "" {
				return fmt.Errorf("placeholder $%s at offset %d is inside a string literal or comment, where it is not replaced: use it as a value of its own", name, start+i)
			}
		}
		return nil
	})
}

type tokenKind int

const (
	placeholderToken tokenKind = iota // a dollar sign and the identifier behind it
	textToken                         // a string or bytes literal, or a comment
)

// scan calls visit for each placeholder, string literal and comment. It follows the lexer rules
// STRING, BYTES, COMMENT and IDENTIFIER of cel-go parser/gen/CEL.g4.
func scan(expr string, visit func(kind tokenKind, start, end int) error) error {
	for i := 0; i < len(expr); {
		start, kind := i, textToken
		switch c := expr[i]; {
		case c == '$':
			i += 1 + len(identifier(expr[i+1:]))
			kind = placeholderToken
		case strings.HasPrefix(expr[i:], "//"):
			i += lineLength(expr[i:])
		case c == '\'' || c == '"' || isLetter(c):
			prefix := identifier(expr[i:])
			i += len(prefix)
			if i == len(expr) || expr[i] != '\'' && expr[i] != '"' || !isStringPrefix(prefix) {
				continue // an identifier
			}
			n := stringLength(expr[i:], strings.ContainsAny(prefix, "rR"))
			if n < 0 {
				return fmt.Errorf("the string literal at offset %d does not end", start)
			}
			i += n
		default:
			i++
			continue
		}
		if err := visit(kind, start, i); err != nil {
			return err
		}
	}
	return nil
}

// stringLength is the length of the string literal that s begins with, -1 if it does not end.
func stringLength(s string, raw bool) int {
	quote := s[:1]
	if block := strings.Repeat(quote, 3); strings.HasPrefix(s, block) {
		if n := closing(s, block, raw); n > 0 {
			return n
		}
	}
	n := closing(s, quote, raw)
	if n > 0 && strings.ContainsAny(s[:n], "\r\n") {
		return -1
	}
	return n
}

func closing(s, quote string, raw bool) int {
	for i := len(quote); i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote)
		case s[i] == '\\' && !raw:
			i++
		}
	}
	return -1
}

func lineLength(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

func isStringPrefix(s string) bool {
	switch strings.ToLower(s) {
	case "", "r", "b", "br":
		return true
	}
	return false
}

// identifier is the identifier that s begins with, empty if there is none.
func identifier(s string) string {
	i := 0
	for i < len(s) && (isLetter(s[i]) || i > 0 && isDigit(s[i])) {
		i++
	}
	return s[:i]
}

func touches(c byte) bool { return isLetter(c) || isDigit(c) || c == '\'' || c == '"' || c == '$' }

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
