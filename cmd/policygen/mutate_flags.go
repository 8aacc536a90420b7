package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	"hangar.io/holdshort/cel/mutate"
)

// mutateOptions are the flags of test about mutants.
type mutateOptions struct {
	wanted bool
	since  string
}

func (o *mutateOptions) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.wanted, "mutate", false, "change the policies in small ways, and tell what no case notices")
	cmd.Flags().StringVar(&o.since, "since", "", "with --mutate, only what differs from this git `revision`")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if o.since != "" && !o.wanted {
			return withHint(errors.New("--since is about mutants"), "give --mutate as well")
		}
		return nil
	}
}

// run judges the cases of a test that all hold by the mutants, and prints what survives.
func (o *mutateOptions) run(cmd *cobra.Command, t *testRun, f format) error {
	m := &mutation{ctx: t.ctx, stderr: cmd.ErrOrStderr()}
	if f == asJUnit {
		return withHint(errors.New("--mutate has no JUnit form"), "give -o text or -o json")
	}
	if o.since != "" {
		old, err := o.policiesBefore(t)
		if err != nil {
			return err
		}
		m.only = old.changed
	}
	if err := m.run(t.suites); err != nil {
		return err
	}
	p := newPrinter(cmd.OutOrStdout())
	if f == asJSON {
		j, err := m.json()
		if err == nil {
			err = writeJSON(p, j)
		}
		if err != nil {
			return err
		}
	} else {
		m.print(p)
		if err := p.flush(); err != nil {
			return err
		}
	}
	stderr := newPrinter(cmd.ErrOrStderr())
	if spent, ok := cpuTime(); ok {
		stderr.printf("%s %.1f CPU seconds\n", stderr.paint(faint, "note:"), spent.Seconds())
		_ = stderr.flush()
	}
	return m.status()
}

// before are the policies of each subject as a revision had them, by the name of the subject.
type before map[string]*harness.Set

// policiesBefore reads the policies of a revision: of -f the files as they were, of the rule set
// examples/, which holds what it renders for the built-in profiles.
func (o *mutateOptions) policiesBefore(t *testRun) (before, error) {
	out := before{}
	for _, s := range t.suites {
		paths := t.flags.files
		switch {
		case s.subject.profile != nil && t.flags.profile != "" && s.name != "ground" && s.name != "flight":
			return nil, withHint(fmt.Errorf("what profile %s rendered at %s is not known", s.name, o.since), "--since is for the built-in profiles, or for the files of -f")
		case s.subject.profile != nil:
			paths = []string{filepath.Join("examples", s.name, "vap.yaml")}
		case s.subject.bundle == nil:
			continue
		}
		set, err := readAt(o.since, paths)
		if err != nil {
			return nil, err
		}
		out[s.name] = set
	}
	return out, nil
}

// readAt reads the policies of files or folders as they were at a revision. A path that was not there
// had none.
func readAt(revision string, paths []string) (*harness.Set, error) {
	if strings.HasPrefix(revision, "-") {
		return nil, fmt.Errorf("%q is no git revision", revision)
	}
	if _, err := git("rev-parse", "--verify", "--quiet", revision+"^{commit}"); err != nil {
		return nil, withHint(fmt.Errorf("git knows no revision %q here", revision), "run policygen in the repository, and fetch the revision first")
	}
	var data bytes.Buffer
	for _, path := range paths {
		if path == "-" {
			return nil, withHint(errors.New("--since cannot tell what stdin was"), "give files or folders with -f")
		}
		listed, err := git("ls-tree", "-r", "-z", "--name-only", revision, "--", path)
		if err != nil {
			return nil, err
		}
		for _, name := range strings.Split(strings.TrimRight(string(listed), "\x00"), "\x00") {
			if ext := filepath.Ext(name); name == "" || ext != ".yaml" && ext != ".yml" && ext != ".json" {
				continue
			}
			content, err := git("show", revision+":./"+name)
			if err != nil {
				return nil, err
			}
			data.WriteString("\n---\n")
			data.Write(content)
		}
	}
	bundle, err := manifest.Collect(withoutFixtures(manifest.Read(manifest.Source{Paths: []string{"-"}, Stdin: &data})))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", revision, err)
	}
	return harness.Compile(bundle.Policies, bundle.Bindings)
}

func git(args ...string) ([]byte, error) {
	command := exec.Command("git", args...)
	var diagnostics bytes.Buffer
	command.Stderr = &diagnostics
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(diagnostics.String()))
	}
	return out, nil
}

// changed tells whether what a mutant changes is not as it was. Expressions are known by the name of
// their condition, variable or validation, or without one by their text.
func (b before) changed(s subject, m mutate.Mutant) bool {
	set := b[s.name()]
	old := set.Policy(m.Policy)
	if old == nil {
		return true
	}
	if m.Text != "" {
		return !hasExpression(old, m)
	}
	if m.Binding != "" {
		for _, x := range set.Bindings(m.Policy) {
			for _, y := range s.set.Bindings(m.Policy) {
				if x.Name == m.Binding && y.Name == m.Binding {
					return fmt.Sprint(x.Spec.ValidationActions) != fmt.Sprint(y.Spec.ValidationActions)
				}
			}
		}
		return true
	}
	now := s.set.Policy(m.Policy)
	if m.Field == "failurePolicy" {
		return *old.Spec.FailurePolicy != *now.Spec.FailurePolicy
	}
	return old.Spec.MatchConstraints.String() != now.Spec.MatchConstraints.String()
}

func hasExpression(p *admissionv1.ValidatingAdmissionPolicy, m mutate.Mutant) bool {
	list, _, _ := strings.Cut(m.Field, "[")
	switch list {
	case "matchConditions":
		for _, x := range p.Spec.MatchConditions {
			if x.Name == m.Name && x.Expression == m.Text {
				return true
			}
		}
	case "variables":
		for _, x := range p.Spec.Variables {
			if x.Name == m.Name && x.Expression == m.Text {
				return true
			}
		}
	default:
		for i, name := range harness.ValidationNames(p) {
			if p.Spec.Validations[i].Expression == m.Text && (name == m.Name || strings.HasPrefix(m.Name, "validations[")) {
				return true
			}
		}
	}
	return false
}
