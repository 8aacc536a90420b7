package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	"hangar.io/holdshort/cel/request"
)

// asked is one request to judge.
type asked struct {
	file string
	line int
	// doc holds the request; empty if that is a fixture's case. Old is the object before it.
	doc manifest.Document
	old *manifest.Document
	// title is the name of a fixture's case.
	title   string
	request harness.Request
	cluster harness.Cluster
	// completed: the request is what a server's admission saw.
	completed bool
	now       time.Time
	// subject is the one that a fixture's case was made for; nil means all.
	subject *subject
	// word is the identity of a profile that sends the request, as --as names it.
	word string
	// gap is why the request itself is not known well enough to be judged.
	gap *harness.Gap
	// skipped, unless empty, says why an audit event is no request that admission sees.
	skipped string
	note    string
	err     error
}

func (a asked) place() string {
	if a.line == 0 {
		return a.file
	}
	return fmt.Sprintf("%s:%d", a.file, a.line)
}

// refused says why a server would refuse the request before admission, naming the field at fault
// if it can be found.
func (a asked) refused(err error) error {
	at := request.Misfit(a.doc)
	if at == nil && a.old != nil {
		at = request.Misfit(*a.old)
	}
	if at != nil {
		text, _ := explain(at)
		err = errors.New(text)
	} else {
		err = fmt.Errorf("%s: %w", a.place(), err)
	}
	return withHint(err, "the API server would refuse such a request before any policy sees it")
}

// requestFlags say how plain manifests are sent, which reviews and audit events say themselves.
type requestFlags struct {
	as          string
	asGroups    []string
	asUID       string
	asExtra     []string
	operation   string
	subresource string
	resource    string
	namespace   string
	old         string
	options     string
	dryRun      bool
	collection  bool
}

func (f *requestFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.as, "as", "", "`user` that sends a manifest, such as jane or system:serviceaccount:NAMESPACE:NAME; or an identity of the profile: writer, reader, portal, pipeline, operator; a cluster administrator if absent")
	flags.StringArrayVar(&f.asGroups, "as-group", nil, "`group` of the user (repeatable)")
	flags.StringVar(&f.asUID, "as-uid", "", "`uid` of the user")
	flags.StringArrayVar(&f.asExtra, "as-extra", nil, "extra of the user: `KEY=VALUE` (repeatable)")
	flags.StringVar(&f.operation, "operation", "", "`operation`: CREATE, UPDATE, DELETE or CONNECT; if absent, CONNECT for exec and its like, UPDATE with --old, else CREATE")
	flags.StringVar(&f.subresource, "subresource", "", "`subresource` that a manifest is sent to, such as status, scale or exec")
	flags.StringVar(&f.resource, "resource", "", "`resource` of a manifest whose kind several have: plural[.group]")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "`namespace` of manifests without one (default \"default\")")
	flags.StringVar(&f.old, "old", "", "object before an UPDATE: `FILE`; makes the request an UPDATE")
	flags.StringVar(&f.options, "options", "", "CreateOptions, UpdateOptions, DeleteOptions or, on CONNECT, PodExecOptions and its like, which are then needed: `FILE`")
	flags.BoolVar(&f.dryRun, "dry-run", false, "the request is a dry run")
	flags.BoolVar(&f.collection, "collection", false, "the DELETE is part of a delete of a collection")
	_ = cmd.RegisterFlagCompletionFunc("operation", cobra.FixedCompletions([]string{"CREATE", "UPDATE", "DELETE", "CONNECT"}, cobra.ShellCompDirectiveNoFileComp))
}

// decode reads the files that the flags name.
func (f *requestFlags) decode(c harness.Cluster, stdin io.Reader) (request.Options, error) {
	o := request.Options{
		Resources: c.Resources, User: fixture.DefaultUser, Operation: admission.Operation(strings.ToUpper(f.operation)),
		Subresource: f.subresource, Resource: f.resource, Namespace: f.namespace, DryRun: f.dryRun, Collection: f.collection,
	}
	operations := []admission.Operation{"", admission.Create, admission.Update, admission.Delete, admission.Connect}
	if !slices.Contains(operations, o.Operation) {
		return o, fmt.Errorf("--operation %s: expected CREATE, UPDATE, DELETE or CONNECT", f.operation)
	}
	if err := f.fits(o.Operation); err != nil {
		return o, err
	}
	if f.as == "" && (len(f.asGroups) > 0 || f.asUID != "" || len(f.asExtra) > 0) {
		return o, withHint(errors.New("--as-group, --as-uid and --as-extra need a user"), "name the user with --as")
	}
	if f.as != "" {
		extra, err := extras(f.asExtra)
		if err != nil {
			return o, err
		}
		o.User = user.DefaultInfo{Name: f.as, UID: f.asUID, Groups: f.asGroups, Extra: extra}
	}
	var err error
	if o.Old, err = single("--old", f.old, stdin); err != nil {
		return o, err
	}
	o.Options, err = single("--options", f.options, stdin)
	return o, err
}

// fits refuses flags that the operation has no use for.
func (f *requestFlags) fits(operation admission.Operation) error {
	switch {
	case f.old != "" && operation != "" && operation != admission.Update:
		return withHint(fmt.Errorf("--old is the object before an UPDATE, and --operation is %s", operation), "leave out one of them")
	case f.collection && operation != admission.Delete:
		return withHint(errors.New("--collection is for a DELETE"), "add --operation DELETE")
	}
	return nil
}

// given tells whether any flag says how manifests are sent.
func (f *requestFlags) given() bool {
	return f.as != "" || f.operation != "" || f.subresource != "" || f.resource != "" || f.namespace != "" || f.options != "" || f.dryRun || f.collection
}

func extras(lines []string) (map[string][]string, error) {
	extra := map[string][]string{}
	for _, line := range lines {
		key, value, ok := strings.Cut(line, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--as-extra %q: expected KEY=VALUE", line)
		}
		extra[key] = append(extra[key], value)
	}
	return extra, nil
}

// single reads the one document of a file, nil if no file is named.
func single(flag, path string, stdin io.Reader) (*manifest.Document, error) {
	if path == "" {
		return nil, nil
	}
	var found *manifest.Document
	for doc, err := range manifest.Read(manifest.Source{Paths: []string{path}, Stdin: stdin}) {
		if err != nil {
			return nil, err
		}
		if found != nil {
			return nil, fmt.Errorf("%s: %s: a second document, expected one", flag, doc)
		}
		found = &doc
	}
	if found == nil {
		return nil, fmt.Errorf("%s: %s: expected one document, found none", flag, path)
	}
	return found, nil
}

// source is where requests come from, and what they are made with.
type source struct {
	paths    []string
	stdin    io.Reader
	options  request.Options
	word     string // of a profile, sends manifests
	sending  bool   // flags say how manifests are sent
	cluster  harness.Cluster
	labels   map[string]string // of the requests' namespaces
	subjects []subject
	now      time.Time
}

// requests yields the requests of files, folders and stdin in their order. It holds one at a time.
func (s source) requests() iter.Seq[asked] {
	return func(yield func(asked) bool) {
		for _, path := range s.paths {
			if isFixture(path) {
				if !s.fixture(path, yield) {
					return
				}
				continue
			}
			for doc, err := range manifest.Read(manifest.Source{Paths: []string{path}, Stdin: s.stdin}) {
				a := asked{now: s.now, cluster: s.cluster, err: err}
				if err == nil {
					a.decode(doc, s)
				}
				if !yield(a) {
					return
				}
			}
		}
	}
}

func (a *asked) decode(doc manifest.Document, s source) {
	a.file, a.line, a.doc, a.old = doc.File, doc.Line, doc, s.options.Old
	d, err := request.Decode(doc, s.options)
	var unknown *request.UndecidedError
	if errors.As(err, &unknown) {
		a.gap, err = &harness.Gap{Need: unknown.Need, Detail: unknown.Cause.Msg}, nil
		if unknown.Cause.Hint != "" {
			a.gap.Detail += "; " + unknown.Cause.Hint
		}
	}
	a.request, a.completed, a.skipped, a.note, a.err = d.Request, d.Completed, d.Skipped, d.Note, err
	a.cluster = withLabels(s.cluster, a.request.Namespace, s.labels)
	switch {
	case d.Form == request.FormManifest:
		a.word = s.word
	case s.sending:
		a.note = strings.TrimPrefix(a.note+"; the flags that say how a manifest is sent are not for an "+string(d.Form)+", which says it itself", "; ")
	}
	if unknown != nil && a.request.Resource.Resource == "" {
		a.title = strings.TrimSpace(doc.Kind() + " " + strings.TrimPrefix(doc.Namespace()+"/"+doc.Name(), "/"))
	}
}

// isFixture tells whether a path is a file in the fixture format.
func isFixture(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > fixture.MaxBytes {
		return false
	}
	data, err := os.ReadFile(path)
	return err == nil && looksLikeFixture(data)
}

// looksLikeFixture tells a fixture from a manifest by the keys at its top, without parsing it: the
// tags that it may have are no YAML of manifests.
func looksLikeFixture(data []byte) bool {
	return hasTopKey(data, "cases") && !hasTopKey(data, "apiVersion") && !hasTopKey(data, "kind")
}

// hasTopKey finds a key at the start of a line, in quotes or not.
func hasTopKey(data []byte, key string) bool {
	for rest := data; ; {
		i := bytes.Index(rest, []byte(key))
		if i < 0 {
			return false
		}
		at := len(data) - len(rest) + i
		rest = rest[i+len(key):]
		after := bytes.TrimLeft(rest, `"' `)
		before := bytes.TrimRight(data[:at], `"'`)
		if len(after) > 0 && after[0] == ':' && (len(before) == 0 || before[len(before)-1] == '\n') {
			return true
		}
	}
}

// fixture yields the cases of a fixture file, for each profile those that are meant for it.
func (s source) fixture(path string, yield func(asked) bool) bool {
	file, err := fixture.LoadFile(path)
	if err != nil {
		return yield(asked{err: err})
	}
	for i := range s.subjects {
		cases, err := file.Resolve(s.subjects[i].inputs(s.now, s.cluster))
		if err != nil {
			return yield(asked{err: err})
		}
		for _, c := range cases {
			a := asked{file: c.File, line: c.Line, title: c.Name, request: c.Request, cluster: c.Cluster, now: c.Now, subject: &s.subjects[i]}
			if c.In(s.subjects[i].tier()) && !yield(a) {
				return false
			}
		}
	}
	return true
}
