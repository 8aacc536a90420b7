package main

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// author writes plausible partial objects: fields are there with a probability that differs from
// object to object, values come from small pools of the ones that defaulting looks at.
type author struct {
	*rand.Rand
	density float64
}

// write is a random object of a kind, as JSON.
func (a *author) write(kind schema.GroupVersionKind) (map[string]any, error) {
	typed, err := scheme.New(kind)
	if err != nil {
		return nil, err
	}
	a.density = []float64{0.02, 0.1, 0.3, 0.6, 0.9}[a.IntN(5)]
	obj := a.object(reflect.TypeOf(typed).Elem(), 0)
	delete(obj, "apiVersion")
	delete(obj, "kind")
	if obj["metadata"] == nil {
		obj["metadata"] = map[string]any{"name": "x"}
	}
	return obj, nil
}

func (a *author) object(t reflect.Type, depth int) map[string]any {
	obj := map[string]any{}
	// Deep down only few fields, so that objects stay small.
	p := a.density
	if depth > 3 {
		p = min(p, 0.35)
	}
	if depth > 12 {
		p = 0
	}
	for _, f := range jsonFields(t) {
		always := f.name == "spec" || f.name == "template" || f.name == "containers"
		if always && depth < 5 && a.Float64() < 0.9 || a.Float64() < p {
			if v, ok := a.value(f.name, f.typ, depth+1); ok {
				obj[f.name] = v
			}
		}
	}
	if name := typeName(t); name == "core/v1.Volume" || name == "core/v1.VolumeProjection" {
		a.one(obj)
	}
	return obj
}

// one leaves a single field beside the name: more sources of a volume than one are not valid, and
// strategies look at the first only.
func (a *author) one(obj map[string]any) {
	names := slices.Sorted(maps.Keys(obj))
	a.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	kept := false
	for _, n := range names {
		if n == "name" {
			continue
		}
		if kept {
			delete(obj, n)
		}
		kept = kept || obj[n] != nil
	}
}

func (a *author) value(field string, t reflect.Type, depth int) (any, bool) {
	if a.Float64() < 0.02 {
		return nil, true // null
	}
	if v, ok := a.special(t); ok {
		return v, v != nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return a.value(field, t.Elem(), depth)
	case reflect.Struct:
		return a.object(t, depth), true
	case reflect.Slice:
		return a.list(field, t, depth)
	case reflect.Map:
		out := map[string]any{}
		for range a.IntN(3) {
			if v, ok := a.value(field, t.Elem(), depth+1); ok && v != nil {
				out[a.pick(keys)] = v
			}
		}
		return out, true
	case reflect.String:
		return a.text(field), true
	case reflect.Bool:
		return a.IntN(2) == 0, true
	case reflect.Int32, reflect.Int64, reflect.Int:
		return []int64{0, 1, 2, 80, 443, -1, 3600}[a.IntN(7)], true
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return int64(a.IntN(3)), true
	case reflect.Float64:
		return 0.5, true
	}
	return nil, false
}

func (a *author) list(field string, t reflect.Type, depth int) (any, bool) {
	if t.Elem().Kind() == reflect.Uint8 {
		return "aGVsbG8=", true
	}
	n := a.IntN(3)
	if field == "containers" {
		n = 1 + a.IntN(2)
	}
	out := make([]any, 0, n)
	for range n {
		if v, ok := a.value(field, t.Elem(), depth+1); ok && v != nil {
			out = append(out, v)
		}
	}
	return out, true
}

// special writes values of types with a JSON form of their own.
func (a *author) special(t reflect.Type) (any, bool) {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return a.pick([]string{"0", "1", "2", "100m", "1500u", "1n", "1Gi", "0.5", "1e3", "1000m", "128Mi"}), true
	case reflect.TypeFor[metav1.Time]():
		return "2024-01-02T03:04:05Z", true
	case reflect.TypeFor[metav1.MicroTime]():
		return "2024-01-02T03:04:05.000006Z", true
	case reflect.TypeFor[metav1.Duration]():
		return "1m0s", true
	case reflect.TypeFor[intstr.IntOrString]():
		return []any{int64(0), int64(8080), "", "http", "25%"}[a.IntN(5)], true
	case reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1]():
		return map[string]any{"a": int64(1)}, true
	}
	switch typeName(t) {
	case "meta/v1.ObjectMeta":
		return a.metadata(), true
	case "apiextensions/v1.JSON":
		return map[string]any{"a": "b"}, true
	case "apiextensions/v1.JSONSchemaProps":
		return map[string]any{"type": "object"}, true
	}
	if t.Kind() == reflect.Struct && t.Implements(marshaler) {
		return nil, true // other types with a JSON form of their own
	}
	return nil, false
}

func (a *author) metadata() map[string]any {
	meta := map[string]any{}
	if a.IntN(4) > 0 {
		meta["name"] = a.pick([]string{"x", "kube-system", "y"})
	} else {
		meta["generateName"] = "g-"
	}
	for _, m := range []string{"labels", "annotations"} {
		if a.IntN(3) == 0 {
			meta[m] = map[string]any{a.pick(keys): a.pick(words)}
		}
	}
	for _, f := range []string{"resourceVersion", "uid", "namespace"} {
		if a.Float64() < a.density/4 {
			meta[f] = "77"
		}
	}
	if a.Float64() < a.density/4 {
		meta["generation"] = int64(a.IntN(9))
	}
	if a.Float64() < a.density/4 {
		meta["finalizers"] = []any{"example.com/f", "kubernetes"}[:1+a.IntN(2)]
	}
	if a.Float64() < a.density/8 {
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u"}}
	}
	return meta
}

func (a *author) pick(pool []string) string { return pool[a.IntN(len(pool))] }

var (
	keys  = []string{"app", "cpu", "memory", "hugepages-2Mi", "example.com/gpu", "k", "ephemeral-storage"}
	words = []string{"", "a", "web", "None", "Default", "80"}
	// texts by JSON field: the values that defaulting and strategies look at.
	texts = map[string][]string{
		"type":            {"", "RollingUpdate", "Recreate", "OnDelete", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Container", "Pod", "Localhost", "RuntimeDefault", "Resource"},
		"kind":            {"User", "Group", "ServiceAccount", "Pod", "Shared"},
		"image":           images,
		"reference":       images,
		"sessionAffinity": {"", "None", "ClientIP"},
		"allocationMode":  {"", "ExactCount", "All"},
		"restartPolicy":   {"", "Always", "Never", "OnFailure"},
		"apiVersion":      {"", "v1", "apps/v1"},
		"apiGroup":        {"", "rbac.authorization.k8s.io"},
		"policyTypes":     {"Ingress", "Egress"},
		"ip":              {"", "10.0.0.1"},
		"podIP":           {"", "10.0.0.2"},
		"podCIDR":         {"", "10.1.0.0/24"},
		"phase":           {"", "Pending", "Running", "Active"},
	}
	images = []string{
		"", "nginx", "nginx:latest", "nginx:1", "registry.example.com/a/b", "registry.example.com:5000/a/b:v1", "localhost/x",
		"Nginx", "a/B", "A/b", "a:b:c", "nginx@sha256:" + strings.Repeat("a", 64), "nginx:latest@sha256:" + strings.Repeat("b", 64),
		"nginx@sha256:" + strings.Repeat("a", 63), "nginx@md5:" + strings.Repeat("a", 32), strings.Repeat("c", 64), "a//b", " nginx", "nginx:", "[::1]:5000/x:y",
		"docker.io/nginx", "example.com", "example.com:5000", "nginx:" + strings.Repeat("t", 129), "index.docker.io/library/nginx",
		strings.Repeat("p/", 127) + "q", strings.Repeat("p/", 128) + "q",
	}
)

func (a *author) text(field string) string {
	if pool := texts[field]; pool != nil && a.IntN(5) > 0 {
		return a.pick(pool)
	}
	return a.pick(words)
}
