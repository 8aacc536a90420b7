package cel

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote returns s as a CEL string literal in single quotes, in printable characters and on one
// line, whatever s holds. It is the only way by which a string enters an expression.
//
// Text that could not survive the way to the evaluator is refused: invalid UTF-8, which the
// API's JSON and protobuf forms cannot carry, and NUL, which etcd keys, C libraries and terminals
// on that way cut off at.
func Quote(s string) (string, error) {
	if i := invalidUTF8(s); i >= 0 {
		return "", fmt.Errorf("invalid UTF-8 at byte %d of %s: save the value as UTF-8", i, excerpt(s))
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return "", fmt.Errorf("NUL at byte %d of %s: remove it", i, excerpt(s))
	}
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('\'')
	for _, r := range s {
		writeEscaped(&b, r)
	}
	b.WriteByte('\'')
	return b.String(), nil
}

// writeEscaped writes r as it may stand between single quotes. The escapes are those of the CEL
// grammar (cel-go parser/gen/CEL.g4, ESC_SEQ); everything unprintable is written as its number, so
// that no reviewer is shown less than the evaluator reads.
func writeEscaped(b *strings.Builder, r rune) {
	switch {
	case r == '\\' || r == '\'':
		b.WriteByte('\\')
		b.WriteRune(r)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case unicode.IsPrint(r):
		b.WriteRune(r)
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// Literal returns v as CEL source: a string, a bool, an int or int64, or a list of strings.
// Other types have no literal form here and are an error.
func Literal(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return Quote(v)
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case []string:
		return quoteList(v)
	}
	return "", fmt.Errorf("no CEL literal for a value of type %T: use string, bool, int, int64 or []string", v)
}

func quoteList(list []string) (string, error) {
	quoted := make([]string, len(list))
	for i, s := range list {
		q, err := Quote(s)
		if err != nil {
			return "", fmt.Errorf("item %d: %w", i, err)
		}
		quoted[i] = q
	}
	return "[" + strings.Join(quoted, ", ") + "]", nil
}

func invalidUTF8(s string) int {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// excerpt shows the start of a value in an error, always printable.
func excerpt(s string) string {
	const shown = 40
	if len(s) > shown {
		return strconv.Quote(s[:shown]) + "..."
	}
	return strconv.Quote(s)
}
