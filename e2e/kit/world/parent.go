package world

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Whole tells whether requests to a subresource carry the whole object that it belongs to.
func Whole(subresource string) bool {
	return slices.Contains([]string{"", "status", "ephemeralcontainers", "resize"}, subresource)
}

// Parent returns the least object that a request to a subresource can be sent to: a pod for its
// eviction, a Deployment for its scale. It is nil for kinds whose subresources carry the whole
// object, as status does, and for those that it has no template of.
func Parent(gvr kschema.GroupVersionResource, subresource, namespace, name string, old map[string]any) *unstructured.Unstructured {
	template, ok := templates[gvr.GroupResource().String()+"/"+subresource]
	if !ok {
		template, ok = templates[gvr.GroupResource().String()]
	}
	if !ok || Whole(subresource) {
		return nil
	}
	o := &unstructured.Unstructured{Object: template()}
	o.SetNamespace(namespace)
	o.SetName(name)
	if spec, _ := old["spec"].(map[string]any); subresource == "scale" && spec["replicas"] != nil {
		_ = unstructured.SetNestedField(o.Object, spec["replicas"], "spec", "replicas")
	}
	return o
}

var templates = map[string]func() map[string]any{
	"pods": func() map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": podSpec()}
	},
	"serviceaccounts": func() map[string]any { return map[string]any{"apiVersion": "v1", "kind": "ServiceAccount"} },
	"nodes":           func() map[string]any { return map[string]any{"apiVersion": "v1", "kind": "Node"} },
	"services": func() map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}
	},
	"deployments.apps":  workload("Deployment", nil),
	"replicasets.apps":  workload("ReplicaSet", nil),
	"statefulsets.apps": workload("StatefulSet", map[string]any{"serviceName": "s"}),
	"replicationcontrollers": func() map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ReplicationController", "spec": map[string]any{"template": podTemplate()}}
	},
}

func workload(kind string, further map[string]any) func() map[string]any {
	return func() map[string]any {
		spec := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "e2e"}}, "template": podTemplate()}
		maps.Copy(spec, further)
		return map[string]any{"apiVersion": "apps/v1", "kind": kind, "spec": spec}
	}
}

func podTemplate() map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "e2e"}}, "spec": podSpec()}
}

func podSpec() map[string]any {
	return map[string]any{"containers": []any{map[string]any{"name": "app", "image": "example.com/app:1"}}}
}
