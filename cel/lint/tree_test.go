package lint

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// tree is what a generator of expressions and objects knows of a value. It is made from the Go types
// and schemas themselves, not from cel/schema, whose mistakes it is to find.
type tree struct {
	form   form
	fields []member // of a record
	elem   *tree    // of a list or mapping
	least  int64    // of an int
	most   int64
	owner  string // the Go type of a record
}

type member struct {
	name     string
	optional bool
	nullable bool
	tree     *tree
}

type form int

const (
	text form = iota
	integer
	number
	truth
	record
	list
	mapping
	intOrText
	quantityText
	timeText
	bytesText
	anything
)

var treesOfTypes = map[reflect.Type]*tree{}

func treeOf(t reflect.Type) *tree {
	if t.Kind() == reflect.Pointer {
		return treeOf(t.Elem())
	}
	if known := treesOfTypes[t]; known != nil {
		return known
	}
	n := &tree{owner: t.Name()}
	treesOfTypes[t] = n
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		n.form = timeText
		return n
	case reflect.TypeFor[intstr.IntOrString]():
		n.form = intOrText
		return n
	case reflect.TypeFor[resource.Quantity]():
		n.form = quantityText
		return n
	case reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[metav1.Duration]():
		n.form = anything
		return n
	}
	switch t.Kind() {
	case reflect.String:
		n.form = text
	case reflect.Bool:
		n.form = truth
	case reflect.Int32:
		n.form, n.least, n.most = integer, math.MinInt32, math.MaxInt32
	case reflect.Int, reflect.Int64:
		n.form, n.least, n.most = integer, math.MinInt64, math.MaxInt64
	case reflect.Float32, reflect.Float64:
		n.form = number
	case reflect.Slice:
		n.form = list
		if t.Elem().Kind() == reflect.Uint8 {
			n.form = bytesText
			break
		}
		n.elem = treeOf(t.Elem())
	case reflect.Map:
		n.form, n.elem = mapping, treeOf(t.Elem())
	case reflect.Struct:
		n.form = record
		n.addFields(t)
	default:
		n.form = anything
	}
	return n
}

// leavesOut tells the fields that the sampler does not touch: what the server writes itself, what
// decides how the rest is read, and status.
func (s sampler) leavesOut(of *tree, name string) bool {
	switch name {
	case "kind", "apiVersion", "type", "ephemeralContainers":
		return true
	case "status":
		return !s.stored
	case "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "ownerReferences", "managedFields":
		return of.owner == "ObjectMeta" && !s.stored
	}
	return of.owner == "ObjectMeta" && name != "labels" && name != "annotations" && name != "finalizers" && name != "generateName"
}

func (n *tree) addFields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || name == "" && !f.Anonymous {
			continue
		}
		if name == "" {
			n.addFields(f.Type)
			continue
		}
		n.fields = append(n.fields, member{name: name, optional: strings.Contains(options, "omitempty"), tree: treeOf(f.Type)})
	}
}

// treeOfSchema is the tree of a custom resource.
func treeOfSchema(s *apiextensionsv1.JSONSchemaProps) *tree {
	n := &tree{}
	switch {
	case s.XIntOrString:
		n.form = intOrText
	case s.XPreserveUnknownFields != nil:
		n.form = anything
	case s.Type == "string":
		n.form = text
	case s.Type == "integer":
		n.form, n.least, n.most = integer, math.MinInt64, math.MaxInt64
	case s.Type == "number":
		n.form = number
	case s.Type == "boolean":
		n.form = truth
	case s.Type == "array":
		n.form, n.elem = list, treeOfSchema(s.Items.Schema)
		n.least = 0
		if s.MinItems != nil {
			n.least = *s.MinItems
		}
	case s.AdditionalProperties != nil:
		n.form, n.elem = mapping, treeOfSchema(s.AdditionalProperties.Schema)
	default:
		n.form = record
		for name, p := range s.Properties {
			n.fields = append(n.fields, member{name: name, optional: !slices.Contains(s.Required, name), nullable: p.Nullable, tree: treeOfSchema(&p)})
		}
		slices.SortFunc(n.fields, func(a, b member) int { return strings.Compare(a.name, b.name) })
	}
	return n
}

// sampler makes the values of objects.
type sampler struct {
	*rand.Rand
	// stored objects have what the server writes besides.
	stored bool
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (s sampler) chance(percent int) bool { return s.IntN(100) < percent }

var words = []string{"a", "b", "a-b", "main", "5m", "10", "1.5", "a.b.c", "127.0.0.1", "10.0.0.0/8", "https://a.example.com/b", "2026-01-02T03:04:05Z", "1Gi", "true", "1.2.3", "["}

var keys = []string{"a", "team", "app.kubernetes.io/name", "cpu", "memory"}

// enumerations are the values of texts that decide how the server reads the rest.
var enumerations = map[string][]string{
	"restartPolicy": {"Always", "Never", "OnFailure"}, "protocol": {"TCP", "UDP"}, "imagePullPolicy": {"Always", "Never", "IfNotPresent"},
	"pathType": {"Prefix", "Exact", "ImplementationSpecific"}, "dnsPolicy": {"ClusterFirst", "Default"}, "concurrencyPolicy": {"Allow", "Forbid"},
	"sessionAffinity": {"None", "ClientIP"}, "terminationMessagePolicy": {"File"}, "apiGroup": {"rbac.authorization.k8s.io"},
}

// filled are lists that API validation refuses to be empty.
var filled = map[string]bool{"containers": true, "verbs": true, "paths": true, "nodeSelectorTerms": true, "sources": true, "clusterRoleSelectors": true}

// demanded are fields that API validation wants although their type lets them be left out, by type.
var demanded = map[string]string{
	"Container": "image", "ExecAction": "command", "EphemeralVolumeSource": "volumeClaimTemplate", "ConfigMapVolumeSource": "name", "SecretVolumeSource": "secretName",
	"ConfigMapProjection": "name", "SecretProjection": "name",
}

// value is a new value of a tree.
func (s sampler) value(n *tree, name string, depth int) any {
	switch n.form {
	case text:
		if values := enumerations[name]; values != nil {
			return pick(s.Rand, values...)
		}
		return pick(s.Rand, words...)
	case integer:
		return max(n.least, min(n.most, pick(s.Rand, int64(1), 2, 3, 80, 1000, 0, -1, math.MaxInt64, math.MinInt64)))
	case number:
		return pick[any](s.Rand, 1.5, int64(1), -0.5)
	case truth:
		return s.chance(50)
	case intOrText:
		return pick[any](s.Rand, int64(1), int64(80), "50%", "http")
	case quantityText:
		return pick(s.Rand, "1", "0.5", "1Gi", "100m")
	case timeText:
		return "2026-01-02T03:04:05Z"
	case bytesText:
		return "YQ=="
	case mapping:
		m := map[string]any{}
		for range s.IntN(3) {
			v := s.value(n.elem, "", depth+1)
			if n.elem.form == text && s.chance(20) {
				v = ""
			}
			m[pick(s.Rand, keys...)] = v
		}
		return m
	case list:
		count := s.IntN(3)
		if filled[name] || n.least > 0 {
			count++
		}
		l := []any{}
		for range count {
			l = append(l, s.value(n.elem, "", depth+1))
		}
		return l
	case record:
		m := map[string]any{}
		for _, f := range n.fields {
			required := filled[f.name] || demanded[n.owner] == f.name || !f.optional && (f.tree.form != list || s.chance(50))
			if required || depth < 12 && !s.leavesOut(n, f.name) && s.chance(60/(depth+1)) {
				m[f.name] = s.value(f.tree, f.name, depth+1)
				if f.nullable && s.chance(40) {
					m[f.name] = nil
				}
				if l, ok := m[f.name].([]any); ok && len(l) == 0 && demanded[n.owner] == f.name {
					m[f.name] = []any{s.value(f.tree.elem, "", depth+1)}
				}
			}
		}
		return m
	}
	return pick[any](s.Rand, map[string]any{}, map[string]any{"a": int64(1)}, map[string]any{"a": "b"}, map[string]any{"a": []any{}})
}

// mutate adds to a record of an object what it may have besides.
func (s sampler) mutate(v any, n *tree, depth int) any {
	switch x := v.(type) {
	case map[string]any:
		if n.form != record {
			return v
		}
		out := map[string]any{}
		for k, y := range x {
			out[k] = y
		}
		for _, f := range n.fields {
			if y, ok := out[f.name]; ok {
				out[f.name] = s.mutate(y, f.tree, depth+1)
			} else if !s.leavesOut(n, f.name) && s.chance(25) {
				out[f.name] = s.value(f.tree, f.name, depth+1)
				if f.nullable && s.chance(40) {
					out[f.name] = nil
				}
			}
		}
		return out
	case []any:
		if n.form != list {
			return v
		}
		out := []any{}
		for _, y := range x {
			out = append(out, s.mutate(y, n.elem, depth+1))
		}
		if s.chance(30) {
			extra := s.value(n.elem, "", depth+1)
			if m, ok := extra.(map[string]any); ok && n.elem.owner == "Container" {
				m["image"] = "nginx"
			}
			out = append(out, extra)
		}
		return out
	}
	return v
}
