package schema

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const cronTabText = `
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            default: {}
            properties:
              replicas: {type: integer, default: 1}
              schedule: {type: string, default: "* * * * *"}
              note: {type: string}
              jobs: {type: array, items: {type: object, properties: {retries: {type: integer, default: 3}}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func cronTab(t testing.TB) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object(t, cronTabText), &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}

func TestCustomResourcesAreServedLikeOthers(t *testing.T) {
	crd := cronTab(t)
	table, err := BuiltIn(Newest).WithCRDs(crd)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := BuiltIn(Newest).ForResource("crontabs"); ok {
		t.Error("the table without definitions was changed")
	}
	v1 := gvr("stable.example.com", "v1", "crontabs")
	r, ok := table.ForResource("crontabs.stable.example.com")
	if !ok || r.GVR != v1 || !r.Namespaced || !r.Serves("create") {
		t.Errorf("got %+v, %v", r, ok)
	}
	if scale, _ := table.Lookup(v1, "scale"); scale.Kind != gvk("autoscaling", "v1", "Scale") {
		t.Errorf("scale is %v", scale.Kind)
	}
	if status, _ := table.Lookup(v1, "status"); status.Kind != gvk("stable.example.com", "v1", "CronTab") || status.Serves("create") {
		t.Errorf("status is %+v", status)
	}
	if _, ok := table.Lookup(gvr("stable.example.com", "v1alpha1", "crontabs"), ""); ok {
		t.Error("a version that is not served was found")
	}
	if got := table.Equivalents(v1, ""); len(got) != 3 {
		t.Errorf("equivalents of the resource: %v", got)
	}
	if got := table.Equivalents(v1, "status"); len(got) != 1 {
		t.Errorf("equivalents of status: %v", got)
	}
	if !table.SameShape(gvk("stable.example.com", "v1", "CronTab"), gvk("stable.example.com", "v1beta1", "CronTab")) {
		t.Error("versions without a converter are not of one shape")
	}
	if s, ok := table.Conversion(schema.GroupKind{Group: "stable.example.com", Kind: "CronTab"}); !ok || s != apiextensionsv1.NoneConverter {
		t.Errorf("conversion %q, %v", s, ok)
	}
	if _, ok := table.ForResource("pods"); !ok {
		t.Error("built-in resources are gone")
	}
}

func TestAWebhookMakesVersionsDiffer(t *testing.T) {
	crd := cronTab(t)
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
	table, err := BuiltIn(Newest).WithCRDs(crd)
	if err != nil {
		t.Fatal(err)
	}
	if table.SameShape(gvk("stable.example.com", "v1", "CronTab"), gvk("stable.example.com", "v1beta1", "CronTab")) {
		t.Error("versions with a converter are taken as equal")
	}
}

func TestCustomObjectsAreDefaultedAndPrunedByTheirSchema(t *testing.T) {
	table, err := BuiltIn(Newest).WithCRDs(cronTab(t))
	if err != nil {
		t.Fatal(err)
	}
	kind := gvk("stable.example.com", "v1", "CronTab")
	obj := object(t, `{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: a}, spec: {schedule: null, note: null, colour: red, jobs: [{}, {retries: 0}]}, status: {a: b}}`)
	if err := Default(table, kind, obj); err != nil {
		t.Fatal(err)
	}
	compare(t, obj, `{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: a}, spec: {replicas: 1, schedule: "* * * * *", jobs: [{retries: 3}, {retries: 0}]}, status: {a: b}}`)
	if err := Create(table, kind, obj); err != nil {
		t.Fatal(err)
	}
	compare(t, obj, `{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: a, generation: 1}, spec: {replicas: 1, schedule: "* * * * *", jobs: [{retries: 3}, {retries: 0}]}}`)
}

func TestDefinitionsThatAServerWouldRefuseAreNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   string
	}{
		{"a wrong name", func(d *apiextensionsv1.CustomResourceDefinition) { d.Name = "x" }, `metadata.name must be "crontabs.stable.example.com"`},
		{"no group", func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Group = "" }, "spec.group"},
		{"no kind", func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.Kind = "" }, "spec.names.kind"},
		{"no scope", func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Scope = "" }, "spec.scope"},
		{"no version", func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions = nil }, "no version is served"},
		{"a version twice", func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[1].Name = "v1" }, `version "v1" is there twice`},
		{"an unknown conversion", func(d *apiextensionsv1.CustomResourceDefinition) {
			d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: "Magic"}
		}, `"Magic" must be None or Webhook`},
		{"a schema without types", func(d *apiextensionsv1.CustomResourceDefinition) {
			d.Spec.Versions[0].Schema.OpenAPIV3Schema.Items = &apiextensionsv1.JSONSchemaPropsOrArray{JSONSchemas: []apiextensionsv1.JSONSchemaProps{{}, {}}}
		}, "spec.versions[0] (v1): schema is not structural"},
	} {
		t.Run(c.name, func(t *testing.T) {
			crd := cronTab(t)
			c.change(crd)
			_, err := BuiltIn(Newest).WithCRDs(crd)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := BuiltIn(Newest).WithCRDs(cronTab(t), cronTab(t)); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a definition given twice: %v", err)
	}
	if _, err := BuiltIn(Newest).WithCRDs(nil); err == nil {
		t.Error("a nil definition was taken")
	}
}
