package request

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	holdschema "hangar.io/holdshort/cel/schema"
)

// Form is what a document turned out to be.
type Form string

const (
	// FormReview is an AdmissionReview of admission.k8s.io/v1.
	FormReview Form = "AdmissionReview"
	// FormEvent is an Event of audit.k8s.io/v1.
	FormEvent Form = "Event"
	// FormManifest is any other object: the request is the one that Options describe.
	FormManifest Form = "manifest"
)

// Options say what a document cannot. Only Resources and Old concern reviews and events.
type Options struct {
	// Resources tells kinds and scopes; nil is the newest version's, without custom resources.
	Resources *holdschema.Table
	// Old is the object before the request, for UPDATE; an event does not hold it either.
	Old *manifest.Document

	// User sends a manifest.
	User user.DefaultInfo
	// Operation is, if empty, what the endpoint is there for: CONNECT for pods/exec and its
	// like, UPDATE with Old and for other subresources that can be updated, else CREATE.
	Operation admission.Operation
	// Subresource that the manifest is sent to.
	Subresource string
	// Resource, as "deployments" or "deployments.apps", is the resource of a manifest whose
	// kind several have, such as Scale; empty elsewhere.
	Resource string
	// Namespace is that of namespaced manifests without one; empty is "default".
	Namespace string
	// NamespaceLabels, unless nil, describe the request's namespace.
	NamespaceLabels map[string]string
	// Options is the CreateOptions, UpdateOptions or DeleteOptions of the request or, on
	// CONNECT, the PodExecOptions or its like, without which the request is undecided.
	Options *manifest.Document
	DryRun  bool
	// Collection: a DELETE is part of a delete of a collection.
	Collection bool
}

// Decoded is a document as a request.
type Decoded struct {
	Form     Form
	Document manifest.Document
	Request  harness.Request
	// Skipped, unless empty, says why an event is not a request that admission sees; then
	// Request is empty.
	Skipped string
	// Completed: Request is what the server's admission saw. Otherwise it is what a client
	// sent, and harness.Complete has to come before harness.Prepare.
	Completed bool
	// Namespace is the request's namespace, if Options describe it.
	Namespace *corev1.Namespace
	// ID is the review's uid or the event's auditID.
	ID string
	// Recorded is the answer that an event holds, nil if there is none.
	Recorded *metav1.Status
	// Note is a remark about what the request may lack, for the user.
	Note string
}

// UndecidedError is a request that cannot be judged because something is not known. Need is the
// harness's Gap.Need: "kind", "conversion", "object", "oldObject" or "options".
type UndecidedError struct {
	Cause *manifest.Error
	Need  string
}

func (e *UndecidedError) Error() string { return e.Cause.Error() }
func (e *UndecidedError) Unwrap() error { return e.Cause }

func undecided(need string, cause *manifest.Error) error {
	return &UndecidedError{Cause: cause, Need: need}
}

// Decode turns a document into a request.
func Decode(doc manifest.Document, o Options) (Decoded, error) {
	if o.Resources == nil {
		o.Resources = holdschema.BuiltIn(holdschema.Newest)
	}
	d := Decoded{Document: doc}
	var err error
	switch gvk := doc.GroupVersionKind(); {
	case gvk.Group == "admission.k8s.io" && gvk.Kind == "AdmissionReview":
		d.Form, d.Completed = FormReview, true
		err = d.review(o)
	case gvk.Group == "audit.k8s.io" && gvk.Kind == "Event":
		d.Form = FormEvent
		err = d.event(o)
	default:
		d.Form = FormManifest
		err = d.manifest(o)
	}
	if err != nil {
		return d, err
	}
	if o.NamespaceLabels != nil && d.Request.Namespace != "" {
		d.Namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: d.Request.Namespace, Labels: map[string]string{corev1.LabelMetadataName: d.Request.Namespace}}}
		maps.Copy(d.Namespace.Labels, o.NamespaceLabels)
	}
	return d, nil
}

// errorf is an error about a field of the document.
func (d *Decoded) errorf(path []string, format string, args ...any) *manifest.Error {
	return d.Document.Errorf(path, format, args...)
}

// object is the object at a path of the document, nil if it is absent or null.
func (d *Decoded) object(path ...string) (map[string]any, error) {
	var v any = d.Document.Object
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	}
	return nil, d.errorf(path, "expected an object")
}

// kindOf is the type that an object says it has.
func kindOf(object map[string]any) schema.GroupVersionKind {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// metadataOf is a text in an object's metadata.
func metadataOf(object map[string]any, key string) string {
	m, _ := object["metadata"].(map[string]any)
	s, _ := m[key].(string)
	return s
}

// withMetadata is a copy of object with a field of its metadata set or, for nil, removed. What is
// not on the way is shared.
func withMetadata(object map[string]any, key string, value any) map[string]any {
	object = maps.Clone(object)
	m, _ := object["metadata"].(map[string]any)
	if m = maps.Clone(m); m == nil {
		m = map[string]any{}
	}
	if value == nil {
		delete(m, key)
	} else {
		m[key] = value
	}
	object["metadata"] = m
	return object
}

// endpointName is "pods/exec" or "deployments.apps" for messages.
func endpointName(r schema.GroupVersionResource, subresource string) string {
	name := r.Resource
	if subresource != "" {
		name += "/" + subresource
	}
	if r.Group != "" {
		name += fmt.Sprintf(" of %s", r.Group)
	}
	return name
}
