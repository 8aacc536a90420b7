package main

import (
	"bytes"
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/xeipuuv/gojsonschema"

	"hangar.io/holdshort/cel/lint"
)

// TestSARIFKeepsToItsSchema: of findings with a place and a witness, and of none.
func TestSARIFKeepsToItsSchema(t *testing.T) {
	schema, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(sarifSchema(t)))
	if err != nil {
		t.Fatal(err)
	}
	l := newLinter(context.Background(), &lintOptions{}, nil)
	for _, rule := range lint.Rules() {
		found, err := exampleFindings(context.Background(), rule, rule.Bad[0])
		if err != nil {
			t.Fatal(err)
		}
		l.findings = append(l.findings, found...)
	}
	results := validSARIF(t, schema, l).Runs[0].Results
	if len(results) != len(l.findings) {
		t.Fatalf("%d results of %d findings", len(results), len(l.findings))
	}
	for i, r := range results {
		f := l.findings[i]
		if at := r.Locations[0].PhysicalLocation; *r.RuleID != f.Rule || *at.ArtifactLocation.URI != exampleFile || *at.Region.StartLine != f.Line {
			t.Errorf("result %d is of rule %s at %s:%d", i, *r.RuleID, *at.ArtifactLocation.URI, *at.Region.StartLine)
		}
		if f.Witness != nil && !strings.Contains(*r.Message.Text, f.Witness.Command) {
			t.Errorf("result %d does not tell the command: %s", i, *r.Message.Text)
		}
	}
	l.findings = nil
	if results := validSARIF(t, schema, l).Runs[0].Results; len(results) > 0 {
		t.Errorf("results without findings: %v", results)
	}
	if wrong, err := schema.Validate(gojsonschema.NewStringLoader(`{"version": "2.1.0", "runs": [{"results": []}]}`)); err != nil || wrong.Valid() {
		t.Errorf("a run without a tool is valid: %v", err)
	}
}

// validSARIF checks the log against the schema, and that it has no field that the standard does not
// know: the schema itself allows others.
func validSARIF(t *testing.T, schema *gojsonschema.Schema, l *linter) *sarif.Report {
	t.Helper()
	var text bytes.Buffer
	if err := writeJSON(newPrinter(&text), l.sarif()); err != nil {
		t.Fatal(err)
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.Errors() {
		t.Error(e)
	}
	report := &sarif.Report{}
	decoder := json.NewDecoder(&text)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(report); err != nil {
		t.Fatal(err)
	}
	return report
}

// sarifSchema is the schema of the standard. The library holds it, in a constant of its own.
func sarifSchema(t *testing.T) string {
	t.Helper()
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(folder)), "schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err = strconv.Unquote(literal.Value)
		}
		return true
	})
	if err != nil || !strings.Contains(text, "SARIF") {
		t.Fatalf("the library has no schema: %v", err)
	}
	return text
}
