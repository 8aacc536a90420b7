package harness

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/scheme"
)

var _ admission.ObjectInterfaces = &Prepared{}

// Prepared gives the dispatcher what it needs to match through equivalent versions: the resource
// table, and conversion between versions that have the same shape or come with the request. Other
// conversions exist only inside the API server (k8s.io/kubernetes pkg/apis).

func (p *Prepared) GetObjectCreater() runtime.ObjectCreater     { return creater{} }
func (p *Prepared) GetObjectTyper() runtime.ObjectTyper         { return scheme.Scheme }
func (p *Prepared) GetObjectDefaulter() runtime.ObjectDefaulter { return scheme.Scheme }
func (p *Prepared) GetObjectConvertor() runtime.ObjectConvertor { return convertor{nil, p} }
func (p *Prepared) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return equivalents{p}
}

// converts reports whether the request's objects can be had as kind. A recorded request may hold
// them in another version only.
func (p *Prepared) converts(kind schema.GroupVersionKind) bool {
	if kind == p.request.Kind {
		return p.object != nil || p.oldObject != nil || len(p.converted) == 0
	}
	_, given := p.converted[kind]
	return given || p.resources.SameShape(p.request.Kind, kind)
}

type equivalents struct{ p *Prepared }

func (e equivalents) EquivalentResourcesFor(gvr schema.GroupVersionResource, subresource string) []schema.GroupVersionResource {
	return e.p.resources.Equivalents(gvr, subresource)
}

func (e equivalents) KindFor(gvr schema.GroupVersionResource, subresource string) schema.GroupVersionKind {
	r, _ := e.p.resources.Lookup(gvr, subresource)
	return r.Kind
}

// creater makes empty objects of any kind, as a server does that serves it.
type creater struct{}

func (creater) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return typed(kind, map[string]any{})
}

// convertor implements the one method that admission.ConvertToGVK calls.
type convertor struct {
	runtime.ObjectConvertor
	p *Prepared
}

func (c convertor) Convert(in, out, _ any) error {
	from, to := in.(runtime.Object), out.(runtime.Object)
	kind := to.GetObjectKind().GroupVersionKind()
	if forms, ok := c.p.converted[kind]; ok {
		from = forms[0]
		if in == c.p.oldObject {
			from = forms[1]
		}
	} else if !c.p.resources.SameShape(from.GetObjectKind().GroupVersionKind(), kind) {
		return fmt.Errorf("converting %s to %s needs the API server", from.GetObjectKind().GroupVersionKind(), kind)
	}
	if from == nil {
		return fmt.Errorf("the request does not carry the object as %s", kind)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	if err != nil {
		return err
	}
	if u, ok := to.(runtime.Unstructured); ok {
		u.SetUnstructuredContent(content)
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, to)
}
