package request

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	holdschema "hangar.io/holdshort/cel/schema"
)

// truncated marks an event whose objects were dropped because of its size
// (apiserver plugin/pkg/audit/truncate/truncate.go).
const truncated = "audit.k8s.io/truncated"

// event is the request behind an audit event.
type event struct {
	*Decoded
	auditv1.Event
	query             url.Values
	endpoint          holdschema.Resource
	request, response map[string]any // the objects
}

// event takes the request out of an audit event.
func (d *Decoded) event(o Options) error {
	if v := d.Document.GroupVersionKind().Version; v != "v1" {
		return d.errorf([]string{"apiVersion"}, "expected audit.k8s.io/v1, found %s", d.Document.APIVersion())
	}
	typed, err := manifest.Lenient[auditv1.Event](d.envelope())
	if err != nil {
		return err
	}
	e := &event{Decoded: d, Event: *typed}
	d.ID, d.Recorded = string(e.AuditID), e.ResponseStatus
	if d.Skipped = e.skip(); d.Skipped != "" {
		return nil
	}
	if e.request, err = d.object("requestObject"); err != nil {
		return err
	}
	if e.response, err = d.object("responseObject"); err != nil {
		return err
	}
	if err := e.locate(o); err != nil {
		return err
	}
	if d.Skipped = e.skipRead(); d.Skipped != "" {
		return nil
	}
	return e.fill(o)
}

// skip says why an event is no request to a resource, or the same request as a later event.
func (e *event) skip() string {
	switch {
	case e.Stage == auditv1.StageRequestReceived || e.Stage == auditv1.StageResponseStarted:
		return "stage " + string(e.Stage) + ": the request is logged again when it is answered"
	case e.ObjectRef == nil || e.ObjectRef.Resource == "":
		return "no request for a resource"
	case e.Verb == "list" || e.Verb == "watch":
		return "read"
	}
	return ""
}

// skipRead skips what admission does not see: every get that is no connection.
func (e *event) skipRead() string {
	if !connects(e.endpoint) && (e.Verb == "get" || e.Verb == "head") {
		return "read"
	}
	return ""
}

// locate finds the endpoint and reads the query.
func (e *event) locate(o Options) error {
	target, err := url.ParseRequestURI(e.RequestURI)
	if err != nil {
		return e.errorf([]string{"requestURI"}, "expected the path and query of a request, found %q", e.RequestURI)
	}
	if e.query, err = url.ParseQuery(target.RawQuery); err != nil {
		return e.errorf([]string{"requestURI"}, "expected a query behind ?: %w", err)
	}
	ref := e.ObjectRef
	gvr := schema.GroupVersionResource{Group: ref.APIGroup, Version: ref.APIVersion, Resource: ref.Resource}
	var ok bool
	if e.endpoint, ok = o.Resources.Lookup(gvr, ref.Subresource); !ok {
		if e.Verb == "get" {
			return nil // whatever it is, it is a read of something unknown
		}
		return undecided("kind", e.errorf([]string{"objectRef", "resource"}, "%s is not a known resource", endpointName(gvr, ref.Subresource)).
			WithHint("give its CustomResourceDefinition"))
	}
	return nil
}

func (e *event) fill(o Options) error {
	ref := e.ObjectRef
	from := e.User
	if e.ImpersonatedUser != nil {
		from = *e.ImpersonatedUser
	}
	e.Request = harness.Request{
		Resource:    e.endpoint.GVR,
		Subresource: ref.Subresource,
		Kind:        e.endpoint.Kind,
		Namespace:   ref.Namespace,
		Name:        ref.Name,
		User:        User(from),
		DryRun:      len(e.query["dryRun"]) > 0,
	}
	if connects(e.endpoint) {
		return e.connect()
	}
	if e.Annotations[truncated] == "true" {
		return undecided("object", e.errorf([]string{"annotations"}, "the event was truncated and does not hold the object").
			WithHint("raise the API server's --audit-log-truncate-max-event-size"))
	}
	created := e.ResponseStatus != nil && e.ResponseStatus.Code == http.StatusCreated
	switch e.Verb {
	case "create":
		return e.create()
	case "update", "patch":
		if created { // an apply, or a PUT of a kind that allows it, of an object that was not there
			return e.create()
		}
		return e.update(o)
	case "delete":
		return e.delete(o)
	case "deletecollection":
		return undecided("oldObject", e.errorf([]string{"verb"}, "an event of a deletecollection does not hold the objects that are deleted"))
	}
	return e.errorf([]string{"verb"}, "expected create, update, patch, delete or deletecollection, found %q", e.Verb)
}

// answered is the object that the server stored and answered with: what admission saw, except for
// the resource version. It is nil if the event does not hold it, or if nothing was stored: the
// answer to a review or a token request has more in it.
func (e *event) answered() map[string]any {
	if !e.endpoint.Serves("get") {
		return nil
	}
	ok := e.ResponseStatus != nil && e.ResponseStatus.Code >= 200 && e.ResponseStatus.Code < 300
	if !ok || e.response == nil || kindOf(e.response) != e.Request.Kind {
		return nil
	}
	return withMetadata(e.response, "resourceVersion", nil)
}

const noteSent = "the event holds the object as the client sent it: changes by mutating admission are missing"

// sent makes the request from the object that the client sent: the server logs it with its
// defaults filled, but before mutating admission (apiserver pkg/endpoints/handlers/create.go).
func (e *event) sent(object map[string]any) {
	e.Request.Object, e.Note = object, noteSent
}

func (e *event) create() error {
	r := &e.Request
	r.Operation = admission.Create
	if kind := kindOf(e.request); e.request != nil && e.Verb != "patch" && kind.Kind != "" {
		r.Kind = kind // pods/eviction takes several versions
	}
	switch object := e.answered(); {
	case object != nil:
		r.Object, e.Completed = object, true
	case e.request != nil && e.Verb != "patch":
		e.sent(e.request)
	default:
		return e.noObject()
	}
	if e.Verb == "create" && r.Subresource == "" {
		// Of a generateName that was not answered, there is no name yet.
		r.Name = metadataOf(r.Object, "name")
	}
	if r.Resource == namespaces {
		r.Namespace = r.Name
	}
	return e.options("CreateOptions")
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

func (e *event) update(o Options) error {
	r := &e.Request
	r.Operation = admission.Update
	switch object := e.answered(); {
	case object != nil:
		r.Object, e.Completed = object, true
	case e.request != nil && e.Verb == "update":
		e.sent(e.request)
	default:
		return e.noObject()
	}
	if err := e.old(o); err != nil {
		return err
	}
	if version := metadataOf(r.OldObject, "resourceVersion"); version != "" && e.Completed {
		r.Object = withMetadata(r.Object, "resourceVersion", version)
	}
	return e.options("UpdateOptions")
}

func (e *event) delete(o Options) error {
	e.Request.Operation = admission.Delete
	if err := e.old(o); err != nil {
		return err
	}
	e.Completed = true
	if e.request != nil {
		e.Request.Options = withKind(e.request, metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
		_, dry := e.request["dryRun"]
		e.Request.DryRun = e.Request.DryRun || dry
		return nil
	}
	return e.options("DeleteOptions")
}

// old takes the object before the request from the caller: no event holds it.
func (e *event) old(o Options) error {
	if o.Old == nil {
		return undecided("oldObject", e.errorf([]string{"verb"},
			"an event does not hold the object as it was before the %s", e.Verb).WithHint("give it with --old FILE"))
	}
	if kind := o.Old.GroupVersionKind(); kind != e.Request.Kind {
		return o.Old.Errorf([]string{"kind"}, "expected the %s before the request, found %s", kindName(e.Request.Kind), kindName(kind))
	}
	if o.Old.Name() != e.Request.Name || o.Old.Namespace() != e.Request.Namespace && e.endpoint.Namespaced {
		return o.Old.Errorf([]string{"metadata", "name"}, "expected %s as it was before the request, found %s",
			objectName(e.Request.Namespace, e.Request.Name), objectName(o.Old.Namespace(), o.Old.Name()))
	}
	e.Request.OldObject = o.Old.Object
	return nil
}

func (e *event) noObject() error {
	need := "Request or RequestResponse"
	if e.Verb == "patch" {
		need = "RequestResponse"
	}
	ref := endpointName(e.endpoint.GVR, e.Request.Subresource)
	if e.Verb == "patch" && e.Level == auditv1.LevelRequestResponse {
		return undecided("object", e.errorf([]string{"verb"}, "the patch failed: its event does not hold the patched object"))
	}
	return undecided("object", e.errorf([]string{"level"}, "an event of level %s does not hold the object of %s of %s", e.Level, withArticle(e.Verb), ref).
		WithHint("the audit policy needs level %s for %s", need, ref))
}

// withArticle is "an update", "a patch".
func withArticle(verb string) string {
	if strings.HasPrefix(verb, "u") {
		return "an " + verb
	}
	return "a " + verb
}

// options makes the request's options from the query, as the handlers do
// (apiserver pkg/endpoints/handlers/{create,update,patch,delete}.go).
func (e *event) options(kind string) error {
	var into any
	var err error
	switch kind {
	case "CreateOptions":
		o := &metav1.CreateOptions{}
		into, err = o, metav1.Convert_url_Values_To_v1_CreateOptions(&e.query, o, nil)
	case "UpdateOptions":
		o := &metav1.UpdateOptions{}
		into, err = o, metav1.Convert_url_Values_To_v1_UpdateOptions(&e.query, o, nil)
	case "DeleteOptions":
		o := &metav1.DeleteOptions{}
		into, err = o, metav1.Convert_url_Values_To_v1_DeleteOptions(&e.query, o, nil)
	}
	if err == nil {
		e.Request.Options, err = jsonForm(into)
	}
	if err != nil {
		return e.errorf([]string{"requestURI"}, "expected the query of %s: %w", withArticle(e.Verb), err)
	}
	e.Request.Options = withKind(e.Request.Options, metav1.SchemeGroupVersion.WithKind(kind))
	if e.Request.DryRun && e.Request.Options["dryRun"] == nil {
		e.Request.Options = maps.Clone(e.Request.Options)
		e.Request.Options["dryRun"] = []any{metav1.DryRunAll}
	}
	return nil
}
