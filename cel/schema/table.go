package schema

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Oldest and Newest are the minor versions of Kubernetes 1 that the tables cover.
const (
	Oldest = 30
	Newest = 37
)

// Resource is one endpoint of the API server.
type Resource struct {
	GVR schema.GroupVersionResource
	// Subresource is empty for the resource itself.
	Subresource string
	// Kind is the kind that admission is told (apiserver pkg/endpoints/installer.go,
	// GetResourceKind): autoscaling/v1 Scale for deployments/scale, PodExecOptions for pods/exec.
	Kind       schema.GroupVersionKind
	Namespaced bool
	Verbs      []string
	// OffByDefault: served only if the server's --runtime-config says so.
	OffByDefault bool
}

// endpoint identifies a Resource within a Table.
type endpoint struct {
	gvr         schema.GroupVersionResource
	subresource string
}

// Table is the set of resources that a server serves. It is immutable.
type Table struct {
	minor     int
	resources []Resource // in registration order, preferred versions first
	byPath    map[endpoint]int
	byKind    map[schema.GroupVersionKind][]int
	byName    map[string][]int // plural name → resources, no subresources
	custom    map[schema.GroupKind]*customKind
}

var builtIn [Newest - Oldest + 1]struct {
	once  sync.Once
	table *Table
}

// BuiltIn is the table of Kubernetes 1.minor without custom resources. It panics outside of
// Oldest…Newest.
func BuiltIn(minor int) *Table {
	if minor < Oldest || minor > Newest {
		panic(fmt.Sprintf("schema: no table for Kubernetes 1.%d, only for 1.%d to 1.%d", minor, Oldest, Newest))
	}
	b := &builtIn[minor-Oldest]
	b.once.Do(func() {
		b.table = &Table{minor: minor, custom: map[schema.GroupKind]*customKind{}}
		b.table.index(builtInResources(minor))
	})
	return b.table
}

// Minor is the minor version of Kubernetes that the table describes.
func (t *Table) Minor() int { return t.minor }

func (t *Table) index(resources []Resource) {
	t.resources = resources
	t.byPath = make(map[endpoint]int, len(resources))
	t.byKind = make(map[schema.GroupVersionKind][]int, len(resources))
	t.byName = map[string][]int{}
	for i, r := range resources {
		t.byPath[endpoint{r.GVR, r.Subresource}] = i
		t.byKind[r.Kind] = append(t.byKind[r.Kind], i)
		if r.Subresource == "" {
			t.byName[r.GVR.Resource] = append(t.byName[r.GVR.Resource], i)
		}
	}
}

// Resources lists all endpoints, preferred versions first. The caller must not change it.
func (t *Table) Resources() []Resource { return t.resources }

// Lookup finds an endpoint. The subresource is empty for the resource itself.
func (t *Table) Lookup(gvr schema.GroupVersionResource, subresource string) (Resource, bool) {
	i, ok := t.byPath[endpoint{gvr, subresource}]
	if !ok {
		return Resource{}, false
	}
	return t.resources[i], true
}

// ForKind finds the resource whose objects have this kind. A kind that only subresources take is
// found if a single one does: policy/v1 Eviction is pods/eviction, but autoscaling/v1 Scale is
// several.
func (t *Table) ForKind(gvk schema.GroupVersionKind) (Resource, bool) {
	all := t.byKind[gvk]
	for _, i := range all {
		if r := t.resources[i]; r.Subresource == "" {
			return r, true
		}
	}
	if len(all) == 1 {
		return t.resources[all[0]], true
	}
	return Resource{}, false
}

// ForResource finds a resource by its plural name, "plural.group" or "plural.version.group". If
// several groups have it, the one registered first wins (core before the others); of its
// versions, the preferred one.
func (t *Table) ForResource(name string) (Resource, bool) {
	plural, rest, qualified := strings.Cut(name, ".")
	for _, i := range t.byName[plural] {
		r := t.resources[i]
		if !qualified || rest == r.GVR.Group || rest == strings.TrimSuffix(r.GVR.Version+"."+r.GVR.Group, ".") {
			return r, true
		}
	}
	return Resource{}, false
}

// Equivalents lists the resources under which the server holds the same objects, the given one
// included, in the server's order (apimachinery pkg/runtime/mapper.go, EquivalentResourcesFor):
// other versions that the server serves and events in both their groups. It is nil for an
// endpoint that does not exist.
func (t *Table) Equivalents(gvr schema.GroupVersionResource, subresource string) []schema.GroupVersionResource {
	if _, ok := t.byPath[endpoint{gvr, subresource}]; !ok {
		return nil
	}
	if main, ok := t.Lookup(gvr, ""); ok && t.custom[main.Kind.GroupKind()] != nil {
		return t.custom[main.Kind.GroupKind()].equivalents(gvr, subresource)
	}
	var out []schema.GroupVersionResource
	for _, i := range t.byName[gvr.Resource] {
		other := t.resources[i]
		if identity(other.GVR.GroupResource()) != identity(gvr.GroupResource()) {
			continue
		}
		if other.OffByDefault && other.GVR != gvr {
			continue
		}
		if _, ok := t.byPath[endpoint{other.GVR, subresource}]; ok {
			out = append(out, other.GVR)
		}
	}
	return out
}

// identity names what a resource is stored as. Two served resources are stored together: events of
// the core group and of events.k8s.io (kubernetes pkg/kubeapiserver/default_storage_factory_builder.go,
// AddCohabitatingResources; its other pairs are with the extensions group, last served in 1.21).
func identity(gr schema.GroupResource) schema.GroupResource {
	if gr.Resource == "events" && gr.Group == "events.k8s.io" {
		gr.Group = ""
	}
	return gr
}

// Serves tells whether an endpoint takes a verb.
func (r Resource) Serves(verb string) bool { return slices.Contains(r.Verbs, verb) }
