package schema

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission"
	celplugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/authentication/user"
)

// requestOf is the variable request of one admission request, made by the server's own code.
func requestOf(c RequestCase, name, namespace string, u *user.DefaultInfo, options runtime.Object) *admissionv1.AdmissionRequest {
	resource := schema.GroupVersionResource{Group: c.Kind.Group, Version: c.Kind.Version, Resource: strings.ToLower(c.Kind.Kind) + "s"}
	a := admission.NewAttributesRecord(nil, nil, c.Kind, namespace, name, resource, c.Subresource, c.Operation, options, false, u)
	return celplugin.CreateAdmissionRequest(a, metav1.GroupVersionResource(resource), metav1.GroupVersionKind(c.Kind))
}

func asJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRequestShapesAllowTheServersRequests(t *testing.T) {
	pod, exec := gvk("", "v1", "Pod"), gvk("", "v1", "PodExecOptions")
	for _, c := range []struct {
		name string
		RequestCase
		names, namespaces []string
		options           runtime.Object
	}{
		{"a create", RequestCase{Operation: admission.Create, Namespaced: true, Kind: pod}, []string{"a"}, []string{"n"}, &metav1.CreateOptions{}},
		{"an update of a subresource", RequestCase{Operation: admission.Update, Subresource: "status", Namespaced: true, Kind: pod}, []string{"a"}, []string{"n"}, &metav1.UpdateOptions{}},
		{"a delete, also of a collection", RequestCase{Operation: admission.Delete, Namespaced: true, Kind: pod}, []string{"a", ""}, []string{"n"}, &metav1.DeleteOptions{}},
		{"a connect", RequestCase{Operation: admission.Connect, Subresource: "exec", Namespaced: true, Kind: exec}, []string{"a"}, []string{"n"}, nil},
		{"a create of a cluster-scoped object", RequestCase{Operation: admission.Create, Kind: gvk("rbac.authorization.k8s.io", "v1", "ClusterRole")}, []string{"a"}, []string{""}, &metav1.CreateOptions{}},
		{"a create of a namespace, with a name or a generated one", RequestCase{Operation: admission.Create, Kind: gvk("", "v1", "Namespace")}, []string{"a"}, []string{"a", ""}, &metav1.CreateOptions{}},
		{"an update of a namespace", RequestCase{Operation: admission.Update, Kind: gvk("", "v1", "Namespace")}, []string{"a"}, []string{"a"}, &metav1.UpdateOptions{}},
		{"a create of what is not stored", RequestCase{Operation: admission.Create, Kind: gvk("authorization.k8s.io", "v1", "SubjectAccessReview")}, []string{"a", ""}, []string{""}, &metav1.CreateOptions{}},
		{"a create of an unknown kind", RequestCase{Operation: admission.Create, Namespaced: true, Kind: gvk("example.com", "v1", "Widget")}, []string{"a", ""}, []string{"n"}, &metav1.CreateOptions{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			shape := RequestShape(c.RequestCase)
			f := &filler{Rand: rand.New(rand.NewPCG(1, 2)), density: 0.5}
			always := map[string]bool{}
			for _, name := range shape.Fields() {
				always[name] = true
			}
			for i := range 200 {
				u := &user.DefaultInfo{}
				f.fill(reflect.ValueOf(u).Elem(), 0)
				if c.options != nil {
					o := reflect.ValueOf(c.options).Elem()
					o.SetZero()
					f.fill(o, 0)
					c.options.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: o.Type().Name()})
				}
				r := asJSON(t, requestOf(c.RequestCase, c.names[i%len(c.names)], c.namespaces[i/2%len(c.namespaces)], u, c.options))
				for _, m := range misfits(r, shape, "request") {
					t.Fatal(m)
				}
				for name := range always {
					if _, ok := r[name]; !ok {
						delete(always, name)
					}
				}
			}
			for name := range always {
				if f, _ := shape.Field(name); !f.Always {
					t.Errorf("%s is always there, and the shape does not say so", name)
				}
			}
		})
	}
}

func TestCustomRequestsAlwaysHaveAName(t *testing.T) {
	table, err := BuiltIn(Newest).WithCRDs(cronTab(t))
	if err != nil {
		t.Fatal(err)
	}
	f, _ := RequestShape(RequestCase{Operation: admission.Create, Namespaced: true, Kind: gvk("stable.example.com", "v1", "CronTab"), Table: table}).Field("name")
	if !f.Always {
		t.Error("a custom resource is stored under a name, so a request to create it has one")
	}
}

func TestNamespaceShapesAllowTheServersNamespaces(t *testing.T) {
	f := &filler{Rand: rand.New(rand.NewPCG(1, 2))}
	for range 500 {
		f.density = []float64{0.2, 0.5, 0.9}[f.IntN(3)]
		ns := &corev1.Namespace{}
		f.fill(reflect.ValueOf(ns).Elem(), 0)
		ns.Namespace = "" // namespaces have none
		for _, m := range misfits(asJSON(t, celplugin.CreateNamespaceObject(ns)), NamespaceShape(Raw), "namespaceObject") {
			t.Fatal(m)
		}
	}
	labels, _ := NamespaceShape(Server).Field("metadata")
	if name, _ := labels.Shape.Field("labels"); !name.Always {
		t.Error("the server gives every namespace a label")
	} else if f, _ := name.Shape.Field(corev1.LabelMetadataName); !f.Always {
		t.Error("the server gives every namespace the label with its name")
	}
	if _, known := NamespaceShape(Server).Field("kind"); known {
		t.Error("namespaceObject has no kind")
	}
}

func TestOptionsShapes(t *testing.T) {
	exec := OptionsShape("pods/exec")
	command, _ := exec.Field("command")
	if !command.Always || command.Shape.Kinds != List|Null {
		t.Errorf("command of an exec: %+v", command)
	}
	if container, _ := exec.Field("container"); container.Always || !container.Shape.NonEmpty {
		t.Errorf("container of an exec: %+v", container)
	}
	if s := OptionsShape("pods/else"); !s.Dynamic {
		t.Error("nothing is known of an unknown subresource")
	}
}
