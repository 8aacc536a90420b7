package request

import (
	"maps"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
)

// review takes an AdmissionReview as it is.
func (d *Decoded) review(o Options) error {
	if v := d.Document.GroupVersionKind().Version; v != "v1" {
		return d.errorf([]string{"apiVersion"}, "expected admission.k8s.io/v1, found %s", d.Document.APIVersion()).
			WithHint("the fields of v1beta1 are the same: change the version")
	}
	if _, ok := d.Document.Object["request"].(map[string]any); !ok {
		return d.errorf([]string{"request"}, "expected the request of the AdmissionReview").
			WithHint("a review that holds a response only cannot be evaluated")
	}
	typed, err := manifest.Strict[admissionv1.AdmissionReview](d.envelope("request"))
	if err != nil {
		return err
	}
	in := typed.Request
	object, err := d.object("request", "object")
	if err != nil {
		return err
	}
	oldObject, err := d.object("request", "oldObject")
	if err != nil {
		return err
	}
	options, err := d.object("request", "options")
	if err != nil {
		return err
	}
	if err := d.checkReview(in, object, oldObject); err != nil {
		return err
	}
	d.ID = string(in.UID)
	r := harness.Request{
		Operation:   admission.Operation(in.Operation),
		Resource:    schema.GroupVersionResource(in.Resource),
		Subresource: in.SubResource,
		Kind:        schema.GroupVersionKind(in.Kind),
		Namespace:   in.Namespace,
		Name:        in.Name,
		Object:      object,
		OldObject:   oldObject,
		Options:     options,
		User:        User(in.UserInfo),
		DryRun:      in.DryRun != nil && *in.DryRun,
		Collection:  in.Operation == admissionv1.Delete && in.Name == "",
	}
	if r.Name == "" && r.Operation == admission.Create {
		// Validating policies see a generated name (apiserver pkg/registry/rest/create.go,
		// AdmissionToValidateObjectFunc); mutating webhooks, which may have recorded this, do not.
		r.Name = metadataOf(object, "name")
	}
	d.Request = r
	return d.unconvert(o, in)
}

// envelope is the document without the objects that it carries below path: those are dynamic and
// must keep their numbers.
func (d *Decoded) envelope(path ...string) manifest.Document {
	doc := d.Document
	doc.Object = maps.Clone(doc.Object)
	inner := doc.Object
	for _, key := range path {
		m, _ := inner[key].(map[string]any)
		m = maps.Clone(m)
		inner[key] = m
		inner = m
	}
	for _, key := range []string{"object", "oldObject", "options", "requestObject", "responseObject"} {
		if _, ok := inner[key].(map[string]any); ok {
			delete(inner, key)
		}
	}
	return doc
}

func (d *Decoded) checkReview(in *admissionv1.AdmissionRequest, object, oldObject map[string]any) error {
	at := func(fields ...string) []string { return append([]string{"request"}, fields...) }
	if in.Resource.Resource == "" {
		return d.errorf(at("resource", "resource"), "expected the plural name of a resource, such as pods")
	}
	if in.Resource.Version == "" {
		return d.errorf(at("resource", "version"), "expected the version of the resource, such as v1")
	}
	if in.Kind.Kind == "" || in.Kind.Version == "" {
		return d.errorf(at("kind"), "expected kind and version of the object")
	}
	switch in.Operation {
	case admissionv1.Create, admissionv1.Update:
		if object == nil {
			return d.errorf(at("object"), "expected the object: the operation is %s", in.Operation)
		}
		if in.Operation == admissionv1.Update && oldObject == nil {
			return d.errorf(at("oldObject"), "expected the object before the update")
		}
	case admissionv1.Delete:
		if oldObject == nil {
			return d.errorf(at("oldObject"), "expected the object that is deleted")
		}
	case admissionv1.Connect:
	default:
		return d.errorf(at("operation"), "expected CREATE, UPDATE, DELETE or CONNECT, found %q", in.Operation)
	}
	return nil
}

// unconvert finds the request that the client sent behind one that the server converted for its
// webhook: a webhook with matchPolicy Equivalent is shown objects in the version of its rules.
func (d *Decoded) unconvert(o Options, in *admissionv1.AdmissionRequest) error {
	r := &d.Request
	if in.RequestResource != nil {
		r.Resource = schema.GroupVersionResource(*in.RequestResource)
	}
	if in.RequestSubResource != "" {
		r.Subresource = in.RequestSubResource
	}
	if in.RequestKind == nil || *in.RequestKind == in.Kind {
		return nil
	}
	shown := r.Kind
	r.Kind = schema.GroupVersionKind(*in.RequestKind)
	r.Converted = map[schema.GroupVersionKind]harness.Converted{shown: {Object: r.Object, OldObject: r.OldObject}}
	if o.Resources.SameShape(r.Kind, shown) {
		r.Object, r.OldObject = withKind(r.Object, r.Kind), withKind(r.OldObject, r.Kind)
		return nil
	}
	r.Object, r.OldObject = nil, nil
	return undecided("conversion", d.errorf([]string{"request", "requestKind"},
		"the client sent %s, the review holds the object as %s", kindText(*in.RequestKind), kindText(in.Kind)).
		WithHint("record the review with a webhook whose rules name %s, or use matchPolicy Exact", r.Resource.GroupVersion()))
}

func kindText(k metav1.GroupVersionKind) string {
	return strings.TrimPrefix(k.Group+"/", "/") + k.Version + " " + k.Kind
}

func withKind(object map[string]any, kind schema.GroupVersionKind) map[string]any {
	if object == nil {
		return nil
	}
	object = maps.Clone(object)
	object["apiVersion"], object["kind"] = kind.GroupVersion().String(), kind.Kind
	return object
}

// User is a user as reviews and events write it.
func User(u authenticationv1.UserInfo) user.DefaultInfo {
	info := user.DefaultInfo{Name: u.Username, UID: u.UID, Groups: u.Groups}
	if u.Extra != nil {
		info.Extra = make(map[string][]string, len(u.Extra))
		for k, v := range u.Extra {
			info.Extra[k] = v
		}
	}
	return info
}
