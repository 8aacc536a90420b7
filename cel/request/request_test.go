package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	holdschema "hangar.io/holdshort/cel/schema"
)

// read is the one document of text.
func read(t testing.TB, text string) manifest.Document {
	t.Helper()
	var docs []manifest.Document
	for doc, err := range manifest.Parse("in.yaml", strings.NewReader(text), manifest.Limits{}) {
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	if len(docs) != 1 {
		t.Fatalf("%d documents in %q", len(docs), text)
	}
	return docs[0]
}

func readP(t testing.TB, text string) *manifest.Document { d := read(t, text); return &d }

// admissible checks that the harness takes a request.
func admissible(t *testing.T, d Decoded) {
	t.Helper()
	r := d.Request
	if d.Skipped != "" {
		return
	}
	if !d.Completed {
		if err := harness.Complete(&r, harness.Cluster{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
			t.Errorf("cannot be completed: %v", err)
		}
	}
	if _, err := harness.Prepare(r, harness.Cluster{}); err != nil {
		t.Errorf("cannot be prepared: %v", err)
	}
}

// line is a request in one line: operation, endpoint, kind, namespace/name, and its objects.
func line(d Decoded) string {
	if d.Skipped != "" {
		return "skipped: " + d.Skipped
	}
	r := d.Request
	out := fmt.Sprintf("%s %s/%s %s %s/%s", r.Operation, r.Resource.GroupVersion(), strings.TrimSuffix(r.Resource.Resource+"/"+r.Subresource, "/"), r.Kind.Kind, r.Namespace, r.Name)
	for _, o := range []struct {
		name  string
		value map[string]any
	}{{"object", r.Object}, {"old", r.OldObject}, {"options", r.Options}} {
		if o.value != nil {
			text, _ := json.Marshal(o.value)
			out += " " + o.name + "=" + string(text)
		}
	}
	if r.User.Name != "" {
		out += " by " + r.User.Name
	}
	if r.DryRun {
		out += " dry"
	}
	if r.Collection {
		out += " collection"
	}
	if d.Completed {
		out += " completed"
	}
	return out
}

const (
	pod        = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns}\n"
	podJSON    = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"}}`
	deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
)

func TestManifestsBecomeRequests(t *testing.T) {
	for _, c := range []struct {
		name, in string
		o        Options
		want     string
	}{
		{"a create by default", pod, Options{User: user.DefaultInfo{Name: "alice"}}, `CREATE v1/pods Pod ns/p object=` + podJSON + ` by alice`},
		{"the namespace default", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", Options{}, `CREATE v1/pods Pod default/p object={"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"}}`},
		{"another default namespace", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", Options{Namespace: "x"}, `CREATE v1/pods Pod x/p object={"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"x"}}`},
		{"a generated name", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\n", Options{}, `CREATE v1/pods Pod default/ object={"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"p-","namespace":"default"}}`},
		{"a namespace is in itself", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", Options{}, `CREATE v1/namespaces Namespace x/x object={"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}}`},
		{"cluster scope drops the namespace", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r, namespace: ns}\n", Options{}, `CREATE rbac.authorization.k8s.io/v1/clusterroles ClusterRole /r object={"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"r"}}`},
		{"a delete", pod, Options{Operation: admission.Delete}, `DELETE v1/pods Pod ns/p old=` + podJSON},
		{"a delete of a collection", pod, Options{Operation: admission.Delete, Collection: true}, `DELETE v1/pods Pod ns/ old=` + podJSON + ` collection`},
		{"an update", pod, Options{Operation: admission.Update, Old: readP(t, pod+"spec: {a: b}\n")}, `UPDATE v1/pods Pod ns/p object=` + podJSON + ` old={"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},"spec":{"a":"b"}}`},
		{"an old object makes an update", pod, Options{Old: readP(t, pod)}, `UPDATE v1/pods Pod ns/p object=` + podJSON + ` old=` + podJSON},
		{"a status update", pod, Options{Subresource: "status", Old: readP(t, pod)}, `UPDATE v1/pods/status Pod ns/p object=` + podJSON + ` old=` + podJSON},
		{"exec into a pod", pod, Options{Subresource: "exec", Options: readP(t, "command: [sh]\nstdin: true\n")}, `CONNECT v1/pods/exec PodExecOptions ns/p object={"apiVersion":"v1","command":["sh"],"kind":"PodExecOptions","stdin":true}`},
		{"exec with empty options", pod, Options{Subresource: "exec", Options: readP(t, "{}\n")}, `CONNECT v1/pods/exec PodExecOptions ns/p object={"apiVersion":"v1","kind":"PodExecOptions"}`},
		{"exec by its options", "apiVersion: v1\nkind: PodExecOptions\nmetadata: {name: p, namespace: ns}\ncommand: [sh]\n", Options{}, `CONNECT v1/pods/exec PodExecOptions ns/p object={"apiVersion":"v1","command":["sh"],"kind":"PodExecOptions"}`},
		{"an eviction of a pod", pod, Options{Subresource: "eviction"}, `CREATE v1/pods/eviction Eviction ns/p object={"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"ns"}}`},
		{"an eviction", "apiVersion: policy/v1\nkind: Eviction\nmetadata: {name: p, namespace: ns}\n", Options{}, `CREATE v1/pods/eviction Eviction ns/p object={"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"ns"}}`},
		{"a scale", "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: d, namespace: ns}\nspec: {replicas: 3}\n", Options{Resource: "deployments", Subresource: "scale",
			Old: readP(t, "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: d, namespace: ns}\n")},
			`UPDATE apps/v1/deployments/scale Scale ns/d object={"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d","namespace":"ns"},"spec":{"replicas":3}} old={"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d","namespace":"ns"}}`},
		{"options and a dry run", pod, Options{Options: readP(t, "fieldManager: me\n"), DryRun: true}, `CREATE v1/pods Pod ns/p object=` + podJSON + ` options={"apiVersion":"meta.k8s.io/v1","fieldManager":"me","kind":"CreateOptions"} dry`},
		{"a dry run by options", pod, Options{Options: readP(t, "dryRun: [All]\n")}, `CREATE v1/pods Pod ns/p object=` + podJSON + ` options={"apiVersion":"meta.k8s.io/v1","dryRun":["All"],"kind":"CreateOptions"} dry`},
		{"an older version", "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: h, namespace: ns}\n", Options{}, `CREATE autoscaling/v1/horizontalpodautoscalers HorizontalPodAutoscaler ns/h object={"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"ns"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Decode(read(t, c.in), c.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := line(d); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			admissible(t, d)
			if d.Completed || d.Form != FormManifest {
				t.Errorf("form %s, completed %v", d.Form, d.Completed)
			}
		})
	}
}

func TestManifestsThatAreNoRequestSayWhy(t *testing.T) {
	for _, c := range []struct {
		name, in string
		o        Options
		want     string // Need of an UndecidedError, and the message
	}{
		{"an unknown kind", "apiVersion: x.io/v1\nkind: Widget\nmetadata: {name: w}\n", Options{}, "kind: in.yaml:2: kind: x.io/v1 Widget is not a known kind (give its CustomResourceDefinition, or check the spelling of apiVersion and kind)"},
		{"no kind", "a: b\n", Options{}, "in.yaml:1: expected a Kubernetes object with apiVersion and kind, an AdmissionReview or an audit Event"},
		{"no name", "apiVersion: v1\nkind: Pod\nmetadata: {labels: {a: b}}\n", Options{}, "in.yaml:3: metadata.name: expected a name for the Pod"},
		{"a namespace that YAML reads as a boolean", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  namespace: n\n", Options{}, "in.yaml:5: metadata.namespace: expected text, found a boolean (YAML reads y, n, yes, no, on and off as booleans: quote the text)"},
		{"metadata that are none", "apiVersion: v1\nkind: Pod\nmetadata: [a]\n", Options{}, "in.yaml:3: metadata: expected an object, found a list"},
		{"a delete of a generated name", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\n", Options{Operation: admission.Delete}, "in.yaml:3: metadata.name: expected a name for the Pod"},
		{"an update without the old object", pod, Options{Operation: admission.Update}, "in.yaml:1: an UPDATE needs the Pod as it was before (give it with --old FILE)"},
		{"an update of another kind", pod, Options{Operation: admission.Update, Old: readP(t, deployment)}, "in.yaml:2: kind: expected the v1 Pod before the update, found apps/v1 Deployment"},
		{"an update of another object", pod, Options{Operation: admission.Update, Old: readP(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: ns}\n")}, `in.yaml:3: metadata.name: expected the name of the updated object, p, found "q"`},
		{"an update across namespaces", pod, Options{Operation: admission.Update, Old: readP(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: m}\n")}, `in.yaml:3: metadata.namespace: expected the namespace of the updated object, ns, found m`},
		{"an unknown subresource", pod, Options{Subresource: "exce"}, `in.yaml:1: pods has no subresource "exce" (it has attach, binding, ephemeralcontainers, eviction, exec, log, portforward, proxy, resize, status)`},
		{"exec without options", pod, Options{Subresource: "exec"}, "options: in.yaml:1: policies judge the PodExecOptions of a CONNECT to pods/exec, which are not given (give them with --options FILE; {} in it stands for none)"},
		{"exec with an old object", pod, Options{Subresource: "exec", Old: readP(t, pod)}, "in.yaml:1: pods/exec takes CONNECT, which has no object before it (leave out --old)"},
		{"a create of exec", pod, Options{Subresource: "exec", Operation: admission.Create}, "in.yaml:1: pods/exec takes CONNECT only, found CREATE"},
		{"a connect to a deployment", deployment, Options{Operation: admission.Connect}, "in.yaml:1: deployments of apps takes no CONNECT (name one of the subresources exec, attach, portforward and proxy)"},
		{"a scale of something", "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: d}\n", Options{Subresource: "scale"}, "in.yaml:2: kind: Scale belongs to several resources: deployments.apps, replicasets.apps, replicationcontrollers, statefulsets.apps (name one of them with --resource)"},
		{"a deployment as its scale", deployment, Options{Subresource: "scale"}, "in.yaml:2: kind: deployments/scale of apps takes autoscaling/v1 Scale, found apps/v1 Deployment (give a manifest of that kind and name the resource with --resource)"},
		{"options of another operation", pod, Options{Options: readP(t, "kind: DeleteOptions\n")}, "in.yaml:1: kind: expected CreateOptions, found DeleteOptions"},
		{"an unknown operation", pod, Options{Operation: "PATCH"}, `in.yaml:1: expected the operation CREATE, UPDATE, DELETE or CONNECT, found "PATCH"`},
		{"an unknown resource", pod, Options{Resource: "widgets"}, "kind: in.yaml:1: widgets is not a known resource (give its CustomResourceDefinition)"},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.in, c.o, c.want) })
	}
}

func wantError(t *testing.T, in string, o Options, want string) {
	t.Helper()
	d, err := Decode(read(t, in), o)
	if err == nil {
		t.Fatalf("no error, %s", line(d))
	}
	got := err.Error()
	var u *UndecidedError
	if errors.As(err, &u) {
		got = u.Need + ": " + got
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var e *manifest.Error
	if !errors.As(err, &e) {
		t.Errorf("%T has no place", err)
	}
}

func TestCustomResourcesAreKnownFromTheirDefinition(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "widgets.x.io"
	crd.Spec.Group, crd.Spec.Scope = "x.io", apiextensionsv1.ClusterScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}}
	table, err := holdschema.BuiltIn(holdschema.Newest).WithCRDs(crd)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Decode(read(t, "apiVersion: x.io/v1\nkind: Widget\nmetadata: {name: w}\n"), Options{Resources: table})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := line(d), `CREATE x.io/v1/widgets Widget /w object={"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w"}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNamespaceLabelsDescribeTheNamespace(t *testing.T) {
	d, err := Decode(read(t, pod), Options{NamespaceLabels: map[string]string{"env": "prod"}})
	if err != nil {
		t.Fatal(err)
	}
	if n := d.Namespace; n == nil || n.Name != "ns" || n.Labels["env"] != "prod" || n.Labels["kubernetes.io/metadata.name"] != "ns" {
		t.Errorf("%+v", n)
	}
}

func TestDocumentsAreNotModified(t *testing.T) {
	doc := read(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n")
	before, _ := json.Marshal(doc.Object)
	if _, err := Decode(doc, Options{}); err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(doc.Object); string(after) != string(before) {
		t.Errorf("%s became %s", before, after)
	}
}
