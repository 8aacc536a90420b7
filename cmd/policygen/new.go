package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hangar.io/holdshort/policies"
)

func newNew() *cobra.Command {
	return &cobra.Command{
		Use:   "new NAME",
		Short: "Start a policy: its source and its fixture",
		Long: `New writes the two files that a policy costs, policies/NAME.go and policies/testdata/NAME.yaml,
in the project whose root is the current folder. They compile, and their cases pass. It does not
overwrite a file. Policygen holds the rule set that it was built with: make run builds it again.`,
		Example: "  policygen new breakglass-secrets",
		Args:    arguments(1, 1, "give the name of the policy, such as breakglass-secrets"),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := policies.New(args[0])
			if errors.Is(err, policies.ErrExists) {
				return withHint(err, "policygen explain %s prints it; choose another name", args[0])
			}
			if err != nil {
				return err
			}
			if _, err := os.Stat("policies"); errors.Is(err, fs.ErrNotExist) {
				return withHint(errors.New("there is no folder policies here"), "run policygen new in the root of the project")
			}
			p := newPrinter(cmd.OutOrStdout())
			if err := createFiles(p, files); err != nil {
				return err
			}
			p.printf("next: write the demands and their cases, then make run, which builds policygen with them and checks them\n")
			return p.flush()
		},
	}
}

// createFiles writes files that must not exist, or none.
func createFiles(p *printer, files []policies.File) error {
	for _, f := range files {
		if _, err := os.Lstat(filepath.FromSlash(f.Path)); err == nil {
			return withHint(fmt.Errorf("%s exists already", f.Path), "remove it or choose another name")
		}
	}
	for _, f := range files {
		path := filepath.FromSlash(f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		_, err = out.Write(f.Data)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
		p.printf("%s\n", path)
	}
	return nil
}
