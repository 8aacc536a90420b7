package cel_test

import (
	"slices"
	"testing"

	"hangar.io/holdshort/cel"
)

func TestCommentsAreNotInStrings(t *testing.T) {
	for expr, want := range map[string][]string{
		"a // b":                    {"// b"},
		"// one\na && // two\nb":    {"// one", "// two"},
		"a == 'https://b' // c":     {"// c"},
		`a == r"\" // "c" // d`:     {`// "c" // d`},
		"a == '''x\n// y\n'''":      nil,
		"a / b":                     nil,
		"a == b'//' || a == \"//\"": nil,
	} {
		found, err := cel.Comments(expr)
		var have []string
		for _, c := range found {
			if c.Text != expr[c.Start:c.End] {
				t.Errorf("%q: the offsets of %q are those of %q", expr, c.Text, expr[c.Start:c.End])
			}
			have = append(have, c.Text)
		}
		if err != nil || !slices.Equal(have, want) {
			t.Errorf("%q: %q, %v, and not %q", expr, have, err, want)
		}
	}
	if _, err := cel.Comments("a == 'b // c"); err == nil {
		t.Error("a string that does not end")
	}
}
