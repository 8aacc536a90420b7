// Command gen makes the tables of cel/schema from Kubernetes itself: which resources are served
// with which kinds, what API defaulting fills, what a create does to an object before admission,
// which versions of a kind have the same JSON form, and how fields of earlier versions differ.
//
// It is a module of its own, because it links k8s.io/kubernetes, which the product never does.
// Its output is committed; with -check it writes nothing and fails if a file differs.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// generators by the name of the file that they write.
var generators = []struct {
	file string
	make func() ([]byte, error)
}{
	{"resources.txt", resourceTable},
	{"defaults.txt", defaultsTable},
	{"prepare.txt", prepareTable},
	{"shapes.txt", sameShapes},
	{"former.txt", formerFields},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	out := flags.String("out", "../../cel/schema", "folder of the tables")
	check := flags.Bool("check", false, "write nothing, fail if a table is not up to date")
	only := flags.String("only", "", "comma-separated names of the tables to make (default all)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var errs []error
	for _, g := range generators {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), g.file) {
			continue
		}
		content, err := g.make()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", g.file, err))
			continue
		}
		errs = append(errs, place(filepath.Join(*out, g.file), content, *check))
	}
	return errors.Join(errs...)
}

// place writes a table, or compares it with what is there.
func place(path string, content []byte, check bool) error {
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, content) {
		return nil
	}
	if check {
		return fmt.Errorf("%s is not up to date: run the generator in hack/gen and commit the result", path)
	}
	return os.WriteFile(path, content, 0o644)
}
