package schema

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// promise is what the server promises of a value beyond its type: that defaulting fills it, or that
// validation refuses objects without it. A nil promise promises nothing.
type promise struct {
	present  bool // and not null
	nonEmpty bool
	text     Text
	// fields of the struct, or of the structs that a list or a map holds, or keys of a map.
	fields map[string]*promise
}

// of is what is promised of a field.
func (p *promise) of(name string) *promise {
	if p == nil {
		return nil
	}
	return p.fields[name]
}

// below is p without what it says of the value itself: nil if that is all.
func (p *promise) below() *promise {
	if p == nil || len(p.fields) == 0 {
		return nil
	}
	return p
}

// and promises what either does.
func (p *promise) and(q *promise) *promise {
	switch {
	case p == nil:
		return q
	case q == nil:
		return p
	}
	both := &promise{
		present: p.present || q.present, nonEmpty: p.nonEmpty || q.nonEmpty, text: max(p.text, q.text),
		fields: maps.Clone(p.fields),
	}
	if both.fields == nil {
		both.fields = map[string]*promise{}
	}
	for name, f := range q.fields {
		both.fields[name] = both.fields[name].and(f)
	}
	return both
}

// or promises what both do.
func (p *promise) or(q *promise) *promise {
	if p == nil || q == nil {
		return nil
	}
	either := &promise{present: p.present && q.present, nonEmpty: p.nonEmpty && q.nonEmpty, fields: map[string]*promise{}}
	if p.text == q.text {
		either.text = p.text
	}
	for name, f := range p.fields {
		if o := f.or(q.fields[name]); o != nil {
			either.fields[name] = o
		}
	}
	return either
}

// promisesOf are what the server promises of the objects of a built-in kind, at the root.
func promisesOf(kind schema.GroupVersionKind) *promise {
	p := defaultPromise(kind)
	if c := kindCreations()[kind]; c.reset && p.of("status") != nil {
		// A new object has a fresh status, which is not defaulted.
		p.fields["status"] = p.of("status").or(held(c.status))
	}
	r, served := anywhere(kind)
	switch {
	case !served:
		return p
	case r.Subresource == "token":
		// kubernetes pkg/registry/core/serviceaccount/storage/token.go, Create; uid since 1.33.
		return p.and(metadataPromise("name", "namespace", "creationTimestamp"))
	case r.Subresource != "" || !r.Serves("get"):
		return p // not stored, and so without what a new object is given
	}
	return p.and(storedPromise(r.Namespaced)).and(keyPromise(kind))
}

// held promises what a value has.
func held(v any) *promise {
	p := &promise{present: v != nil, fields: map[string]*promise{}}
	if m, ok := v.(map[string]any); ok {
		for name, f := range m {
			p.fields[name] = held(f)
		}
	}
	s, _ := v.(string)
	p.nonEmpty = s != ""
	return p
}

// keyPromise is which labels and annotations every object of a kind has.
func keyPromise(kind schema.GroupVersionKind) *promise {
	field, key := "", ""
	switch kind.GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		// kubernetes pkg/apis/core/v1/defaults.go, SetDefaults_Namespace, and, where the name is
		// generated, pkg/registry/core/namespace/strategy.go, Canonicalize.
		field, key = "labels", corev1.LabelMetadataName
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		// kubernetes pkg/apis/apps/v1/conversion.go, Convert_apps_DaemonSet_To_v1_DaemonSet.
		field, key = "annotations", appsv1.DeprecatedTemplateGeneration
	default:
		return nil
	}
	p := metadataPromise(field)
	p.fields["metadata"].fields[field].fields = map[string]*promise{key: {present: true}}
	return p
}

// storedPromise is what every stored object has: apiserver pkg/registry/rest/create.go,
// FillObjectMetaSystemFields and BeforeCreate; update.go, BeforeUpdate.
func storedPromise(namespaced bool) *promise {
	p := metadataPromise("name", "uid", "creationTimestamp")
	if namespaced {
		p = p.and(metadataPromise("namespace"))
	}
	meta := p.fields["metadata"]
	// It is the server's own time, so it can be read. A time of deletion is not: until 1.36 one could be
	// applied with a new object (store.go, Update).
	meta.fields["creationTimestamp"].text = TimeText
	// apimachinery pkg/api/validation/objectmeta.go, validateOwnerReference. Metadata of templates is
	// not validated so.
	owner := map[string]*promise{}
	for _, f := range []string{"apiVersion", "kind", "name", "uid"} {
		owner[f] = &promise{present: true, nonEmpty: true}
	}
	meta.fields["ownerReferences"] = &promise{fields: owner}
	return p
}

func metadataPromise(names ...string) *promise {
	meta := &promise{fields: map[string]*promise{}}
	for _, n := range names {
		meta.fields[n] = &promise{present: true, nonEmpty: true}
	}
	return &promise{fields: map[string]*promise{"metadata": meta}}
}

// anywhere finds the resource of a kind in any supported version of Kubernetes.
func anywhere(kind schema.GroupVersionKind) (Resource, bool) {
	for minor := Newest; minor >= Oldest; minor-- {
		if r, ok := BuiltIn(minor).ForKind(kind); ok {
			return r, true
		}
	}
	return Resource{}, false
}

// defaultPromise is what defaulting always fills, whichever version of its kind an object was sent
// or stored in: it is defaulted there, and then converted.
func defaultPromise(kind schema.GroupVersionKind) *promise {
	var all *promise
	first := true
	for k := range kindDefaults() {
		if k.GroupKind() == kind.GroupKind() {
			p := kindDefaults()[k].promise()
			if !first {
				p = p.or(all)
			}
			all, first = p, false
		}
	}
	return all
}

// promise leaves out defaults that the oldest supported version does not fill.
func (d *typeDefaults) promise() *promise {
	p := &promise{fields: map[string]*promise{}}
	for _, f := range d.fields {
		if f.since > Oldest {
			continue
		}
		s, _ := f.value.(string)
		p.fields[f.name] = &promise{present: true, nonEmpty: f.zero && s != ""}
	}
	for _, c := range d.children {
		p.fields[c.name] = p.fields[c.name].and(c.of.promise())
	}
	return p
}
