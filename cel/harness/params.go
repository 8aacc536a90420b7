package harness

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// params are the objects that bindings may refer to, by kind, in the form the API server holds
// them: typed for built-in kinds, whose informers client-go has, unstructured for others
// (apiserver pkg/admission/plugin/policy/generic/policy_source.go, ensureParamsForPolicyLocked).
type params struct {
	cluster   Cluster
	namespace string     // of the request
	mu        sync.Mutex // guards stores
	stores    map[schema.GroupVersionKind]*paramStore
}

// paramStore is an informer that has synced.
type paramStore struct {
	cache.SharedIndexInformer // never called but for HasSynced
	resource                  schema.GroupResource
	namespaced                bool
	objects                   []runtime.Object // sorted by namespace and name
}

// missing says what must be supplied before the params of a binding can be looked up; empty if
// nothing.
func (p *params) missing(def *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) string {
	if def.Spec.ParamKind == nil || b.Spec.ParamRef == nil {
		return ""
	}
	kind := paramGVK(def)
	if p.cluster.Params == nil {
		return fmt.Sprintf("the binding takes its params from %s objects, and none were given; give them with --params or say that there are none", kind.Kind)
	}
	if _, err := p.store(kind); err != nil {
		return err.Error()
	}
	return ""
}

func paramGVK(def *admissionv1.ValidatingAdmissionPolicy) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(def.Spec.ParamKind.APIVersion, def.Spec.ParamKind.Kind)
}

// hook returns h with the params of its policy's kind.
func (p *params) hook(h validating.PolicyHook) validating.PolicyHook {
	if h.Policy.Spec.ParamKind == nil {
		return h
	}
	s, err := p.store(paramGVK(h.Policy))
	if err != nil {
		return h // no binding that needs them gets past missing
	}
	h.ParamInformer, h.ParamScope = s, meta.RESTScopeRoot
	if s.namespaced {
		h.ParamScope = meta.RESTScopeNamespace
	}
	return h
}

// collect looks up the params of a binding once more, for the error that the dispatcher met.
func (p *params) collect(c *call) error {
	h := p.hook(validating.PolicyHook{Policy: c.policy.def})
	_, err := generic.CollectParams(h.Policy.Spec.ParamKind, h.ParamInformer, h.ParamScope, c.binding.Spec.ParamRef,
		p.namespace, nil, nil)
	return err
}

func (p *params) store(kind schema.GroupVersionKind) (*paramStore, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.stores[kind]; s != nil {
		return s, nil
	}
	s := &paramStore{}
	known := false
	if r, ok := p.cluster.resources().ForKind(kind); ok {
		s.resource, s.namespaced, known = r.GVR.GroupResource(), r.Namespaced, true
	}
	for _, u := range p.cluster.Params {
		if u.GroupVersionKind() != kind {
			continue
		}
		if !known {
			s.resource.Group, s.namespaced, known = kind.Group, u.GetNamespace() != "", true
		}
		object, err := typed(kind, u.Object)
		if err != nil {
			return nil, fmt.Errorf("param %s %q: %w", kind.Kind, u.GetName(), err)
		}
		s.objects = append(s.objects, withoutTypeMeta(object))
	}
	if !known {
		return nil, fmt.Errorf("the kind of its params, %s, is not known; give its CustomResourceDefinition", kind)
	}
	slices.SortFunc(s.objects, func(a, b runtime.Object) int { return strings.Compare(objectKey(a), objectKey(b)) })
	if p.stores == nil {
		p.stores = map[schema.GroupVersionKind]*paramStore{}
	}
	p.stores[kind] = s
	return s, nil
}

// withoutTypeMeta does to a built-in object what a typed informer does: its kind is not set, and
// the dispatcher adds it.
func withoutTypeMeta(o runtime.Object) runtime.Object {
	if _, ok := o.(runtime.Unstructured); !ok {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return o
}

func objectKey(o runtime.Object) string {
	m, err := meta.Accessor(o)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/")
}

// paramName tells which object a param is. The dispatcher hides built-in ones in a wrapper whose
// content can only be had as a map (validating.wrappedParam).
func paramName(o runtime.Object) string {
	if o == nil {
		return ""
	}
	if key := objectKey(o); key != "" {
		return key
	}
	w, ok := o.(interface{ ToUnstructured() any })
	if !ok {
		return ""
	}
	content, _ := w.ToUnstructured().(map[string]any)
	metadata, _ := content["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return strings.TrimPrefix(namespace+"/"+name, "/")
}

var (
	_ informers.GenericInformer    = &paramStore{}
	_ cache.GenericLister          = &paramStore{}
	_ cache.GenericNamespaceLister = paramNamespace{}
)

func (s *paramStore) Informer() cache.SharedIndexInformer { return s }
func (s *paramStore) HasSynced() bool                     { return true }
func (s *paramStore) Lister() cache.GenericLister         { return s }

func (s *paramStore) List(selector labels.Selector) ([]runtime.Object, error) {
	return s.list("", false, selector)
}

func (s *paramStore) Get(name string) (runtime.Object, error) { return s.get(name) }

func (s *paramStore) ByNamespace(namespace string) cache.GenericNamespaceLister {
	return paramNamespace{s, namespace}
}

func (s *paramStore) list(namespace string, one bool, selector labels.Selector) ([]runtime.Object, error) {
	var found []runtime.Object
	for _, o := range s.objects {
		m, err := meta.Accessor(o)
		if err != nil {
			return nil, err
		}
		if (!one || m.GetNamespace() == namespace) && selector.Matches(labels.Set(m.GetLabels())) {
			found = append(found, o)
		}
	}
	return found, nil
}

func (s *paramStore) get(key string) (runtime.Object, error) {
	for _, o := range s.objects {
		if objectKey(o) == key {
			return o, nil
		}
	}
	return nil, apierrors.NewNotFound(s.resource, key[strings.LastIndex(key, "/")+1:])
}

type paramNamespace struct {
	store     *paramStore
	namespace string
}

func (n paramNamespace) List(selector labels.Selector) ([]runtime.Object, error) {
	return n.store.list(n.namespace, true, selector)
}

func (n paramNamespace) Get(name string) (runtime.Object, error) {
	return n.store.get(n.namespace + "/" + name)
}
