package schema

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func gvr(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

func gvk(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

func TestLookupTellsTheKindThatAdmissionIsTold(t *testing.T) {
	for _, c := range []struct {
		name     string
		minor    int
		resource schema.GroupVersionResource
		sub      string
		kind     schema.GroupVersionKind // empty: there is no such endpoint
		cluster  bool
	}{
		{"a resource has its own kind", 37, gvr("", "v1", "pods"), "", gvk("", "v1", "Pod"), false},
		{"exec takes its options", 37, gvr("", "v1", "pods"), "exec", gvk("", "v1", "PodExecOptions"), false},
		{"attach takes its options", 37, gvr("", "v1", "pods"), "attach", gvk("", "v1", "PodAttachOptions"), false},
		{"a node's proxy takes its options", 37, gvr("", "v1", "nodes"), "proxy", gvk("", "v1", "NodeProxyOptions"), true},
		{"ephemeral containers are sent as a pod", 37, gvr("", "v1", "pods"), "ephemeralcontainers", gvk("", "v1", "Pod"), false},
		{"scale is of another group", 37, gvr("apps", "v1", "deployments"), "scale", gvk("autoscaling", "v1", "Scale"), false},
		{"eviction is of another group", 37, gvr("", "v1", "pods"), "eviction", gvk("policy", "v1", "Eviction"), false},
		{"token is of another group", 37, gvr("", "v1", "serviceaccounts"), "token", gvk("authentication.k8s.io", "v1", "TokenRequest"), false},
		{"a resource of a later version is not there", 30, gvr("resource.k8s.io", "v1", "resourceclaims"), "", gvk("", "", ""), false},
		{"a subresource of a later version is not there", 30, gvr("", "v1", "pods"), "resize", gvk("", "", ""), false},
		{"a removed version is not there", 37, gvr("flowcontrol.apiserver.k8s.io", "v1beta3", "flowschemas"), "", gvk("", "", ""), false},
		{"a removed version is there before", 31, gvr("flowcontrol.apiserver.k8s.io", "v1beta3", "flowschemas"), "", gvk("flowcontrol.apiserver.k8s.io", "v1beta3", "FlowSchema"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, ok := BuiltIn(c.minor).Lookup(c.resource, c.sub)
			if ok != (c.kind.Kind != "") || r.Kind != c.kind {
				t.Fatalf("got %v, %v", r.Kind, ok)
			}
			if ok && r.Namespaced == c.cluster {
				t.Errorf("namespaced %v", r.Namespaced)
			}
		})
	}
}

func TestForKindFindsOneEndpointOrNone(t *testing.T) {
	for _, c := range []struct{ name, group, version, kind, want string }{
		{"a kind of a resource", "apps", "v1", "Deployment", "deployments/"},
		{"a kind that one subresource takes", "policy", "v1", "Eviction", "pods/eviction"},
		{"a kind that several subresources take", "autoscaling", "v1", "Scale", ""},
		{"an unknown kind", "example.com", "v1", "Widget", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, ok := BuiltIn(Newest).ForKind(gvk(c.group, c.version, c.kind))
			if got := r.GVR.Resource + "/" + r.Subresource; ok != (c.want != "") || ok && got != c.want {
				t.Errorf("got %s, %v", got, ok)
			}
		})
	}
}

func TestForResourcePrefersCoreAndStableVersions(t *testing.T) {
	for name, want := range map[string]schema.GroupVersionResource{
		"pods":                 gvr("", "v1", "pods"),
		"events":               gvr("", "v1", "events"),
		"events.events.k8s.io": gvr("events.k8s.io", "v1", "events"),
		"deployments.apps":     gvr("apps", "v1", "deployments"),
		"deployments.v1.apps":  gvr("apps", "v1", "deployments"),
		"pods.v1":              gvr("", "v1", "pods"),
		"resourceclaims":       gvr("resource.k8s.io", "v1", "resourceclaims"),
		"horizontalpodautoscalers.v1.autoscaling": gvr("autoscaling", "v1", "horizontalpodautoscalers"),
		"horizontalpodautoscalers":                gvr("autoscaling", "v2", "horizontalpodautoscalers"),
		"deployments.v2.apps":                     {},
		"pod":                                     {},
	} {
		if r, ok := BuiltIn(Newest).ForResource(name); r.GVR != want || ok != (want.Resource != "") {
			t.Errorf("%s: got %v, %v", name, r.GVR, ok)
		}
	}
}

func TestEquivalentsAreTheVersionsThatAServerServesByDefault(t *testing.T) {
	for _, c := range []struct {
		name  string
		table *Table
		of    schema.GroupVersionResource
		sub   string
		want  []schema.GroupVersionResource
	}{
		{"a single version is its own", BuiltIn(37), gvr("apps", "v1", "deployments"), "", []schema.GroupVersionResource{gvr("apps", "v1", "deployments")}},
		{
			"two stable versions", BuiltIn(37), gvr("autoscaling", "v1", "horizontalpodautoscalers"), "status",
			[]schema.GroupVersionResource{gvr("autoscaling", "v2", "horizontalpodautoscalers"), gvr("autoscaling", "v1", "horizontalpodautoscalers")},
		},
		{
			"events are in two groups", BuiltIn(37), gvr("events.k8s.io", "v1", "events"), "",
			[]schema.GroupVersionResource{gvr("", "v1", "events"), gvr("events.k8s.io", "v1", "events")},
		},
		{
			"a beta version is off", BuiltIn(37), gvr("storagemigration.k8s.io", "v1", "storageversionmigrations"), "",
			[]schema.GroupVersionResource{gvr("storagemigration.k8s.io", "v1", "storageversionmigrations")},
		},
		{
			"a beta version that the request uses is on", BuiltIn(37), gvr("storagemigration.k8s.io", "v1beta1", "storageversionmigrations"), "",
			[]schema.GroupVersionResource{gvr("storagemigration.k8s.io", "v1", "storageversionmigrations"), gvr("storagemigration.k8s.io", "v1beta1", "storageversionmigrations")},
		},
		{
			"a beta version that is on for history's sake", BuiltIn(31), gvr("flowcontrol.apiserver.k8s.io", "v1", "flowschemas"), "",
			[]schema.GroupVersionResource{gvr("flowcontrol.apiserver.k8s.io", "v1", "flowschemas"), gvr("flowcontrol.apiserver.k8s.io", "v1beta3", "flowschemas")},
		},
		{"an unknown endpoint has none", BuiltIn(37), gvr("apps", "v1", "deployments"), "exec", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.table.Equivalents(c.of, c.sub)
			if len(got) != len(c.want) {
				t.Fatalf("got %v", got)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("got %v", got)
				}
			}
		})
	}
}

func TestEveryMinorVersionHasATable(t *testing.T) {
	for minor := Oldest; minor <= Newest; minor++ {
		table := BuiltIn(minor)
		if n := len(table.Resources()); n < 120 {
			t.Errorf("1.%d: only %d endpoints", minor, n)
		}
		for _, r := range table.Resources() {
			if len(r.Verbs) == 0 || r.Kind.Kind == "" {
				t.Errorf("1.%d: incomplete endpoint %+v", minor, r)
			}
		}
		if table.Minor() != minor {
			t.Errorf("1.%d says it is 1.%d", minor, table.Minor())
		}
	}
}

func TestOutOfRangeVersionsPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	BuiltIn(Newest + 1)
}

func TestSameShapeHoldsForVersionsThatDifferInNothing(t *testing.T) {
	table := BuiltIn(Newest)
	for _, c := range []struct {
		name string
		a, b schema.GroupVersionKind
		want bool
	}{
		{"a version and itself", gvk("", "v1", "Pod"), gvk("", "v1", "Pod"), true},
		{"equal versions", gvk("resource.k8s.io", "v1", "ResourceClaim"), gvk("resource.k8s.io", "v1beta2", "ResourceClaim"), true},
		{"the other way round", gvk("resource.k8s.io", "v1beta2", "ResourceClaim"), gvk("resource.k8s.io", "v1", "ResourceClaim"), true},
		{"a version of another form", gvk("resource.k8s.io", "v1beta1", "ResourceClaim"), gvk("resource.k8s.io", "v1", "ResourceClaim"), false},
		{"autoscalers", gvk("autoscaling", "v1", "HorizontalPodAutoscaler"), gvk("autoscaling", "v2", "HorizontalPodAutoscaler"), false},
		{"events of two groups", gvk("", "v1", "Event"), gvk("events.k8s.io", "v1", "Event"), false},
		{"an unknown kind", gvk("example.com", "v1", "Widget"), gvk("example.com", "v2", "Widget"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := table.SameShape(c.a, c.b); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func BenchmarkBuiltInResources(b *testing.B) {
	for b.Loop() {
		builtInResources(Newest)
	}
}
