package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is a fault in an input, with its place. Line is 0 where the file as a whole is at fault.
type Error struct {
	File string
	Line int
	// Field is the path of the field at fault, as in spec.validations[0]; it may be empty.
	Field string
	// Msg says what was found and what was expected, Hint what to do; Hint may be empty.
	Msg  string
	Hint string
	// Err is the cause, if there is one to look at.
	Err error
}

// Error gives "file:line: field: message (hint)".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field)
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// FieldPath writes a path as Kubernetes does: indexes in brackets, and keys that are no plain
// names (label keys, say) in brackets and quotes.
func FieldPath(path ...string) string {
	var b strings.Builder
	for _, p := range path {
		switch {
		case isIndex(p):
			b.WriteString("[" + p + "]")
		case strings.ContainsAny(p, "./[]\" ") || p == "":
			b.WriteString("[" + strconv.Quote(p) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(p)
		}
	}
	return b.String()
}

// splitFieldPath undoes FieldPath.
func splitFieldPath(field string) []string {
	var path []string
	for field != "" {
		if field = strings.TrimPrefix(field, "."); field == "" {
			break
		}
		if strings.HasPrefix(field, `["`) {
			if q, err := strconv.QuotedPrefix(field[1:]); err == nil {
				if key, err := strconv.Unquote(q); err == nil {
					path = append(path, key)
					field = strings.TrimPrefix(field[1+len(q):], "]")
					continue
				}
			}
		}
		if rest, ok := strings.CutPrefix(field, "["); ok {
			index, after, _ := strings.Cut(rest, "]")
			path = append(path, index)
			field = after
			continue
		}
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			end = len(field)
		}
		if end == 0 { // two dots in a row
			field = field[1:]
			continue
		}
		path = append(path, field[:end])
		field = field[end:]
	}
	return path
}

func isIndex(s string) bool {
	if s == "" {
		return false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
