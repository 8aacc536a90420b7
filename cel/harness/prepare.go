package harness

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/client-go/kubernetes/scheme"
	corelisters "k8s.io/client-go/listers/core/v1"

	holdschema "hangar.io/holdshort/cel/schema"
)

// Prepared is a request decoded for the evaluator, ready to be judged by any number of sets. It is
// immutable and safe for concurrent use.
type Prepared struct {
	request                    Request
	object, oldObject, options runtime.Object
	converted                  map[schema.GroupVersionKind][2]runtime.Object // object, old object
	allow                      []Permission
	params                     *params
	resources                  *holdschema.Table
	knownResource              bool
	excluded                   bool
	unknownNamespace           bool
	namespaces                 namespaceLister
	matching                   *matching.Matcher
}

// Prepare decodes r as the API server would: built-in kinds to their Go types, others to
// unstructured objects. A value that does not fit its field is an error that names the field.
func Prepare(r Request, c Cluster) (*Prepared, error) {
	p := &Prepared{request: r, allow: c.Allow, params: &params{cluster: c, namespace: r.Namespace}, resources: c.resources()}
	var err error
	decode := func(what string, kind schema.GroupVersionKind, content map[string]any) runtime.Object {
		if content == nil || err != nil {
			return nil
		}
		o, decodeErr := typed(kind, content)
		if decodeErr != nil {
			err = fmt.Errorf("%s: %w", what, decodeErr)
			return nil
		}
		return o
	}
	p.object = decode("object", r.Kind, r.Object)
	p.oldObject = decode("oldObject", r.Kind, r.OldObject)
	if r.Options != nil {
		p.options = decode("options", optionsKind(r), r.Options)
	}
	for kind, forms := range r.Converted {
		if p.converted == nil {
			p.converted = map[schema.GroupVersionKind][2]runtime.Object{}
		}
		p.converted[kind] = [2]runtime.Object{
			decode("object as "+kind.String(), kind, forms.Object),
			decode("oldObject as "+kind.String(), kind, forms.OldObject),
		}
	}
	if err != nil {
		return nil, err
	}
	_, p.knownResource = p.resources.Lookup(r.Resource, r.Subresource)
	p.excluded = excludedResources[r.Resource.GroupResource()]
	p.describeNamespace(c)
	p.matching = matching.NewMatcher(p.namespaces, nil)
	return p, nil
}

func (c Cluster) resources() *holdschema.Table {
	if c.Resources != nil {
		return c.Resources
	}
	return holdschema.BuiltIn(holdschema.Newest)
}

// excludedResources are those that no stored policy sees: reviews, whose interception may break a
// cluster (kubernetes pkg/kubeapiserver/admission/exclusion/resources.go), and the policies
// themselves (apiserver pkg/admission/plugin/policy/generic/plugin.go).
var excludedResources = func() map[schema.GroupResource]bool {
	m := map[schema.GroupResource]bool{}
	for group, resources := range map[string][]string{
		"authentication.k8s.io": {"selfsubjectreviews", "tokenreviews"},
		"authorization.k8s.io":  {"localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"},
		"admissionregistration.k8s.io": {"validatingadmissionpolicies", "validatingadmissionpolicybindings",
			"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"},
	} {
		for _, r := range resources {
			m[schema.GroupResource{Group: group, Resource: r}] = true
		}
	}
	return m
}()

func optionsKind(r Request) schema.GroupVersionKind {
	apiVersion, _ := r.Options["apiVersion"].(string)
	kind, _ := r.Options["kind"].(string)
	if kind == "" {
		kind = map[admission.Operation]string{admission.Create: "CreateOptions", admission.Update: "UpdateOptions", admission.Delete: "DeleteOptions"}[r.Operation]
	}
	if apiVersion == "" {
		apiVersion = "meta.k8s.io/v1"
	}
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// typed decodes content to the Go type of kind, or to an unstructured object if there is none. The
// result always has kind and apiVersion set, as objects have after the server's conversion.
func typed(kind schema.GroupVersionKind, content map[string]any) (runtime.Object, error) {
	o, err := newObject(kind)
	if err != nil {
		u := &unstructured.Unstructured{Object: maps.Clone(content)}
		u.SetGroupVersionKind(kind)
		return u, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, o); err != nil {
		return nil, fmt.Errorf("is not a valid %s: %w", kind.Kind, err)
	}
	o.GetObjectKind().SetGroupVersionKind(kind)
	return o, nil
}

func newObject(kind schema.GroupVersionKind) (runtime.Object, error) {
	switch {
	case kind.Group == "meta.k8s.io" && kind.Kind == "CreateOptions":
		return &metav1.CreateOptions{}, nil
	case kind.Group == "meta.k8s.io" && kind.Kind == "UpdateOptions":
		return &metav1.UpdateOptions{}, nil
	case kind.Group == "meta.k8s.io" && kind.Kind == "DeleteOptions":
		return &metav1.DeleteOptions{}, nil
	}
	return scheme.Scheme.New(kind)
}

// describeNamespace collects what is known of the request's namespace.
func (p *Prepared) describeNamespace(c Cluster) {
	p.namespaces = namespaceLister{}
	name := p.request.Namespace
	if name == "" {
		return
	}
	ns := c.Namespaces[name]
	if ns == nil && p.request.Resource == namespaceResource {
		if old, ok := p.oldObject.(*corev1.Namespace); ok {
			ns = old
		}
	}
	p.unknownNamespace = ns == nil && p.request.Resource != namespaceResource
	if ns == nil {
		ns = &corev1.Namespace{}
	}
	p.namespaces[name] = CompleteNamespace(name, ns)
}

var namespaceResource = corev1.SchemeGroupVersion.WithResource("namespaces")

// CompleteNamespace returns a copy of ns with what a live namespace always has: its name, the label
// kubernetes.io/metadata.name (kubernetes pkg/apis/core/v1/defaults.go, SetDefaults_Namespace),
// the finalizer and the phase (kubernetes pkg/registry/core/namespace/strategy.go).
func CompleteNamespace(name string, ns *corev1.Namespace) *corev1.Namespace {
	ns = ns.DeepCopy()
	ns.Name = name
	ns.Labels = maps.Clone(ns.Labels)
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	if ns.Labels[corev1.LabelMetadataName] == "" {
		ns.Labels[corev1.LabelMetadataName] = name
	}
	if len(ns.Spec.Finalizers) == 0 {
		ns.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	}
	if ns.Status.Phase == "" {
		ns.Status.Phase = corev1.NamespaceActive
	}
	return ns
}

// namespaceLister lists the one namespace that a request is about.
type namespaceLister map[string]*corev1.Namespace

var _ corelisters.NamespaceLister = namespaceLister{}

func (l namespaceLister) List(selector labels.Selector) ([]*corev1.Namespace, error) {
	var all []*corev1.Namespace
	for _, ns := range l {
		if selector.Matches(labels.Set(ns.Labels)) {
			all = append(all, ns)
		}
	}
	return all, nil
}

// Get never reports that a namespace does not exist: the server has already refused such requests
// (its NamespaceLifecycle plugin runs first).
func (l namespaceLister) Get(name string) (*corev1.Namespace, error) {
	if ns := l[name]; ns != nil {
		return ns, nil
	}
	return CompleteNamespace(name, &corev1.Namespace{}), nil
}

// attributes are the server's record of the request, for one evaluation.
type attributes struct {
	admission.Attributes
	annotations map[string]string
}

func (p *Prepared) attributes() *attributes {
	r := &p.request
	return &attributes{Attributes: admission.NewAttributesRecord(p.object, p.oldObject, r.Kind, r.Namespace, r.Name,
		r.Resource, r.Subresource, r.Operation, p.options, r.DryRun, &r.User)}
}

// AddAnnotation keeps what the server writes to its audit log.
func (a *attributes) AddAnnotation(key, value string) error {
	err := a.Attributes.AddAnnotation(key, value)
	if err == nil {
		if a.annotations == nil {
			a.annotations = map[string]string{}
		}
		a.annotations[key] = value
	}
	return err
}
