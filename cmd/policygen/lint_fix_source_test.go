package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hangar.io/holdshort/cel/lint"
)

// TestAFixOfTheRuleSetIsADiffOfItsGoFile: the expression is found although it has lost its indentation,
// and holds values where the file has placeholders.
func TestAFixOfTheRuleSetIsADiffOfItsGoFile(t *testing.T) {
	const source = "package policies\n\nvar p = Policy{\n\tName: `a`,\n\tExpr: `\n\t\trequest.userInfo.username == $writer ||\n\t\t  object.metadata.name.startsWith($prefix)`,\n\tOther: `$writer`,\n}\n"
	t.Chdir(t.TempDir())
	if err := os.Mkdir("policies", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("policies", "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	before := "request.userInfo.username == 'example:writer' ||\n  object.metadata.name.startsWith('tower-')"
	at := strings.Index(before, "object")
	change := func(before string, insertions ...lint.Insertion) sourceEdit {
		return sourceEdit{"p", lint.Change{Field: "validations[0]", Before: before, After: "whole", Insertions: insertions}}
	}
	diff, err := change(before, lint.Insertion{Text: "has(request.userInfo.username) && "}, lint.Insertion{At: at, Text: "has(object.metadata.name) && "}).diff("policies")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"--- a/policies/p.go", "+++ b/policies/p.go", "@@ -3,7 +3,7 @@",
		" var p = Policy{", " \tName: `a`,", " \tExpr: `",
		"-\t\trequest.userInfo.username == $writer ||", "-\t\t  object.metadata.name.startsWith($prefix)`,",
		"+\t\thas(request.userInfo.username) && request.userInfo.username == $writer ||", "+\t\t  has(object.metadata.name) && object.metadata.name.startsWith($prefix)`,",
		" \tOther: `$writer`,", " }",
	}, "\n")
	if diff != want {
		t.Errorf("have\n%s\nwant\n%s", diff, want)
	}
	if _, err := change("object.metadata.name == 'a'").diff("policies"); err == nil || !strings.Contains(err.Error(), "0 string literals of policies/p.go hold the expression") {
		t.Errorf("an expression that is not in the file: %v", err)
	}
	if _, err := change(before, lint.Insertion{At: strings.Index(before, "writer'"), Text: "x"}).diff("policies"); err == nil || !strings.Contains(err.Error(), "placeholder") {
		t.Errorf("a guard within a value: %v", err)
	}
}
