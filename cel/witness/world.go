package witness

import (
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// world is a request, and the cluster around it, as one JSON document, so that every change is one
// of values at paths. Its roots:
//
//	object, oldObject, options, params, namespaceObject  as CEL has them
//	user             username, groups, uid, extra
//	name, namespace  of the request; metadata holds neither
//	dryRun           a bool
//	allow            whether the authorizer allows everything, a bool
//	noGroups         the user has none, not even those that authentication implies
type world map[string]any

func (w world) copy() world { return runtime.DeepCopyJSON(w) }

// The names of a first request, and the time of its completion.
const (
	firstName      = "web"
	firstNamespace = "default"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// administrator sends requests whose sender does not matter.
var administrator = map[string]any{"username": "kubernetes-admin", "groups": []any{"system:masters"}}

// canonical is where a world keeps the value that CEL reads at a path; nil if no world can change it.
func canonical(p path) path {
	is := func(names ...string) bool {
		if len(p) < len(names) {
			return false
		}
		for i, n := range names {
			if p[i].kind != toKey || p[i].key != n {
				return false
			}
		}
		return true
	}
	switch {
	case is("request", "userInfo"):
		return append(keys("user"), p[2:]...)
	case is("request", "name"), is("object", "metadata", "name"), is("oldObject", "metadata", "name"):
		return keys("name")
	case is("request", "namespace"), is("object", "metadata", "namespace"), is("oldObject", "metadata", "namespace"), is("namespaceObject", "metadata", "name"):
		return keys("namespace")
	case is("request", "options"):
		return append(keys("options"), p[2:]...)
	case is("request", "dryRun"):
		return keys("dryRun")
	case is("request"), is("authorizer"):
		return nil
	}
	return p
}

// text is the string at a path, empty if there is none.
func (w world) text(p ...string) string {
	v, _ := get(map[string]any(w), keys(p...))
	s, _ := v.(string)
	return s
}

func (w world) object(root string) map[string]any {
	o, _ := w[root].(map[string]any)
	return o
}

// request makes the request and the cluster of a world, as a client sends it.
func (w world) request(c Case, t *schema.Table) (harness.Request, harness.Cluster) {
	r := harness.Request{
		Operation: c.Operation, Resource: c.Resource, Subresource: c.Subresource, Kind: c.Kind,
		Name: w.text("name"), User: w.user(), DryRun: w["dryRun"] == true,
	}
	if c.Namespaced {
		r.Namespace = w.text("namespace")
	}
	r.Object, r.OldObject = w.named("object", c), w.named("oldObject", c)
	r.Options = w.object("options")
	switch {
	case r.Name != "":
	case c.Operation == admission.Create && r.Object != nil:
		m := metadataOf(r.Object)
		if m["generateName"] == nil {
			m["generateName"] = firstName + "-"
		}
	case c.Operation == admission.Delete && r.OldObject != nil && c.Subresource == "":
		r.Collection = true
		metadataOf(r.OldObject)["name"] = firstName
	}
	cluster := harness.Cluster{Resources: t, Params: []*unstructured.Unstructured{}, Allow: []harness.Permission{}}
	if r.Namespace != "" {
		cluster.Namespaces = map[string]*corev1.Namespace{r.Namespace: w.namespace(r.Namespace)}
	}
	if p := w.object("params"); p != nil {
		cluster.Params = append(cluster.Params, &unstructured.Unstructured{Object: p})
	}
	if w["allow"] == true {
		cluster.Allow = everything
	}
	return r, cluster
}

// everything allows whatever the authorizer is asked of a resource.
var everything = []harness.Permission{{Verb: "*", APIGroup: "*", Resource: "*", Subresource: "*", Namespace: "*", Name: "*"}}

func (w world) user() user.DefaultInfo {
	u := user.DefaultInfo{Name: w.text("user", "username"), UID: w.text("user", "uid")}
	in := w.object("user")
	u.Groups = stringsOf(in["groups"])
	if extra, ok := in["extra"].(map[string]any); ok {
		u.Extra = map[string][]string{}
		for k, v := range extra {
			u.Extra[k] = stringsOf(v)
		}
	}
	return u
}

func stringsOf(v any) []string {
	var out []string
	list, _ := v.([]any)
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// named is an object with its name and namespace; the options of a connection have none.
func (w world) named(root string, c Case) map[string]any {
	o := w.object(root)
	if o == nil {
		return nil
	}
	o = runtime.DeepCopyJSON(o)
	if c.Operation == admission.Connect {
		return o
	}
	if _, ok := o["metadata"]; ok {
		if _, ok := o["metadata"].(map[string]any); !ok {
			return o
		}
	}
	m := metadataOf(o)
	if name := w.text("name"); name != "" {
		m["name"] = name
	}
	if ns := w.text("namespace"); ns != "" && c.Namespaced && c.Resource.Resource != "namespaces" {
		m["namespace"] = ns
	}
	return o
}

func metadataOf(o map[string]any) map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

func (w world) namespace(name string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	texts := func(field string) map[string]string {
		v, _ := get(map[string]any(w), keys("namespaceObject", "metadata", field))
		m, _ := v.(map[string]any)
		var out map[string]string
		for k, x := range m {
			if s, ok := x.(string); ok {
				if out == nil {
					out = map[string]string{}
				}
				out[k] = s
			}
		}
		return out
	}
	ns.Labels, ns.Annotations = texts("labels"), texts("annotations")
	return ns
}

// first is the world that a search begins with: what the constraints of the policy demand, and else
// the least.
func (s *Search) first() world {
	w := world{"user": runtime.DeepCopyJSON(administrator), "namespaceObject": map[string]any{}, "name": firstName}
	if s.kase.Namespaced {
		w["namespace"] = firstNamespace
	}
	object := s.skeleton.object(s.choice)
	switch s.kase.Operation {
	case admission.Create, admission.Connect:
		w["object"] = object
	case admission.Update:
		w["object"], w["oldObject"] = object, runtime.DeepCopyJSON(object)
	case admission.Delete:
		w["oldObject"] = object
	}
	if s.policy.Spec.ParamKind != nil && s.binding.Spec.ParamRef != nil {
		w["params"] = s.params(w)
	}
	for _, m := range []*admissionv1.MatchResources{s.policy.Spec.MatchConstraints, s.binding.Spec.MatchResources} {
		if m != nil {
			s.constrain(w, m)
		}
	}
	return w
}

// constrain makes the world fit the constraints.
func (s *Search) constrain(w world, m *admissionv1.MatchResources) {
	for k, v := range satisfying(m.NamespaceSelector) {
		if k == corev1.LabelMetadataName {
			if s.kase.Namespaced {
				w["namespace"] = v
			}
			continue
		}
		w.put(s, path{{key: "namespaceObject"}, {key: "metadata"}, {key: "labels"}, {key: k}}, v)
	}
	for k, v := range satisfying(m.ObjectSelector) {
		for _, root := range []string{"object", "oldObject"} {
			w.put(s, path{{key: root}, {key: "metadata"}, {key: "labels"}, {key: k}}, v)
		}
	}
	for _, r := range m.ResourceRules {
		if len(r.ResourceNames) > 0 {
			w["name"] = r.ResourceNames[0]
		}
	}
}

// satisfying are labels that a selector matches.
func satisfying(sel *metav1.LabelSelector) map[string]string {
	labels := map[string]string{}
	if sel == nil {
		return labels
	}
	for k, v := range sel.MatchLabels {
		labels[k] = v
	}
	for _, e := range sel.MatchExpressions {
		switch {
		case e.Operator == metav1.LabelSelectorOpIn && len(e.Values) > 0:
			labels[e.Key] = e.Values[0]
		case e.Operator == metav1.LabelSelectorOpExists:
			labels[e.Key] = "x"
		}
	}
	return labels
}

// params is the object that the binding refers to.
func (s *Search) params(w world) map[string]any {
	ref := s.binding.Spec.ParamRef
	k := s.policy.Spec.ParamKind
	kind := kschema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
	o := s.skeletons.of(s.options.Resources, kind).object(0)
	o["apiVersion"], o["kind"] = k.APIVersion, k.Kind
	m := metadataOf(o)
	m["name"] = "params"
	if ref.Name != "" {
		m["name"] = ref.Name
	}
	if r, ok := s.options.Resources.ForKind(kind); ok && r.Namespaced || ref.Namespace != "" {
		m["namespace"] = ref.Namespace
		if ref.Namespace == "" {
			m["namespace"] = w["namespace"]
		}
	}
	if labels := satisfying(ref.Selector); len(labels) > 0 {
		content := map[string]any{}
		for k, v := range labels {
			content[k] = v
		}
		m["labels"] = content
	}
	return o
}

// put sets the value at a path, if the world has its root.
func (w world) put(s *Search, p path, value any) {
	if !w.has(p, s.kase) {
		return
	}
	set(map[string]any(w), p, value, nil, s.fill)
}

// drop removes what is at a path, unless objects of the kind cannot be without it.
func (w world) drop(s *Search, p path) {
	if len(p) == 0 || !w.has(p, s.kase) {
		return
	}
	list, _ := get(map[string]any(w), p[:len(p)-1])
	items, _ := list.([]any)
	further := p[len(p)-1].kind == toIndex && len(items) > 1
	if !further && s.required(p) {
		return
	}
	remove(map[string]any(w), p)
}

// has tells whether a request of the case can hold something at a path: object is null on DELETE.
func (w world) has(p path, c Case) bool {
	switch p.root() {
	case "object", "oldObject", "params":
		_, ok := w[p.root()]
		return ok && len(p) > 1 && !(p[1].kind == toKey && (p[1].key == "kind" || p[1].key == "apiVersion"))
	case "namespace":
		return c.Namespaced
	case "namespaceObject":
		return len(p) > 2 && p[1].key == "metadata" && (p[2].key == "labels" || p[2].key == "annotations") && c.Namespaced
	case "user":
		return len(p) > 1
	case "options":
		return c.Operation != admission.Connect && len(p) > 1
	}
	return true
}

// fill is what a new element of an object begins with.
func (s *Search) fill(at path) any {
	switch at.root() {
	case "object", "oldObject":
		return s.skeleton.part(at[1:], s.choice)
	}
	return nil
}

// required tells whether an object of the kind cannot be without what is at a path.
func (s *Search) required(p path) bool {
	switch p.root() {
	case "object", "oldObject":
		return s.options.Assume == schema.Server && s.skeleton.required(p[1:])
	case "namespace", "namespaceObject":
		return len(p) < 3
	case "allow", "dryRun":
		return false
	}
	return false
}
