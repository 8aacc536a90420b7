package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/kyverno"
	"hangar.io/holdshort/policies/profile"
)

// target is a form of manifests.
type target struct {
	name, what string
	// judges tells whether the form holds policies, whose action can be milder.
	judges bool
	// alone tells whether the folder may hold no other target's manifests: the API server reads all that
	// is in it, and does not start with what it cannot use.
	alone bool
	files func(policies.Manifests) ([]policies.File, error)
}

var targets = []target{
	{"vap", "ValidatingAdmissionPolicies and their bindings", true, false, policies.Manifests.Files},
	{"manifest", "the same as files for the API server's own folder, from Kubernetes 1.37", true, true, func(m policies.Manifests) ([]policies.File, error) {
		return m.Static().Files()
	}},
	{"kyverno", "ValidatingPolicies that Kyverno compiles into those, and the roles it needs", true, false, kyverno.Files},
	{"rbac", "the roles, and the bindings that exist while no session is open", false, false, func(m policies.Manifests) ([]policies.File, error) {
		f, err := policies.RBAC(m.Profile)
		return []policies.File{f}, err
	}},
}

const renderLong = `Render writes the manifests of the rule set as a profile makes them.

Without --out they go to stdout, each profile under a header of its own. With --out each profile
gets a folder, DIR/<profile>/, to be applied to one cluster. Manifests of the target there that are
no longer rendered are removed; other files stay. Give each target that holds policies a DIR of its
own: their files have the same names. The folder of --target manifest takes no other target at all,
as the API server reads whatever is in it.

--action Warn or Audit lets a new policy be watched before it refuses: its failures and errors become
warnings for the client, or entries of the audit log.`

const renderExample = `  policygen render
  policygen render --profile flight | kubectl apply -f -
  policygen render --profile flight --target rbac | kubectl apply -f -
  policygen render --profile ground --target kyverno | kubectl apply -f -
  policygen render --target manifest --out out/manifest/
  policygen render --profile clusters/test.yaml --action Warn --out out/vap/`

func newRender() *cobra.Command {
	var profileName, name, out string
	var o policies.Options
	var names, lines []string
	for _, t := range targets {
		names = append(names, t.name)
		lines = append(lines, fmt.Sprintf("%s (%s)", t.name, t.what))
	}
	cmd := &cobra.Command{
		Use:     "render",
		Short:   "Write the rule set's manifests",
		Long:    renderLong,
		Example: renderExample,
		Args:    arguments(0, 0, "name the profile with --profile"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := targets[slices.Index(names, name)]
			if cmd.Flags().Changed("action") && !t.judges {
				return withHint(fmt.Errorf("--action %s: --target %s has no policies", o.Action, t.name), "leave --action out")
			}
			all, err := t.render(profileName, o)
			if err != nil {
				return err
			}
			if out != "" {
				return t.write(newPrinter(cmd.ErrOrStderr()), out, all)
			}
			return printManifests(newPrinter(cmd.OutOrStdout()), all)
		},
	}
	addProfile(cmd, &profileName)
	addChoice(cmd, &name, "target", "", "TARGET", "what to make: "+strings.Join(lines, ", "), names...)
	addChoice(cmd, &o.Action, "action", "", "ACTION", "what a failed validation does: Deny, Warn, Audit", admissionv1.Deny, admissionv1.Warn, admissionv1.Audit)
	cmd.Flags().StringVar(&out, "out", "", "folder to write to, one folder a profile: `DIR`")
	return cmd
}

// rendering is the files of one profile.
type rendering struct {
	profile profile.Profile
	files   []policies.File
}

func (t target) render(profileName string, o policies.Options) ([]rendering, error) {
	chosen, err := profiles(profileName)
	if err != nil {
		return nil, err
	}
	all := make([]rendering, len(chosen))
	for i, p := range chosen {
		m, err := policies.Render(p, o)
		if err != nil {
			return nil, err
		}
		files, err := t.files(m)
		if err != nil {
			return nil, err
		}
		all[i] = rendering{p, files}
	}
	return all, nil
}

func printManifests(p *printer, all []rendering) error {
	for i, r := range all {
		if i > 0 {
			p.printf("---\n")
		}
		p.printf("# ===== profile %s: for one cluster of tier %s =====\n%s", r.profile.Name, r.profile.Tier, policies.Join(r.files))
	}
	return p.flush()
}

// write writes each profile's folder and says so on stderr.
func (t target) write(p *printer, out string, all []rendering) error {
	for _, r := range all {
		folder := filepath.Join(out, r.profile.Name)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return withHint(fmt.Errorf("--out %s: the folder %s cannot be created: %s", out, folder, cause(err)), "name a folder that you may write to")
		}
		old, err := earlier(folder)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(old)) {
			if of := old[name]; t.excludes(of) || of != t.name && slices.ContainsFunc(r.files, func(f policies.File) bool { return f.Path == name }) {
				return withHint(fmt.Errorf("%s holds the manifests of --target %s", folder, of), "name another folder with --out")
			}
		}
		for _, f := range r.files {
			delete(old, f.Path)
			if err := replaceFile(filepath.Join(folder, f.Path), f.Data, 0o644); err != nil {
				return err
			}
		}
		p.printf("%s: %s\n", folder, count(len(r.files), "file"))
		for _, name := range slices.Sorted(maps.Keys(old)) {
			if old[name] != t.name {
				continue
			}
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				return err
			}
			p.printf("%s: removed, it is no longer rendered\n", filepath.Join(folder, name))
		}
	}
	return p.flush()
}

// excludes tells whether a folder may not hold the manifests of both targets.
func (t target) excludes(name string) bool {
	return name != t.name && (t.alone || slices.ContainsFunc(targets, func(other target) bool { return other.name == name && other.alone }))
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
func replaceFile(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".policygen-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// renderedLine is how the manifests of policies.NewFile begin.
var renderedLine = regexp.MustCompile(`^# Made by policygen render --target ([a-z]+):`)

// earlier are the targets of the manifests that an earlier render wrote, by their names.
func earlier(folder string) (map[string]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, entry := range entries {
		name := entry.Name()
		if filepath.Ext(name) != ".yaml" || !entry.Type().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		if m := renderedLine.FindSubmatch(data); m != nil {
			found[name] = string(m[1])
		}
	}
	return found, nil
}
