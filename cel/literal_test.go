package cel_test

import (
	"math"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"hangar.io/holdshort/cel"
)

// parseEnv parses expressions of any length: the default limit of 100,000 code points is not
// what these tests are about.
var parseEnv = func() *celgo.Env {
	env, err := celgo.NewCustomEnv(celgo.ParserExpressionSizeLimit(-1))
	if err != nil {
		panic(err)
	}
	return env
}()

// constant parses source and returns the constant that it is.
func constant(t *testing.T, source string) any {
	t.Helper()
	parsed, iss := parseEnv.Parse(source)
	if iss.Err() != nil {
		t.Fatalf("parse %.80q: %v", source, iss.Err())
	}
	e := parsed.NativeRep().Expr()
	if e.Kind() != ast.LiteralKind {
		t.Fatalf("%.80q is not one literal but of kind %v", source, e.Kind())
	}
	return e.AsLiteral().Value()
}

var hostileStrings = map[string]string{
	"empty":                    "",
	"single quote":             `it's`,
	"double quote":             `say "no"`,
	"closing and more":         `' || true || '`,
	"block quotes":             `'''"""`,
	"backslashes":              `\ \\ \n \' \u0041 \`,
	"trailing backslash":       `tower\`,
	"newlines":                 "a\nb\r\nc\rd",
	"control characters":       "\a\b\f\t\v\x01\x1b[31m\x7f",
	"template braces":          "${HOME} {{ .Values.x }} #{x}",
	"a placeholder":            "$writer",
	"a comment":                "// gone",
	"line separator":           "a\u2028b\u2029c\u0085d",
	"bidirectional override":   "a\u202eb",
	"byte order mark":          "\ufeffa",
	"emoji and combining":      "🛩️ e\u0301 é",
	"replacement character":    "\ufffd",
	"private and last runes":   "\ue000\U0010ffff",
	"beyond the basic plane":   "\U000e0001",
	"backtick":                 "`a`",
	"a megabyte of quotes":     strings.Repeat(`'`, 1<<20),
	"a megabyte of everything": strings.Repeat("a'\\\n\u2028🛩", 1<<20/12),
}

func TestAQuotedStringIsOneLiteralOfTheSameValue(t *testing.T) {
	for name, s := range hostileStrings {
		t.Run(name, func(t *testing.T) {
			quoted, err := cel.Quote(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := constant(t, quoted); got != s {
				t.Errorf("Quote(%.60q) reads back as %.60q", s, got)
			}
			if strings.ContainsAny(quoted, "\n\r\u2028\u202e") {
				t.Errorf("Quote(%.60q) is not on one printable line", s)
			}
		})
	}
}

func TestWhatCannotBeQuotedIsRefused(t *testing.T) {
	cases := map[string]struct{ value, want string }{
		"invalid UTF-8":           {"tower\xff", "invalid UTF-8 at byte 5"},
		"a cut character":         {"é"[:1], "invalid UTF-8 at byte 0"},
		"a surrogate half":        {"\xed\xa0\x80", "invalid UTF-8 at byte 0"},
		"NUL":                     {"a\x00b", "NUL at byte 1"},
		"long values are excerpt": {strings.Repeat("a", 1000) + "\x00", `aaa"...: remove it`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			quoted, err := cel.Quote(c.value)
			if err == nil {
				t.Fatalf("quoted as %s", quoted)
			}
			if !strings.Contains(err.Error(), c.want) || len(err.Error()) > 200 {
				t.Errorf("error %q does not say %q in short", err, c.want)
			}
		})
	}
}

func TestOtherValuesBecomeLiterals(t *testing.T) {
	cases := map[string]struct {
		value any
		want  any
	}{
		"true":         {true, true},
		"false":        {false, false},
		"zero":         {0, int64(0)},
		"an int":       {600, int64(600)},
		"smallest int": {int64(math.MinInt64), int64(math.MinInt64)},
		"largest int":  {int64(math.MaxInt64), int64(math.MaxInt64)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			source, err := cel.Literal(c.value)
			if err != nil {
				t.Fatal(err)
			}
			if got := constant(t, source); got != c.want {
				t.Errorf("%v reads back as %v", c.value, got)
			}
		})
	}
}

func TestAListBecomesAListOfItsStrings(t *testing.T) {
	list := []string{"15m", "', true, '", "🛩"}
	source, err := cel.Literal(list)
	if err != nil {
		t.Fatal(err)
	}
	parsed, iss := parseEnv.Parse(source)
	if iss.Err() != nil {
		t.Fatal(iss.Err())
	}
	elements := parsed.NativeRep().Expr().AsList().Elements()
	if len(elements) != len(list) {
		t.Fatalf("%s has %d elements, not %d", source, len(elements), len(list))
	}
	for i, e := range elements {
		if e.AsLiteral().Value() != list[i] {
			t.Errorf("element %d is %v, not %q", i, e.AsLiteral().Value(), list[i])
		}
	}
	if source, err := cel.Literal([]string(nil)); err != nil || source != "[]" {
		t.Errorf("no strings become %s, %v", source, err)
	}
}

func TestValuesWithoutALiteralFormAreRefused(t *testing.T) {
	for _, v := range []any{nil, 1.5, []any{"a"}, map[string]string{}, []string{"ok", "bad\xff"}, "bad\x00"} {
		if source, err := cel.Literal(v); err == nil {
			t.Errorf("%#v became %s", v, source)
		}
	}
}

func FuzzQuote(f *testing.F) {
	for _, s := range hostileStrings {
		if len(s) < 1000 {
			f.Add(s)
		}
	}
	f.Add("bad\xff")
	f.Fuzz(func(t *testing.T, s string) {
		quoted, err := cel.Quote(s)
		if err != nil {
			if strings.ToValidUTF8(s, "") == s && !strings.Contains(s, "\x00") {
				t.Fatalf("a proper string is refused: %v", err)
			}
			return
		}
		if got := constant(t, quoted); got != s {
			t.Fatalf("Quote(%q) = %s reads back as %q", s, quoted, got)
		}
	})
}
