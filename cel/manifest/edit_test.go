package manifest

import (
	"bytes"
	"strings"
	"testing"
)

// TestEditsKeepTheFileAsItIsWritten: an addition in each style of YAML and in JSON. [[ and ]] mark what
// Apply adds.
func TestEditsKeepTheFileAsItIsWritten(t *testing.T) {
	const guard = `has(x) && "a: b" != 'c' && `
	tests := []struct{ name, file string }{
		{"plain", "a: 1 # one\nspec:\n  e: [[G]]x.y == 1 # why\n"},
		{"single quotes", "spec: {e: '[[G'']]x.y == ''a''', f: 2} # why\n"},
		{"double quotes", "spec: {e: \"[[G\"]]x.y == 'ä'\\t&& \\\"b\\\" != \\u0041\", f: 2}\n"},
		{"double quotes over lines", "spec:\n  e: \"[[G\"]]x.y ==\n\n    1 &&\n    true\"\n"},
		{"a literal block", "spec:\n  e: |  # why\n    // a comment\n    [[G]]x.y &&\n      z\n\n    true\n  f: 2\n"},
		{"a folded block", "spec:\n  e: >-\n    a &&\n    [[G]]x.y &&\n      z &&\n\n    true\n\n  # the end\n  f: 2\n"},
		{"a literal block with windows line breaks", "spec:\r\n  e: |-\r\n    a &&\r\n    [[G]]x.y\r\n  f: 2\r\n"},
		{"a plain text over lines", "spec:\n  e: a &&\n    [[G]]x.y &&\n    b\n  f: 2\n"},
		{"a second document", "apiVersion: v1\nkind: A\nspec: {e: 1}\n---\n# two\napiVersion: v1\nkind: B\nspec:\n  e: '[[G'']]x.y'\n"},
		{"JSON", "{\n  \"spec\": {\"f\": [1], \"e\": \"[[G\"]]x.y == \\u0041 \\\"\"}\n}\n"},
		{"JSON lines", "{\"kind\": \"A\"}\n{\"kind\": \"B\", \"spec\": {\"e\": \"[[G\"]]x.y\"}}\n"},
		{"an item of a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n  spec:\n    e: \"[[G\"]]x.y\"\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := guard
			if strings.Contains(test.name, "plain") {
				g = "has(x) && "
			}
			escaped := map[string]string{"[[G]]": g, "[[G'']]": strings.ReplaceAll(g, "'", "''"), `[[G"]]`: strings.ReplaceAll(g, `"`, `\"`)}
			before, want := test.file, test.file
			for mark, text := range escaped {
				before, want = strings.ReplaceAll(before, mark, ""), strings.ReplaceAll(want, mark, text)
			}
			var doc Document
			for d, err := range Parse("f", strings.NewReader(before), Limits{}) {
				if err != nil {
					t.Fatal(err)
				}
				doc = d
			}
			e := Edit{Document: doc, Path: []string{"spec", "e"}}
			value, _ := e.before()
			e.Insertions = []Insertion{{len([]rune(value[:strings.Index(value, "x.y")])), g}}
			got, err := Apply([]byte(before), []Edit{e})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestAPlainValueGetsQuotesWhereItNeedsThem(t *testing.T) {
	for _, test := range []struct{ add, want string }{
		{"!has(x) || ", "spec: {e: \"!has(x) || x.y == 1\"} # why\n"},
		{`"a: b" == '' || `, "spec: {e: '\"a: b\" == '''' || x.y == 1'} # why\n"},
	} {
		file := []byte("spec: {e: x.y == 1} # why\n")
		for doc, err := range Parse("f", bytes.NewReader(file), Limits{}) {
			if err != nil {
				t.Fatal(err)
			}
			got, err := Apply(file, []Edit{{doc, []string{"spec", "e"}, []Insertion{{0, test.add}}}})
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
		}
	}
}

func TestSharedAndTaggedTextIsRefused(t *testing.T) {
	for _, file := range []string{
		"a: &a x.y\nspec: {e: *a}\n",
		"spec: {e: &a x.y}\nb: *a\n",
		"a: &a {e: x.y}\nspec:\n  <<: *a\n",
		"a: &a {e: x.y}\nspec: *a\n",
		"spec: {e: !!str x.y}\n",
		"spec:\n  e: |2\n    x.y\n",
	} {
		for doc, err := range Parse("f", strings.NewReader(file), Limits{}) {
			if err != nil {
				t.Fatal(err)
			}
			out, err := Apply([]byte(file), []Edit{{doc, []string{"spec", "e"}, []Insertion{{0, "a && "}}}})
			if err == nil {
				t.Errorf("%s became %s", file, out)
			} else if !strings.HasPrefix(err.Error(), "f:") || !strings.Contains(err.Error(), "spec.e: ") {
				t.Errorf("the error does not name its place: %v", err)
			}
		}
	}
}
