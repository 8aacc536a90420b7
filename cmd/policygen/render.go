package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hangar.io/holdshort/policies"
)

// targets are what render can make.
var targets = []string{"vap"}

func newRender() *cobra.Command {
	var profileName, target, out string
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Write the rule set's manifests",
		Long: `Render writes the manifests of the rule set as a profile makes them: ValidatingAdmissionPolicies
with their bindings (target vap).

Without --out they go to stdout, each profile under a header of its own. With --out each profile
gets a folder, DIR/<profile>/, to be applied to one cluster. Manifests there of policies that are
no longer rendered are removed; other files stay.`,
		Example: `  policygen render
  policygen render --profile flight | kubectl apply -f -
  policygen render --out out/
  policygen render --profile clusters/test.yaml --out out/`,
		Args: arguments(0, 0, "name the profile with --profile"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if target != "vap" {
				return withHint(fmt.Errorf("--target %s: not yet", target), "expected vap")
			}
			all, err := rendered(profileName)
			if err != nil {
				return err
			}
			if out != "" {
				return writeManifests(newPrinter(cmd.ErrOrStderr()), out, all)
			}
			return printManifests(newPrinter(cmd.OutOrStdout()), all)
		},
	}
	addProfile(cmd, &profileName)
	cmd.Flags().StringVar(&target, "target", "vap", "`what` to make: vap (ValidatingAdmissionPolicies and their bindings)")
	cmd.Flags().StringVar(&out, "out", "", "folder to write to, one folder a profile: `DIR`")
	_ = cmd.RegisterFlagCompletionFunc("target", cobra.FixedCompletions(targets, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func rendered(profileName string) ([]policies.Manifests, error) {
	chosen, err := profiles(profileName)
	if err != nil {
		return nil, err
	}
	all := make([]policies.Manifests, len(chosen))
	for i, p := range chosen {
		if all[i], err = policies.Render(p, policies.Options{}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func printManifests(p *printer, all []policies.Manifests) error {
	for i, m := range all {
		data, err := m.YAML()
		if err != nil {
			return err
		}
		if i > 0 {
			p.printf("---\n")
		}
		p.printf("# ===== profile %s: for one cluster of tier %s =====\n%s", m.Profile.Name, m.Profile.Tier, data)
	}
	return p.flush()
}

// writeManifests writes each profile's folder and says so on stderr.
func writeManifests(p *printer, out string, all []policies.Manifests) error {
	for _, m := range all {
		folder := filepath.Join(out, m.Profile.Name)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return withHint(fmt.Errorf("--out %s: the folder %s cannot be created: %s", out, folder, cause(err)), "name a folder that you may write to")
		}
		files, err := m.Files()
		if err != nil {
			return err
		}
		current := map[string]bool{}
		for _, f := range files {
			current[f.Path] = true
			if err := replaceFile(filepath.Join(folder, f.Path), f.Data); err != nil {
				return err
			}
		}
		removed, err := removeStale(folder, current)
		if err != nil {
			return err
		}
		p.printf("%s: %s\n", folder, count(len(files), "file"))
		for _, name := range removed {
			p.printf("%s: removed, it is no longer rendered\n", filepath.Join(folder, name))
		}
	}
	return p.flush()
}

// cause is why a file or folder cannot be used, without its path.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

// replaceFile writes a file as a whole: whoever reads it finds the old or the new one.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".policygen-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// removeStale removes the manifests that an earlier render wrote and this one did not. They are
// known by their first line.
func removeStale(folder string, current map[string]bool) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, entry := range entries {
		name := entry.Name()
		if current[name] || filepath.Ext(name) != ".yaml" || !entry.Type().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return removed, err
		}
		if !bytes.HasPrefix(data, []byte(renderedLine)) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			return removed, err
		}
		removed = append(removed, name)
	}
	return removed, nil
}

// renderedLine is how the manifests of policies.Render begin.
const renderedLine = "# Made by policygen render"
