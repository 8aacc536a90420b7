package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hangar.io/holdshort/cel/harness"
)

const evalLong = `Eval says what the API server would answer to requests, and why.

A REQUEST is a file, a folder or - for stdin. What is in it is taken by its shape:
  an AdmissionReview (v1)  or an audit event (audit.k8s.io/v1) is taken as it was recorded;
  a fixture file           gives all its cases;
  any other manifest       is sent as --as, --operation and so on say, after it was completed
                           as the server would: API defaults, generated names, implied groups.

The policies are those of -f, or else the rule set as each profile renders it. Other objects in the
files of -f serve as what the cluster holds: CustomResourceDefinitions, Namespaces, and params.

A request is UNDECIDED if its answer depends on something that was not given. It is then said what
to give. A policy or binding that the server would refuse to create, because an expression does not
compile or a field has no valid value, is reported on stderr; the verdicts are then as if it were
stored already.

Exit status: 0 if all requests are allowed, 1 if one is denied, 2 if one is undecided or cannot be
read, or if the server would refuse to create a policy or binding.`

const evalExample = `  policygen eval -f policy.yaml pod.yaml
  policygen eval -f policies/ --as jane --as-group dev --operation DELETE pod.yaml
  policygen eval -f policies/ --subresource exec --options exec.yaml pod.yaml -v
  kubectl get pods -A -o json | policygen eval -f policies/ -
  policygen eval --profile flight audit.log -o json`

type evalOptions struct {
	subjects subjectFlags
	cluster  clusterFlags
	request  requestFlags
	format   format
	verbose  bool
}

func newEval() *cobra.Command {
	o := &evalOptions{}
	cmd := &cobra.Command{
		Use:     "eval REQUEST...",
		Short:   "Say what the API server would answer to requests, and why",
		Long:    evalLong,
		Example: evalExample,
		Args:    arguments(1, math.MaxInt, "give a file, a folder or - with requests"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.subjects.add(cmd)
	o.cluster.add(cmd)
	o.request.add(cmd)
	addFormat(cmd, &o.format, asText, asJSON)
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "print the whole trace: every policy and expression")
	return cmd
}

func (o *evalOptions) run(cmd *cobra.Command, args []string) error {
	stdin, stderr := cmd.InOrStdin(), cmd.ErrOrStderr()
	if err := onceStdin(args, o.subjects.files, o.cluster.crds, o.cluster.params, []string{o.request.old, o.request.options}); err != nil {
		return err
	}
	subjects, err := o.subjects.load(stdin, newPrinter(stderr))
	if err != nil {
		return err
	}
	cluster, err := o.cluster.cluster(subjects[0], stdin)
	if err != nil {
		return err
	}
	decode, err := o.request.decode(cluster, stdin)
	if err != nil {
		return err
	}
	requests := &beginning{Reader: stdin}
	src := source{
		paths: args, stdin: requests, options: decode, sending: o.request.given(),
		cluster: cluster, labels: o.cluster.namespaceLabels, subjects: subjects, now: time.Now(),
	}
	if subjects[0].profile != nil && slices.Contains(words, o.request.as) {
		src.word = o.request.as
	}
	e := evaluation{ctx: cmd.Context(), subjects: subjects, trace: o.verbose || o.format == asJSON}
	out := o.results(newPrinter(cmd.OutOrStdout()), e)
	return o.answer(out, e, inOrder(src.requests(), e.judge), requests, stderr)
}

// words stand for the identities of a profile.
var words = []string{"writer", "reader", "portal", "pipeline", "operator"}

// answer prints the judgements and returns what the exit status follows from.
func (o *evalOptions) answer(out evalResults, e evaluation, all func(func(judged) bool), stdin *beginning, stderr io.Writer) error {
	notes, progress := newPrinter(stderr), newProgress(stderr, "request", 0)
	remarks := remarks{p: notes, more: map[string]int{}}
	refused := false
	if e.subjects[0].bundle != nil {
		problems := e.subjects[0].problems()
		warnProblems(notes, problems)
		refused = len(problems) > 0
	}
	t := tally{}
	var failed error
	for j := range all {
		progress.step()
		switch {
		case j.err != nil:
			t.broken++
			progress.clear()
			report(notes, j.err)
			continue
		case j.skipped != "":
			t.skipped++
			continue
		case j.note != "":
			progress.clear()
			remarks.add(j)
		}
		for _, v := range j.verdicts {
			t.add(v.verdict)
		}
		if failed = out.add(j); failed != nil {
			return failed
		}
	}
	progress.clear()
	remarks.end()
	if failed = out.end(t); failed != nil {
		return failed
	}
	switch {
	case t.total()+t.broken+t.skipped == 0 && stdin.emptyList():
		notes.printf("%s 0 requests: the list is empty\n", notes.paint(faint, "note:"))
		return notes.flush()
	case t.total()+t.broken == 0:
		return withHint(errors.New("no request was found"), "give manifests, AdmissionReviews or audit events%s", t.skippedText())
	case t.undecided > 0 || t.broken > 0 || refused:
		return exitUnable
	case t.denied > 0:
		return exitFound
	}
	return nil
}

// remarks prints each remark about a request once, and at the end how often it holds.
type remarks struct {
	p    *printer
	more map[string]int
}

// maxRemarks bounds the different remarks that are kept.
const maxRemarks = 20

func (r *remarks) add(j judged) {
	if _, known := r.more[j.note]; known {
		r.more[j.note]++
	} else if len(r.more) < maxRemarks {
		r.more[j.note] = 0
		r.p.printf("%s %s\n", r.p.paint(faint, "note:"), clean(j.place()+": "+j.note))
		_ = r.p.flush()
	}
}

func (r *remarks) end() {
	for _, note := range slices.Sorted(maps.Keys(r.more)) {
		if n := r.more[note]; n > 0 {
			r.p.printf("%s %s: %s\n", r.p.paint(faint, "note:"), count(n, "more request"), clean(note))
		}
	}
	_ = r.p.flush()
}

// evaluation judges requests by each of its subjects.
type evaluation struct {
	ctx      context.Context
	subjects []subject
	trace    bool // of all requests, which costs time
}

// judged is a request with a verdict of each subject.
type judged struct {
	asked
	verdicts []subjectVerdict
}

// subjectVerdict is the answer of one subject. The request is complete, and by the user that the
// subject's profile has for a word.
type subjectVerdict struct {
	profile string
	request harness.Request
	verdict harness.Verdict
}

// judge is safe for concurrent use.
func (e evaluation) judge(a asked) judged {
	j := judged{asked: a}
	if a.err != nil || a.skipped != "" {
		return j
	}
	subjects := e.subjects
	if a.subject != nil {
		subjects = []subject{*a.subject}
	}
	var prepared *harness.Prepared
	for i, s := range subjects {
		v := subjectVerdict{profile: s.name(), request: a.request}
		switch {
		case a.gap != nil:
			v.verdict = harness.Verdict{Decision: harness.Undecided, Undecided: []harness.Gap{*a.gap}}
		case i == 0 || a.word != "":
			if prepared, j.err = prepare(&v.request, a, s); j.err != nil {
				return j
			}
			v.verdict = e.verdict(s, prepared)
		default:
			v.request = j.verdicts[0].request
			v.verdict = e.verdict(s, prepared)
		}
		j.verdicts = append(j.verdicts, v)
	}
	return j
}

// prepare brings a request to the state that policies see.
func prepare(r *harness.Request, a asked, s subject) (*harness.Prepared, error) {
	if a.word != "" && s.profile != nil {
		user, err := s.profile.User(a.word)
		if err != nil {
			return nil, fmt.Errorf("--as %s: %w", a.word, err)
		}
		r.User = user
	}
	if !a.completed {
		if err := harness.Complete(r, a.cluster, a.now); err != nil {
			return nil, a.refused(err)
		}
	}
	p, err := harness.Prepare(*r, a.cluster)
	if err != nil {
		return nil, a.refused(err)
	}
	return p, nil
}

func (e evaluation) verdict(s subject, p *harness.Prepared) harness.Verdict {
	return s.set.Evaluate(e.ctx, p, harness.Options{Trace: e.trace})
}

// traced is a judgement again, with the trace that names the sub-expressions that decided.
func (e evaluation) traced(j judged) judged {
	e.trace = true
	return e.judge(j.asked)
}

// tally counts verdicts.
type tally struct{ allowed, denied, undecided, skipped, broken int }

func (t *tally) add(v harness.Verdict) {
	switch v.Decision {
	case harness.Allowed:
		t.allowed++
	case harness.Undecided:
		t.undecided++
	default:
		t.denied++
	}
}

func (t tally) total() int { return t.allowed + t.denied + t.undecided }

func (t tally) skippedText() string {
	if t.skipped == 0 {
		return ""
	}
	if t.skipped == 1 {
		return "; 1 event is a read or a duplicate"
	}
	return fmt.Sprintf("; %d events are reads or duplicates", t.skipped)
}

func (t tally) String() string {
	parts := []string{fmt.Sprintf("%d allowed", t.allowed), fmt.Sprintf("%d denied", t.denied), fmt.Sprintf("%d undecided", t.undecided)}
	if t.skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped (reads and duplicates)", t.skipped))
	}
	if t.broken > 0 {
		parts = append(parts, fmt.Sprintf("%d not readable", t.broken))
	}
	return strings.Join(parts, ", ")
}

// onceStdin refuses a second "-" among paths.
func onceStdin(lists ...[]string) error {
	seen := false
	for _, list := range lists {
		for _, path := range list {
			if path == "-" && seen {
				return withHint(errors.New("stdin can be read once, and - is given twice"), "put one of the inputs in a file")
			}
			seen = seen || path == "-"
		}
	}
	return nil
}
