package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain runs main in the place of the command policygen when a script calls it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"policygen": main})
}

var update = flag.Bool("update", false, "rewrite the expected outputs in testdata/*.txtar")

// TestScripts runs testdata/*.txtar, the specification of the program.
func TestScripts(t *testing.T) {
	project, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PROJECT", project)
			return nil
		},
	})
}
