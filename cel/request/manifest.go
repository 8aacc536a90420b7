package request

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	holdschema "hangar.io/holdshort/cel/schema"
)

// manifest makes the request that sends a plain manifest as the options say.
func (d *Decoded) manifest(o Options) error {
	if d.Document.Kind() == "" || d.Document.APIVersion() == "" {
		return d.errorf(nil, "expected a Kubernetes object with apiVersion and kind, an AdmissionReview or an audit Event")
	}
	if err := d.Document.CheckMetadata(); err != nil {
		return err
	}
	endpoint, err := d.endpoint(o)
	if err != nil {
		return err
	}
	r := &d.Request
	*r = harness.Request{
		Operation:   o.Operation,
		Resource:    endpoint.GVR,
		Subresource: endpoint.Subresource,
		Kind:        endpoint.Kind,
		User:        o.User,
		DryRun:      o.DryRun,
		Collection:  o.Collection,
	}
	if r.Operation == "" {
		r.Operation = usualOperation(endpoint, o.Old != nil)
	}
	object := d.place(o, endpoint)
	switch r.Operation {
	case admission.Create, admission.Update, admission.Delete:
		if connects(endpoint) {
			return d.errorf(nil, "%s takes CONNECT only, found %s", endpointName(r.Resource, r.Subresource), r.Operation)
		}
	case admission.Connect:
		if !connects(endpoint) {
			return d.errorf(nil, "%s takes no CONNECT", endpointName(r.Resource, r.Subresource)).
				WithHint("name one of the subresources exec, attach, portforward and proxy")
		}
		if o.Old != nil {
			return d.errorf(nil, "%s takes CONNECT, which has no object before it", endpointName(r.Resource, r.Subresource)).
				WithHint("leave out --old")
		}
		return d.connection(o, endpoint)
	default:
		return d.errorf(nil, "expected the operation CREATE, UPDATE, DELETE or CONNECT, found %q", r.Operation)
	}
	if object, err = d.subject(object, endpoint); err != nil {
		return err
	}
	switch r.Operation {
	case admission.Create:
		r.Object = object
	case admission.Update:
		r.Object = object
		if err := d.before(o, endpoint); err != nil {
			return err
		}
	case admission.Delete:
		r.OldObject = object
	}
	return d.sentOptions(o)
}

// usualOperation is what an endpoint is there for. Only an update has an object before it.
func usualOperation(r holdschema.Resource, hasOld bool) admission.Operation {
	switch {
	case connects(r):
		return admission.Connect
	case hasOld:
		return admission.Update
	case r.Subresource != "" && r.Serves("update"):
		return admission.Update
	}
	return admission.Create
}

// endpoint finds what a manifest is sent to. The manifest is either of the kind that the endpoint
// takes, or the object that a subresource belongs to: a Pod for pods/exec.
func (d *Decoded) endpoint(o Options) (holdschema.Resource, error) {
	gvk, t := d.Document.GroupVersionKind(), o.Resources
	if o.Resource != "" {
		main, ok := t.ForResource(o.Resource)
		if !ok {
			return main, undecided("kind", d.errorf(nil, "%s is not a known resource", o.Resource).WithHint("give its CustomResourceDefinition"))
		}
		if same := main.GVR.GroupResource().WithVersion(gvk.Version); gvk.Group == same.Group {
			if r, ok := t.Lookup(same, ""); ok && r.Kind == gvk {
				main = r
			}
		}
		return d.subresource(t, main, o.Subresource)
	}
	var takers []holdschema.Resource
	for _, r := range t.Resources() {
		if r.Kind == gvk && r.Subresource == o.Subresource {
			takers = append(takers, r)
		}
	}
	switch {
	case len(takers) == 1:
		return takers[0], nil
	case len(takers) > 1:
		return holdschema.Resource{}, d.errorf([]string{"kind"}, "%s belongs to several resources: %s", gvk.Kind, names(takers)).WithHint("name one of them with --resource")
	}
	main, ok := t.ForKind(gvk)
	switch {
	case !ok && hasKind(t, gvk):
		return main, d.errorf([]string{"kind"}, "%s is taken by subresources only", kindName(gvk)).WithHint("name the resource with --resource and --subresource")
	case !ok:
		return main, undecided("kind", d.errorf([]string{"kind"}, "%s is not a known kind", kindName(gvk)).
			WithHint("give its CustomResourceDefinition, or check the spelling of apiVersion and kind"))
	case main.Subresource != "" && o.Subresource == "":
		return main, nil
	}
	return d.subresource(t, main, o.Subresource)
}

func (d *Decoded) subresource(t *holdschema.Table, main holdschema.Resource, name string) (holdschema.Resource, error) {
	r, ok := t.Lookup(main.GVR, name)
	if ok {
		return r, nil
	}
	var has []string
	for _, r := range t.Resources() {
		if r.GVR == main.GVR && r.Subresource != "" {
			has = append(has, r.Subresource)
		}
	}
	slices.Sort(has)
	err := d.errorf(nil, "%s has no subresource %q", main.GVR.Resource, name)
	if len(has) > 0 {
		err = err.WithHint("it has %s", strings.Join(has, ", "))
	}
	return r, err
}

func hasKind(t *holdschema.Table, gvk schema.GroupVersionKind) bool {
	return slices.ContainsFunc(t.Resources(), func(r holdschema.Resource) bool { return r.Kind == gvk })
}

func names(resources []holdschema.Resource) string {
	var list []string
	for _, r := range resources {
		list = append(list, r.GVR.GroupResource().String())
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", ")
}

func kindName(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + " " + gvk.Kind
}

func objectName(namespace, name string) string {
	return strings.TrimPrefix(namespace+"/", "/") + name
}

// place sets the request's namespace and name, and returns the manifest with the namespace that
// kubectl would send it to. The server drops that of a cluster-scoped object
// (apiserver pkg/registry/rest/meta.go, EnsureObjectNamespaceMatchesRequestNamespace).
func (d *Decoded) place(o Options, endpoint holdschema.Resource) map[string]any {
	object, r := d.Document.Object, &d.Request
	if !o.Collection {
		r.Name = d.Document.Name()
	}
	switch given := d.Document.Namespace(); {
	case endpoint.GVR == namespaces:
		r.Namespace = d.Document.Name()
	case !endpoint.Namespaced:
		if given != "" {
			object = withMetadata(object, "namespace", nil)
		}
	case given != "":
		r.Namespace = given
	default:
		r.Namespace = o.Namespace
		if r.Namespace == "" {
			r.Namespace = metav1.NamespaceDefault
		}
		object = withMetadata(object, "namespace", r.Namespace)
	}
	return object
}

// subject is the object of a request that is no connection.
func (d *Decoded) subject(object map[string]any, endpoint holdschema.Resource) (map[string]any, error) {
	r := &d.Request
	path := []string{"metadata", "name"}
	if m := metadataOf(object, "name"); m == "" && (metadataOf(object, "generateName") == "" || r.Operation != admission.Create) {
		return nil, d.errorf(path, "expected a name for the %s", d.Document.Kind())
	}
	if d.Document.GroupVersionKind() == endpoint.Kind {
		return object, nil
	}
	if endpoint.Kind.Kind == "Eviction" {
		// What kubectl drain sends.
		return withMetadata(withMetadata(withKind(map[string]any{}, endpoint.Kind), "name", r.Name), "namespace", r.Namespace), nil
	}
	return nil, d.errorf([]string{"kind"}, "%s takes %s, found %s", endpointName(r.Resource, r.Subresource), kindName(endpoint.Kind), kindName(d.Document.GroupVersionKind())).
		WithHint("give a manifest of that kind and name the resource with --resource")
}

// before sets the object before an update.
func (d *Decoded) before(o Options, endpoint holdschema.Resource) error {
	r := &d.Request
	if o.Old == nil {
		return d.errorf(nil, "an UPDATE needs the %s as it was before", endpoint.Kind.Kind).WithHint("give it with --old FILE")
	}
	if kind := o.Old.GroupVersionKind(); kind != endpoint.Kind {
		return o.Old.Errorf([]string{"kind"}, "expected the %s before the update, found %s", kindName(endpoint.Kind), kindName(kind))
	}
	r.OldObject = o.Old.Object
	namespace := r.Namespace
	if endpoint.GVR == namespaces {
		namespace = ""
	}
	switch old := o.Old.Namespace(); {
	case !endpoint.Namespaced && old != "":
		r.OldObject = withMetadata(r.OldObject, "namespace", nil)
	case endpoint.Namespaced && old == "":
		r.OldObject = withMetadata(r.OldObject, "namespace", namespace)
	case endpoint.Namespaced && old != namespace:
		return o.Old.Errorf([]string{"metadata", "namespace"}, "expected the namespace of the updated object, %s, found %s", namespace, old)
	}
	if o.Old.Name() != r.Name {
		return o.Old.Errorf([]string{"metadata", "name"}, "expected the name of the updated object, %s, found %q", r.Name, o.Old.Name())
	}
	return nil
}

// connection makes a CONNECT: the manifest is the options themselves, or the object to connect to
// with the options in their own document. The options are what policies judge, so that none are
// made up where they are not given.
func (d *Decoded) connection(o Options, endpoint holdschema.Resource) error {
	r := &d.Request
	var content map[string]any
	switch {
	case d.Document.GroupVersionKind() == endpoint.Kind:
		if r.Name == "" {
			return d.errorf([]string{"metadata", "name"}, "expected the name of what to connect to").
				WithHint("give the manifest of the object, and the %s with --options FILE", endpoint.Kind.Kind)
		}
		content = maps.Clone(d.Document.Object)
		delete(content, "metadata") // these kinds have none: it names the target
	case r.Name == "":
		return d.errorf([]string{"metadata", "name"}, "expected a name for the %s", d.Document.Kind())
	case o.Options != nil:
		if err := optionsKind(*o.Options, endpoint.Kind); err != nil {
			return err
		}
		content = o.Options.Object
	default:
		return undecided("options", d.errorf(nil, "policies judge the %s of a CONNECT to %s, which are not given", endpoint.Kind.Kind, endpointName(r.Resource, r.Subresource)).
			WithHint("give them with --options FILE; {} in it stands for none"))
	}
	r.Object = withKind(content, endpoint.Kind)
	return nil
}

// sentOptions sets the options of a request that is no connection.
func (d *Decoded) sentOptions(o Options) error {
	if o.Options == nil {
		return nil
	}
	kind := metav1.SchemeGroupVersion.WithKind(map[admission.Operation]string{
		admission.Create: "CreateOptions", admission.Update: "UpdateOptions", admission.Delete: "DeleteOptions"}[d.Request.Operation])
	if err := optionsKind(*o.Options, kind); err != nil {
		return err
	}
	d.Request.Options = withKind(o.Options.Object, kind)
	if list, _ := d.Request.Options["dryRun"].([]any); len(list) > 0 {
		d.Request.DryRun = true
	}
	return nil
}

// optionsKind checks the type of an options document, which may leave it out.
func optionsKind(doc manifest.Document, want schema.GroupVersionKind) error {
	if doc.Kind() != "" && doc.Kind() != want.Kind {
		return doc.Errorf([]string{"kind"}, "expected %s, found %s", want.Kind, doc.Kind())
	}
	return nil
}
