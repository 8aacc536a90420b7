package manifest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// summary is the documents and errors of a stream: "line kind/name" or "error text".
func summary(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for doc, err := range Parse("in", strings.NewReader(text), Limits{}) {
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		out = append(out, fmt.Sprintf("%d %s/%s", doc.Line, doc.Kind(), doc.Name()))
	}
	return out
}

func TestStreamsAreCutIntoDocuments(t *testing.T) {
	obj := func(kind, name string) string { return "kind: " + kind + "\nmetadata:\n  name: " + name + "\n" }
	json := func(kind, name string) string { return fmt.Sprintf(`{"kind":%q,"metadata":{"name":%q}}`, kind, name) }
	for _, c := range []struct{ name, in, want string }{
		{"one document", obj("A", "a"), "1 A/a"},
		{"no line break at the end", strings.TrimSuffix(obj("A", "a"), "\n"), "1 A/a"},
		{"an empty stream", "", ""},
		{"comments only", "# nothing\n\n---\n# Source: x\n---\n", ""},
		{"several documents", obj("A", "a") + "---\n" + obj("B", "b"), "1 A/a|5 B/b"},
		{"markers at both ends", "---\n" + obj("A", "a") + "---\n", "2 A/a"},
		{"empty documents between", "---\n---\n\n---\n" + obj("A", "a") + "---\n---\n# c\n", "5 A/a"},
		{"a comment and spaces behind the marker", "---   # one\n" + obj("A", "a") + "--- \t\n" + obj("B", "b"), "2 A/a|6 B/b"},
		{"content behind the marker", "--- {kind: A, metadata: {name: a}}\n---\n" + obj("B", "b"), "1 A/a|3 B/b"},
		{"helm's source comments", "---\n# Source: c/a.yaml\n" + obj("A", "a") + "---\n# Source: c/b.yaml\n\n" + obj("B", "b"), "3 A/a|9 B/b"},
		{"Windows line ends", strings.ReplaceAll("---\n"+obj("A", "a")+"---\n"+obj("B", "b"), "\n", "\r\n"), "2 A/a|6 B/b"},
		{"a byte order mark", "\ufeff" + obj("A", "a"), "1 A/a"},
		{"a directive", "%YAML 1.1\n---\n" + obj("A", "a") + "...\n" + obj("B", "b"), "3 A/a|7 B/b"},
		{"three dashes inside text", "kind: A\nmetadata:\n  name: |-\n    a---\n", "1 A/a---"},
		{"an indented marker is text", "kind: A\nmetadata:\n  name: |-\n    ---\n", "1 A/---"},
		{"null documents", "null\n---\n~\n---\n" + obj("A", "a"), "in:1: expected an object, found null (a document is one Kubernetes object; several stand behind lines of ---, or in a List)|in:3: expected an object, found null (a document is one Kubernetes object; several stand behind lines of ---, or in a List)|5 A/a"},
		{"JSON", json("A", "a"), "1 A/a"},
		{"JSON over several lines", "\n{\n \"kind\": \"A\",\n \"metadata\": {\"name\": \"a\"}\n}\n", "2 A/a"},
		{"JSON lines", json("A", "a") + "\n" + json("B", "b") + "\n\n" + json("C", "c"), "1 A/a|2 B/b|4 C/c"},
		{"JSON without anything between", json("A", "a") + json("B", "b"), "1 A/a|1 B/b"},
		{"JSON between markers", "---\n" + json("A", "a") + "\n---\n" + json("B", "b"), "2 A/a|4 B/b"},
		{"JSON and YAML mixed", json("A", "a") + "\n---\n" + obj("B", "b") + "---\n" + json("C", "c"), "1 A/a|3 B/b|7 C/c"},
		{"flow YAML that looks like JSON", "{kind: A, metadata: {name: a}}\n---\n{kind: B, metadata: {name: 'b}'}}\n", "1 A/a|3 B/b}"},
		{"brackets in JSON text", `{"kind":"A","metadata":{"name":"}]\"{"}}`, `1 A/}]"{`},
		{"a list", "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  metadata: {name: a}\n-\n  kind: B\n", "4 A/a|7 B/"},
		{"a JSON list", "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n" + json("A", "a") + ",\n" + json("B", "b") + "\n]}", "2 A/a|3 B/b"},
		{"a list in a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - kind: A\n", "7 A/"},
		{"an empty list", "apiVersion: v1\nkind: List\nitems: []\n---\napiVersion: v1\nkind: PodList\nitems:\n", ""},
		{"a typed list", "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n", "4 Pod/a"},
		{"a kind that ends like a list", "apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [x]\n", "1 AllowList/a"},
		{"a list without a list", "apiVersion: v1\nkind: List\nitems: 3\n", "in:3: items: expected a list, found a number"},
		{"a list of text", "apiVersion: v1\nkind: List\nitems:\n- x\n- kind: A\n", "in:4: items[0]: expected an object, found text|5 A/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(summary(t, c.in), "|"); got != c.want {
				t.Errorf("%q:\ngot  %s\nwant %s", c.in, got, c.want)
			}
		})
	}
}

func TestWhatCannotBeReadIsAnErrorWithItsLine(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a repeated key", "a: 1\nb: 2\na: 3\n", `in:3: the key "a" is given twice (remove one of them)`},
		{"a repeated key in JSON", "{\"a\":{\n\"b\":1,\n\"b\":2}}", `in:3: the key "b" is given twice (remove one of them)`},
		{"keys that are one in JSON", "1: a\n\"1\": b\n", `in:2: the key "1" is given twice (remove one of them)`},
		{"a template that was not rendered", "{{- if .Values.x }}\nkind: A\n{{- end }}\n", "in:1: "},
		{"a template as a value", "kind: {{ .Values.x }}\n", "in:1: expected text as a key, found a list or an object (templates must be rendered first, and text with braces be quoted)"},
		{"a tab", "a:\n\tb: 1\n", "in:2: expected YAML or JSON: found character that cannot start any token (indent with spaces"},
		{"a colon in a value", "a: 1\nb: c: d\n", "in:2: expected YAML or JSON: mapping values are not allowed in this context (quote text"},
		{"the line counts from the file's start", "kind: A\n---\n# x\nb: [\n", "1 A/|in:4: expected YAML or JSON: did not find"},
		{"an anchor of another document", "a: &x 1\n---\nb: *x\n", "1 /|in:3: expected YAML or JSON: unknown anchor 'x' referenced"},
		{"an anchor in itself", "b: 1\na: &x\n  b: *x\n", `in:2: the anchor "x" contains itself`},
		{"an infinite number", "a: .inf\n", "in:1: .inf is no number in JSON (quote it if text is meant)"},
		{"no number", "b: 1\na: .nan\n", "in:2: .nan is no number in JSON"},
		{"an integer beyond 64 bits", "a: 9223372036854775808\n", "in:1: the integer 9223372036854775808 does not fit in 64 bits"},
		{"a huge integer", "a: 123456789012345678901234567890\n", "in:1: the integer 123456789012345678901234567890 does not fit in 64 bits"},
		{"an integer beyond 64 bits in JSON", `{"a":-9223372036854775809}`, "in:1: the integer -9223372036854775809 does not fit in 64 bits"},
		{"a number out of range in JSON", `{"a":1e999}`, "in:1: the number 1e999 is out of range"},
		{"bytes that are not UTF-8", "a: 1\nb: \xff\n", "in:2: text that is not valid UTF-8 (save the file as UTF-8)"},
		{"bytes that are not UTF-8 in JSON", "{\"a\":\n\"\xff\"}", "in:2: text that is not valid UTF-8 (save the file as UTF-8)"},
		{"UTF-16", "\xff\xfea\x00", "in:1: expected UTF-8, found UTF-16 (save the file as UTF-8)"},
		{"a key that is a list", "? [a]\n: b\n", "in:1: expected text as a key"},
		{"a key that is null", "a: 1\n~: b\n", `in:2: expected text as a key, found "~" (quote the key)`},
		{"a wrong tag", "a: !!int x\n", `in:1: the tag !!int does not fit the value "x"`},
		{"a tag without a name", "a: ! 3\n", "in:1: the tag ! without a name (quote the value instead)"},
		{"JSON that stops", "{\"a\":1,\n\"b\":", "in:2: "},
		{"JSON with a missing comma", "{\"a\":1\n\"b\":2}", `in:2: expected ',' or '}' in an object, found '"'`},
		{"a list at the top", "[{}]", "in:1: expected an object, found a list (a document is one Kubernetes object"},
		{"text at the top", "hello\n", "in:1: expected an object, found text"},
		{"depth", strings.Repeat("[", 300) + strings.Repeat("]", 300), "in:1: values may be nested 200 deep"},
		{"depth in YAML", "a: " + strings.Repeat("[x, ", 300) + strings.Repeat("]", 300), "in:1: values may be nested 200 deep"},
		{"a merge of text", "a:\n  <<: x\n", "in:2: expected an object or a list of objects behind the merge key <<"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(summary(t, c.in), "|")
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%q:\ngot  %s\nwant %s", c.in, got, c.want)
			}
		})
	}
}

func TestABrokenDocumentDoesNotHideTheNext(t *testing.T) {
	in := "a: [\n---\nkind: B\n---\n{\"kind\":}\n{\"kind\":\"C\"}\n"
	got := summary(t, in)
	if len(got) != 4 || got[1] != "3 B/" || got[3] != "6 C/" {
		t.Errorf("%q", got)
	}
}

func TestLineOfFindsFields(t *testing.T) {
	for name, in := range map[string]string{
		"YAML": "# first\n---\nkind: A\nspec:\n  list:\n  - a: 1\n  -\n    b: 2\n    c: {d: 3}\n",
		"JSON": "\n\n{\"kind\":\"A\",\n\"spec\":{\n\"list\":[\n{\"a\":1},\n\n{\"b\":2,\n\"c\":{\"d\":3}}]}}",
	} {
		for doc, err := range Parse("in", strings.NewReader(in), Limits{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				path string
				line int
			}{{"", 3}, {"kind", 3}, {"spec", 4}, {"spec list", 5}, {"spec list 0", 6}, {"spec list 1", 8}, {"spec list 1 c d", 9},
				{"spec list 2", 5}, {"spec x y", 4}, {"nothing", 3}} {
				if got := doc.LineOf(strings.Fields(c.path)...); got != c.line {
					t.Errorf("%s: %q is on line %d, want %d", name, c.path, got, c.line)
				}
			}
		}
	}
}

func TestPartsKeepTheirPlace(t *testing.T) {
	for name, in := range map[string]string{
		"YAML":      "a: 1\nspec:\n  object:\n    kind: B\n    metadata:\n      name: b\n",
		"JSON":      "{\"a\":1,\n\"spec\":{\n\"object\":{\n\"kind\":\"B\",\n\"metadata\":{\n\"name\":\"b\"}}}}",
		"a list":    "apiVersion: v1\nkind: List\nitems: [{spec: {object: {kind: B,\n\n\nmetadata: {\nname: b}}}}]\n",
		"JSON list": "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n{\"spec\":{\"object\":{\"kind\":\"B\",\n\n\n\"metadata\":{\"name\":\"b\"}}}}]}",
	} {
		for doc, err := range Parse("in", strings.NewReader(in), Limits{}) {
			if err != nil {
				t.Fatal(name, err)
			}
			part, ok := doc.Part("spec", "object")
			if !ok || part.Kind() != "B" || part.Name() != "b" {
				t.Errorf("%s: %+v", name, part.Object)
			}
			for _, path := range [][]string{{"metadata"}, {"metadata", "name"}} {
				whole := append([]string{"spec", "object"}, path...)
				if got, want := part.LineOf(path...), doc.LineOf(whole...); got != want {
					t.Errorf("%s: %q is on line %d of the part, %d of the whole", name, path, got, want)
				}
			}
			if _, ok := doc.Part("spec", "nothing"); ok {
				t.Errorf("%s: a part that is not there", name)
			}
		}
	}
}

func TestValueReadsAnything(t *testing.T) {
	for in, want := range map[string]string{"[1, a]": "[1 a]", "- 1\n- a\n": "[1 a]", "a: b": "map[a:b]", "# nothing\n": "<nil>", "text": "text"} {
		if v, err := Value("in", strings.NewReader(in), Limits{}); err != nil || fmt.Sprint(v) != want {
			t.Errorf("%q: %v, %v", in, v, err)
		}
	}
	for in, want := range map[string]string{"a: [": "in:1: ", "a: b\n---\nc: d\n": "in:3: a second document", "{\"a\":}": "in:1: "} {
		if v, err := Value("in", strings.NewReader(in), Limits{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, %v", in, v, err)
		}
	}
}

func TestFoldersAreReadInOrder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b.yaml", "kind: B")
	write("a/z.yml", "kind: AZ")
	write("a/c.json", `{"kind":"AC"}`)
	write("README.md", "no manifest: [")
	write(".git/x.yaml", "no manifest: [")
	write("a/.hidden.yaml", "no manifest: [")
	outside := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(outside, []byte("kind: Secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"loop": ".", "c.yaml": "b.yaml", "out.yaml": outside, "dir.yaml": "a"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for doc, err := range Read(Source{Paths: []string{dir, "-", filepath.Join(dir, "missing")}, Stdin: strings.NewReader("kind: IN")}) {
		if err != nil {
			got = append(got, "error")
			if strings.Contains(err.Error(), "out.yaml") && !strings.Contains(err.Error(), "must stay inside") {
				t.Error(err)
			}
			continue
		}
		got = append(got, strings.TrimPrefix(doc.File, dir+"/")+" "+doc.Kind())
	}
	want := "a/c.json AC|a/z.yml AZ|b.yaml B|c.yaml B|error|error|stdin IN|error"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}

// repeated is a stream of count copies of a text.
type repeated struct {
	text  string
	count int
	rest  string
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.count--; r.count < 0 {
			return 0, io.EOF
		}
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func TestMemoryDoesNotGrowWithTheNumberOfDocuments(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for name, text := range map[string]string{
		"YAML": "kind: A\nspec: {x: " + strings.Repeat("y", 1000) + "}\n---\n",
		"JSON": "{\"kind\":\"A\",\"spec\":{\"x\":\"" + strings.Repeat("y", 1000) + "\"}}\n",
	} {
		const total = 4_000 // 4 MB
		count, early, late := 0, uint64(0), uint64(0)
		for _, err := range Parse("in", &repeated{text: text, count: total}, Limits{}) {
			if err != nil {
				t.Fatal(err)
			}
			switch count++; count {
			case total / 20:
				early = heap()
			case total:
				late = heap()
			}
		}
		if count != total || late > early+1<<20 {
			t.Errorf("%s: %d documents, heap of %d bytes early and %d late", name, count, early, late)
		}
	}
}

func TestLimitsHold(t *testing.T) {
	for _, c := range []struct {
		name, in string
		limits   Limits
		want     string
	}{
		{"bytes of a file", "kind: A\n---\nkind: B\n", Limits{FileBytes: 12}, "larger than the limit"},
		{"documents", "kind: A\n---\nkind: B\n", Limits{Documents: 1}, "more than 1 documents"},
		{"items", "apiVersion: v1\nkind: List\nitems: [{}, {}, {}]", Limits{Documents: 2}, "more than 2 documents"},
		{"bytes of a YAML document", strings.Repeat("a: xxxxxxxxxxxxxxxxxxxxxxx\n", maxYAMLBytes/26), Limits{}, "bytes, this one is larger"},
		{"bytes of a JSON document", "{\"a\":\"" + strings.Repeat("x", maxJSONBytes), Limits{}, "bytes, this one is larger"},
		{"marks of a YAML document", "a: [" + strings.Repeat("x,", maxYAMLMarks+1) + "]", Limits{}, "this one holds more"},
		{"values of a JSON document", "{\"a\":[" + strings.Repeat("1,", maxNodes+1) + "1]}", Limits{}, "this one holds more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var last error
			for _, err := range Parse("in", strings.NewReader(c.in), c.limits) {
				last = err
			}
			var e *Error
			if !errors.As(last, &e) || !strings.Contains(e.Error(), c.want) {
				t.Errorf("%v, want %q", last, c.want)
			}
		})
	}
}
