package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/cel/witness"
)

const lintLong = `Lint proves that no request can make an expression fail, or shows a request that does.

An expression that fails to evaluate refuses every request that meets it, or lets it pass unchecked.
Lint follows every expression of match conditions, validations and audit annotations through every
request that the policy matches. Each is one of:
  proved    no request can make it fail
  broken    a request makes it fail: an error, with that request, which the API server's own
            evaluator was asked about, and the command that shows it
  unproved  neither was found: a warning, with what is not known

A proof holds for objects as a server has them when policies look: decoded, with defaults, valid.
--assume raw leaves defaults and validation out. Kinds that nothing describes may have any form:
give their CustomResourceDefinitions with --crd or among the files of -f.

A message expression that can fail is a warning of its own: the server then takes the message.

A comment in the expression, // holdshort:ignore RULE: reason, accepts its findings of a rule, and so
does an annotation of the policy: see policygen explain idle-suppression. What is accepted is counted,
and is no reason to fail; an expression that it breaks still counts as broken.

--baseline FILE is for policies that have findings already: those of the file are counted and no reason
to fail, others are reported, and so is what the file has and no longer occurs. --write-baseline makes
the file. It names rule, policy, field and expression, and no lines: who changes an expression has to
mend it.

--fix adds guards to the files of -f, each proved before; what it does not change stays as it is
written. No guard loosens a policy: without the field a validation refuses, and a match condition
lets the validations judge. The report is about the policies after that. Of the rule set it shows the
guards as a diff of the Go files, and changes nothing.

Exit status: 0 if there is no error, and for the rule set if all is proved; 1 otherwise; 2 if a file
cannot be read. With --strict a warning is enough for 1, and so is what a baseline has and no longer occurs.`

const lintExample = `  policygen lint
  policygen lint -f policies/
  policygen lint -f policies/ --crd crds/ --strict
  policygen lint -f policy.yaml --witness out/
  policygen lint -f policies/ --fix
  policygen lint -f policies/ --baseline lint-baseline.json --write-baseline
  policygen lint -f policies/ -o sarif > lint.sarif`

const asGitHub format = "github"

type assumption string

const (
	assumeServer assumption = "server"
	assumeRaw    assumption = "raw"
)

type lintOptions struct {
	subjects subjectFlags
	crds     []string
	assume   assumption
	folder   string
	format   format
	strict   bool
	fix      bool

	baseline      string
	writeBaseline bool
}

func newLint() *cobra.Command {
	o := &lintOptions{subjects: subjectFlags{strayFound: true}}
	cmd := &cobra.Command{
		Use:     "lint",
		Short:   "Prove that no request can make an expression fail",
		Long:    lintLong,
		Example: lintExample,
		Args:    arguments(0, 0, "name the policies with -f"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.subjects.add(cmd)
	cmd.Flags().StringArrayVar(&o.crds, "crd", nil, "CustomResourceDefinitions: `FILE|DIR` (repeatable)")
	addChoice(cmd, &o.assume, "assume", "", "LEVEL", "how objects are: server (decoded, with defaults, valid), raw (as written)", assumeServer, assumeRaw)
	cmd.Flags().StringVar(&o.folder, "witness", "", "folder to save witnesses in: `DIR`")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "warnings make the exit status 1")
	cmd.Flags().BoolVar(&o.fix, "fix", false, "put the guards that are proved to help into the files of -f; for the rule set, show them as a diff")
	cmd.Flags().StringVar(&o.baseline, "baseline", "", "count the findings that `FILE` has, and report only others")
	cmd.Flags().BoolVar(&o.writeBaseline, "write-baseline", false, "make the file of --baseline from the findings that there are")
	addFormat(cmd, &o.format, asText, asJSON, asGitHub, asMarkdown, asSARIF)
	return cmd
}

func (o *lintOptions) run(cmd *cobra.Command) error {
	stdin, stderr := cmd.InOrStdin(), newPrinter(cmd.ErrOrStderr())
	ruleSet := len(o.subjects.files) == 0
	switch {
	case o.writeBaseline && o.baseline == "":
		return withHint(errors.New("--write-baseline has no file to write"), "name it with --baseline")
	case o.baseline != "" && ruleSet:
		return withHint(errors.New("--baseline is for policies in files: of the rule set everything has to be proved"), "name the policies with -f")
	}
	if err := onceStdin(o.subjects.files, o.crds); err != nil {
		return err
	}
	subjects, err := o.subjects.load(stdin, stderr)
	if err != nil {
		return err
	}
	flags := clusterFlags{crds: o.crds}
	cluster, err := flags.cluster(subjects[0], stdin)
	if err != nil {
		return err
	}
	l := newLinter(cmd.Context(), o, cluster.Resources)
	if o.fix {
		if err := l.fix(subjects, o.fixesTo(cmd), stderr); err != nil {
			return err
		}
		// What is left is said of the policies as they are now.
		if subjects, err = o.subjects.load(stdin, newPrinter(io.Discard)); err != nil {
			return err
		}
	}
	if err := l.all(subjects, cmd.ErrOrStderr()); err != nil {
		return err
	}
	if err := l.applyBaseline(); err != nil {
		return err
	}
	l.remark(subjects, stderr)
	l.remarkGone(stderr)
	if err := l.save(); err != nil {
		return err
	}
	if err := l.print(newPrinter(cmd.OutOrStdout())); err != nil {
		return err
	}
	switch {
	case l.has(lint.Error), o.strict && len(l.findings)+len(l.gone) > 0, ruleSet && l.tally.Counts().Proved < l.tally.Counts().Expressions:
		return exitFound
	}
	return nil
}

// fixesTo is where the fixes are told: beside a report that programs read, on stderr.
func (o *lintOptions) fixesTo(cmd *cobra.Command) *printer {
	if o.format == asText {
		return newPrinter(cmd.OutOrStdout())
	}
	return newPrinter(cmd.ErrOrStderr())
}

// lintFinding is a finding with its place and the commands that show it.
type lintFinding struct {
	Rule     string        `json:"rule"`
	Severity lint.Severity `json:"severity"`
	File     string        `json:"file"`
	Policy   string        `json:"policy"`
	Binding  string        `json:"binding,omitempty"`
	Path     string        `json:"path"` // the field of the failing expression
	Line     int           `json:"line"`
	Column   int           `json:"column"` // 0: not known
	Message  string        `json:"message"`
	Hint     string        `json:"hint,omitempty"`
	Case     string        `json:"case"`
	Witness  *lintWitness  `json:"witness"`
	// Reason is why the finding is suppressed, and Baseline is set if the file of --baseline does it.
	Reason   string `json:"reason,omitempty"`
	Baseline bool   `json:"baseline,omitempty"`

	of      lint.Finding
	profile string
}

type lintWitness struct {
	Error   string            `json:"error"`
	Command string            `json:"command"`
	Files   map[string]string `json:"files"`

	reproduction witness.Reproduction
}

type linter struct {
	options   *lintOptions
	ctx       context.Context
	resources *schema.Table
	tally     lint.Tally
	findings  []lintFinding
	accepted  []lintFinding       // those that a policy suppresses, or the baseline has
	gone      []baselineEntry     // what the baseline has and no longer occurs
	lines     map[string][]string // of files
}

func newLinter(ctx context.Context, o *lintOptions, resources *schema.Table) *linter {
	if resources == nil {
		resources = schema.BuiltIn(schema.Newest)
	}
	return &linter{options: o, ctx: ctx, resources: resources, lines: map[string][]string{}}
}

// remark names what nothing describes, each once, if that may be why an expression is not proved.
func (l *linter) remark(subjects []subject, p *printer) {
	var names []string
	for _, s := range subjects {
		for _, policy := range s.set.Policies() {
			if slices.ContainsFunc(l.findings, func(f lintFinding) bool { return f.Policy == policy && f.Rule == "total" }) {
				names = append(names, lint.Undescribed(s.set, policy, l.resources)...)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		p.printf("%s %s\n", p.paint(faint, "note:"), clean(name+": nothing describes it, so its objects may have any form; give its CustomResourceDefinition with --crd"))
	}
	_ = p.flush()
}

func (l *linter) has(severity lint.Severity) bool {
	return slices.ContainsFunc(l.findings, func(f lintFinding) bool { return f.Severity == severity })
}

func (l *linter) all(subjects []subject, stderr io.Writer) error {
	policies := 0
	for _, s := range subjects {
		policies += len(s.set.Policies())
	}
	progress := newProgress(stderr, "policy", policies)
	defer progress.clear()
	for _, s := range subjects {
		for r, err := range l.reports(s) {
			if err != nil {
				return err
			}
			if r.Policy != "" {
				progress.step()
			}
			l.tally.Add(r)
			for _, f := range r.Findings {
				l.add(l.finding(f, s))
			}
		}
	}
	return nil
}

// reports are what lint says of a subject.
func (l *linter) reports(s subject) iter.Seq2[lint.Report, error] {
	return lint.Run(l.ctx, s.set, l.lintOptions())
}

// add notes a finding, unless another profile has it already.
func (l *linter) add(f lintFinding) {
	list := &l.findings
	if f.of.Suppression != nil {
		list = &l.accepted
	}
	known := slices.ContainsFunc(*list, func(k lintFinding) bool {
		return k.Policy == f.Policy && k.Binding == f.Binding && k.Path == f.Path && k.Rule == f.Rule && k.of.Text == f.of.Text && k.of.Start == f.of.Start && k.Severity == f.Severity && k.File == f.File
	})
	if !known {
		*list = append(*list, f)
	}
}

func (l *linter) lintOptions() lint.Options {
	o := lint.Options{Resources: l.resources, Assume: schema.Server}
	if l.options.assume == assumeRaw {
		o.Assume = schema.Raw
	}
	return o
}

// finding is one of a subject with its place.
func (l *linter) finding(of lint.Finding, s subject) lintFinding {
	f := lintFinding{
		Rule: of.Rule, Severity: of.Severity, Policy: of.Policy, Binding: of.Binding, Path: of.Field, Message: of.Message, Hint: of.Hint,
		of: of, profile: s.name(),
	}
	if of.Suppression != nil {
		f.Reason = of.Suppression.Reason
	}
	if of.Case != nil {
		f.Case = of.Case.String()
	}
	if s.bundle != nil {
		p := problem{Problem: harness.Problem{Policy: of.Policy, Binding: of.Binding, Field: of.Field, Text: of.Text}}
		doc := s.document(p.Problem)
		f.File, f.Line = doc.File, doc.LineOf(p.path()...)
		l.locate(&f)
	}
	return f
}

// locate finds the line and column of the failing part itself, where the file holds the text as it is.
func (l *linter) locate(f *lintFinding) {
	const ahead = 3 // lines between a field and its text
	if f.of.Text == "" || f.File == "" || f.File == "-" {
		return
	}
	lines, known := l.lines[f.File]
	if !known {
		data, err := os.ReadFile(f.File)
		if err == nil {
			lines = strings.Split(string(data), "\n")
		}
		l.lines[f.File] = lines
	}
	before := string([]rune(f.of.Text)[:min(f.of.Start, len([]rune(f.of.Text)))])
	row := strings.Count(before, "\n")
	line := strings.Split(f.of.Text, "\n")[row]
	column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
	indent := len([]rune(line)) - len([]rune(strings.TrimLeft(line, " \t")))
	first := max(f.Line-1, 0) + row
	for i := first; i < min(first+ahead, len(lines)); i++ {
		if at := strings.Index(lines[i], strings.TrimSpace(line)); at >= 0 {
			f.Line, f.Column = i+1, len([]rune(lines[i][:at]))+1+column-indent
			return
		}
	}
}

// save writes the witnesses to the folder of --witness, and makes their commands.
func (l *linter) save() error {
	folder := l.options.folder
	if folder != "" {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return withHint(fmt.Errorf("--witness %s: the folder cannot be created: %s", folder, cause(err)), "name a folder that you may write to")
		}
	}
	for i := range l.findings {
		f := &l.findings[i]
		if f.of.Witness == nil {
			continue
		}
		stem := fmt.Sprintf("%s-%d", f.Policy, i+1)
		if folder != "" {
			stem = filepath.Join(folder, stem)
		}
		var args []string
		for _, file := range l.options.subjects.files {
			args = append(args, "-f", file)
		}
		for _, crd := range l.options.crds {
			args = append(args, "--crd", crd)
		}
		if name := cmp.Or(l.options.subjects.profile, f.profile); name != "" {
			args = append(args, "--profile", name)
		}
		r, err := f.of.Witness.Reproduce(stem, args...)
		if err != nil {
			return err
		}
		f.Witness = &lintWitness{Error: f.of.Witness.Error, Command: r.Command(), Files: map[string]string{}, reproduction: r}
		for _, file := range r.Files {
			f.Witness.Files[file.Name] = string(file.Data)
			if folder == "" {
				continue
			}
			if err := os.WriteFile(file.Name, file.Data, 0o666); err != nil { //nolint:gosec // for everybody to read, as the umask says
				return fmt.Errorf("--witness %s: %w", folder, err)
			}
		}
		if folder == "" {
			continue
		}
		review, err := f.of.Witness.Review()
		if err != nil {
			return err
		}
		if err := os.WriteFile(stem+"-review.json", review, 0o666); err != nil { //nolint:gosec // as above
			return fmt.Errorf("--witness %s: %w", folder, err)
		}
	}
	return nil
}
