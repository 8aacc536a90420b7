package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	"hangar.io/holdshort/policies/profile"
)

// subject is a set of policies to judge requests by.
type subject struct {
	// profile that the rule set is rendered for, nil for the policies of -f.
	profile *profile.Profile
	set     *harness.Set
	// bundle is what -f gave, nil for the rule set.
	bundle *manifest.Bundle
	// cluster is what the files of -f say of the cluster.
	cluster harness.Cluster
}

// subjectFlags say which policies a command works on.
type subjectFlags struct {
	files   []string
	profile string
	// strayFound: the command has findings for bindings without a policy, and no note is needed.
	strayFound bool
}

func (f *subjectFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "policies, bindings, and what a cluster holds around them: `FILE|DIR`, or - for stdin (repeatable); the rule set if absent")
	addProfile(cmd, &f.profile)
}

func addProfile(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "profile", "", "`profile` of the rule set: ground, flight or a file; both built-in ones if absent")
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions([]string{string(profile.Ground), string(profile.Flight)}, cobra.ShellCompDirectiveDefault))
}

// load reads the subjects: one of -f, or one a profile. Remarks go to notes.
func (f *subjectFlags) load(stdin io.Reader, notes *printer) ([]subject, error) {
	if len(f.files) == 0 {
		return ruleSet(f.profile)
	}
	if f.profile != "" {
		return nil, withHint(errors.New("--profile is for the rule set, and -f gives other policies"), "give one of them")
	}
	bundle, err := manifest.Collect(withoutFixtures(manifest.Read(manifest.Source{Paths: f.files, Stdin: stdin})))
	if err != nil {
		return nil, err
	}
	if len(bundle.Policies) == 0 {
		return nil, withHint(fmt.Errorf("%s: no ValidatingAdmissionPolicy among %s", strings.Join(f.files, ", "), count(objectCount(bundle), "object")),
			"give the files or folders that hold the policies with -f")
	}
	set, err := harness.Compile(bundle.Policies, bundle.Bindings)
	if err != nil {
		return nil, err
	}
	remark(notes, bundle, !f.strayFound)
	cluster, err := clusterOf(bundle)
	return []subject{{set: set, bundle: bundle, cluster: cluster}}, err
}

// withoutFixtures leaves out fixture files, which may lie beside the policies that they test.
func withoutFixtures(documents iter.Seq2[manifest.Document, error]) iter.Seq2[manifest.Document, error] {
	return func(yield func(manifest.Document, error) bool) {
		for doc, err := range documents {
			_, policy := doc.Object["policy"]
			_, cases := doc.Object["cases"]
			if policy && cases && doc.Kind() == "" {
				continue
			}
			if !yield(doc, err) {
				return
			}
		}
	}
}

func objectCount(b *manifest.Bundle) int {
	return len(b.Bindings) + len(b.CRDs) + len(b.Namespaces) + len(b.Objects)
}

// remark notes what in a bundle does nothing: people expect that it does.
func remark(p *printer, b *manifest.Bundle, stray bool) {
	note := func(format string, args ...any) {
		p.printf("%s %s\n", p.paint(faint, "note:"), clean(fmt.Sprintf(format, args...)))
	}
	for _, n := range b.Notes {
		note("%s", n)
	}
	bound := map[string]bool{}
	for _, binding := range b.Bindings {
		bound[binding.Spec.PolicyName] = true
		known := slices.ContainsFunc(b.Policies, func(p *admissionv1.ValidatingAdmissionPolicy) bool { return p.Name == binding.Spec.PolicyName })
		if !known && stray {
			note("%s: binding %q refers to policy %q, which is not among the files, and does nothing", b.Source(binding), binding.Name, binding.Spec.PolicyName)
		}
	}
	for _, policy := range b.Policies {
		if !bound[policy.Name] {
			note("%s: policy %q has no binding among the files, so the server would not apply it; add its ValidatingAdmissionPolicyBinding", b.Source(policy), policy.Name)
		}
	}
	if len(b.Skipped) > 0 {
		total := 0
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(b.Skipped)) {
			total += b.Skipped[kind]
			kinds = append(kinds, fmt.Sprintf("%d %s", b.Skipped[kind], kind))
		}
		note("skipped %s that no policy looks at: %s", count(total, "object"), strings.Join(kinds, ", "))
	}
	_ = p.flush()
}

// problem is what the server does not take, with its place in the files.
type problem struct {
	harness.Problem
	file string
	line int
}

func (p problem) place() string {
	if p.file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// subject names the object with the problem.
func (p problem) subject() string {
	if p.Binding != "" {
		return fmt.Sprintf("binding %q of policy %q", p.Binding, p.Policy)
	}
	return fmt.Sprintf("policy %q", p.Policy)
}

// expression tells whether an expression does not compile; otherwise a field has a value that the
// server refuses.
func (p problem) expression() bool { return p.Text != "" }

// problems finds what the server does not take of a subject.
func (s subject) problems() []problem {
	var all []problem
	for _, p := range s.set.Problems() {
		located := problem{Problem: p}
		if s.bundle != nil {
			doc := s.document(p)
			located.file, located.line = doc.File, doc.LineOf(located.path()...)
		}
		all = append(all, located)
	}
	slices.SortStableFunc(all, func(a, b problem) int { return cmp.Compare(a.Policy, b.Policy) })
	return all
}

// document is where the object with a problem was read from.
func (s subject) document(p harness.Problem) manifest.Document {
	if p.Binding != "" {
		for _, b := range s.bundle.Bindings {
			if b.Name == p.Binding {
				return s.bundle.Source(b)
			}
		}
	}
	for _, def := range s.bundle.Policies {
		if def.Name == p.Policy {
			return s.bundle.Source(def)
		}
	}
	return manifest.Document{}
}

// path of the field. The harness calls an expression by the element that it stands in.
func (p problem) path() []string {
	const annotations = "metadata.annotations."
	if name, found := strings.CutPrefix(p.Field, annotations); found {
		return []string{"metadata", "annotations", name}
	}
	path := append([]string{"spec"}, strings.FieldsFunc(p.Field, func(r rune) bool { return strings.ContainsRune(".[]", r) })...)
	if p.expression() && strings.HasSuffix(p.Field, "]") {
		path = append(path, "expression")
	}
	return path
}

// warnProblems prints problems in full, for stderr.
func warnProblems(p *printer, problems []problem) {
	for _, problem := range problems {
		at := problem.place()
		if at != "" {
			at += ": "
		}
		p.printf("%s %s\n", p.paint(red, "policygen:"), clean(fmt.Sprintf("%s%s: %s: %s", at, problem.subject(), problem.Field, problemText(problem))))
	}
	if len(problems) > 0 {
		p.printf("%s the API server refuses to create this; the verdicts are as if it were stored already\n", p.paint(faint, "hint:"))
	}
	_ = p.flush()
}

func problemText(p problem) string {
	err := indentRest(strings.TrimSpace(p.Err.Error()))
	if !p.expression() {
		return err
	}
	if p.Create {
		return "works in a stored policy, but cannot be created: " + err
	}
	return "does not compile: " + err
}
