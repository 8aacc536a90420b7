package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// customKind is what WithCRDs keeps of a definition.
type customKind struct {
	resource   string
	namespaced bool
	conversion apiextensionsv1.ConversionStrategyType
	versions   []customVersion // in the definition's order
}

type customVersion struct {
	name          string
	live          bool // served or stored: there can be objects of it
	status, scale bool
	schema        *structural.Structural
}

func (k *customKind) version(name string) (customVersion, bool) {
	i := slices.IndexFunc(k.versions, func(v customVersion) bool { return v.name == name })
	if i < 0 {
		return customVersion{}, false
	}
	return k.versions[i], true
}

func (v customVersion) has(subresource string) bool {
	switch subresource {
	case "":
		return true
	case "status":
		return v.status
	case "scale":
		return v.scale
	}
	return false
}

// equivalents lists all versions of the definition, served or not (apiextensions-apiserver
// pkg/apiserver/customresource_handler.go, getOrCreateServingInfoFor, registers every one).
func (k *customKind) equivalents(gvr schema.GroupVersionResource, subresource string) []schema.GroupVersionResource {
	var out []schema.GroupVersionResource
	for _, v := range k.versions {
		if v.has(subresource) {
			out = append(out, gvr.GroupResource().WithVersion(v.name))
		}
	}
	return out
}

var (
	objectVerbs      = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	subresourceVerbs = []string{"get", "patch", "update"}
)

// WithCRDs is the table of a server that also serves these definitions, which are taken as
// established. It names everything that is wrong with them, and refuses a definition of a
// resource that the table already has. The definitions are not changed.
func (t *Table) WithCRDs(crds ...*apiextensionsv1.CustomResourceDefinition) (*Table, error) {
	if len(crds) == 0 {
		return t, nil
	}
	c := &Table{minor: t.minor, custom: map[schema.GroupKind]*customKind{}}
	for gk, k := range t.custom {
		c.custom[gk] = k
	}
	taken := map[schema.GroupResource]bool{}
	for _, r := range t.resources {
		taken[r.GVR.GroupResource()] = true
	}
	resources := slices.Clone(t.resources)
	var errs []error
	for i, crd := range crds {
		if crd == nil {
			errs = append(errs, fmt.Errorf("definition %d is nil", i))
			continue
		}
		added, kind, err := define(crd)
		gr := schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
		gk := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("custom resource definition %q: %w", crd.Name, err))
			continue
		case taken[gr]:
			errs = append(errs, fmt.Errorf("custom resource definition %q: resource %s is already served; give one definition of it", crd.Name, gr))
			continue
		case c.custom[gk] != nil:
			errs = append(errs, fmt.Errorf("custom resource definition %q: kind %s is already defined; give one definition of it", crd.Name, gk))
			continue
		}
		taken[gr] = true
		c.custom[gk] = kind
		resources = append(resources, added...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	c.index(resources)
	return c, nil
}

// define turns one definition into its served endpoints.
func define(crd *apiextensionsv1.CustomResourceDefinition) ([]Resource, *customKind, error) {
	spec := crd.Spec.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(spec)
	if err := checkDefinition(crd.Name, spec); err != nil {
		return nil, nil, err
	}
	kind := &customKind{resource: spec.Names.Plural, namespaced: spec.Scope == apiextensionsv1.NamespaceScoped, conversion: spec.Conversion.Strategy}
	var out []Resource
	for i := range spec.Versions {
		v := &spec.Versions[i]
		s, err := structuralSchema(v, spec.PreserveUnknownFields)
		if err != nil {
			return nil, nil, fmt.Errorf("spec.versions[%d] (%s): %w", i, v.Name, err)
		}
		sub := v.Subresources
		kind.versions = append(kind.versions, customVersion{
			name: v.Name, schema: s, live: v.Served || v.Storage,
			status: sub != nil && sub.Status != nil,
			scale:  sub != nil && sub.Scale != nil,
		})
		if v.Served {
			out = append(out, customEndpoints(spec, kind.versions[i])...)
		}
	}
	return out, kind, nil
}

// customEndpoints lists what one version is served under (apiextensions-apiserver
// pkg/apiserver/customresource_discovery_controller.go, sync).
func customEndpoints(spec *apiextensionsv1.CustomResourceDefinitionSpec, v customVersion) []Resource {
	gv := schema.GroupVersion{Group: spec.Group, Version: v.name}
	main := Resource{
		GVR:        gv.WithResource(spec.Names.Plural),
		Kind:       gv.WithKind(spec.Names.Kind),
		Namespaced: spec.Scope == apiextensionsv1.NamespaceScoped,
		Verbs:      objectVerbs,
	}
	out := []Resource{main}
	if v.status {
		status := main
		status.Subresource, status.Verbs = "status", subresourceVerbs
		out = append(out, status)
	}
	if v.scale {
		scale := main
		scale.Subresource, scale.Verbs = "scale", subresourceVerbs
		scale.Kind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
		out = append(out, scale)
	}
	return out
}

// checkDefinition finds what would make the server refuse or not serve the definition, as far as
// it matters here (apiextensions-apiserver pkg/apis/apiextensions/validation).
func checkDefinition(name string, spec *apiextensionsv1.CustomResourceDefinitionSpec) error {
	var errs []error
	addf := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if e := validation.IsDNS1123Subdomain(spec.Group); len(e) > 0 || !strings.Contains(spec.Group, ".") {
		addf("spec.group %q must be a domain name with a dot, such as example.com", spec.Group)
	}
	if e := validation.IsDNS1035Label(spec.Names.Plural); len(e) > 0 {
		addf("spec.names.plural %q must be a lower-case name", spec.Names.Plural)
	}
	if e := validation.IsDNS1035Label(strings.ToLower(spec.Names.Kind)); len(e) > 0 {
		addf("spec.names.kind %q must be a name", spec.Names.Kind)
	}
	if want := spec.Names.Plural + "." + spec.Group; name != want {
		addf("metadata.name must be %q, the plural and the group", want)
	}
	if spec.Scope != apiextensionsv1.NamespaceScoped && spec.Scope != apiextensionsv1.ClusterScoped {
		addf("spec.scope %q must be Namespaced or Cluster", spec.Scope)
	}
	switch spec.Conversion.Strategy {
	case apiextensionsv1.NoneConverter, apiextensionsv1.WebhookConverter:
	default:
		addf("spec.conversion.strategy %q must be None or Webhook", spec.Conversion.Strategy)
	}
	seen, served := map[string]bool{}, false
	for i, v := range spec.Versions {
		if e := validation.IsDNS1035Label(v.Name); len(e) > 0 {
			addf("spec.versions[%d].name %q must be a lower-case name, such as v1", i, v.Name)
		}
		if seen[v.Name] {
			addf("spec.versions[%d]: version %q is there twice", i, v.Name)
		}
		seen[v.Name] = true
		served = served || v.Served
	}
	if !served {
		addf("spec.versions: no version is served, set served: true")
	}
	return errors.Join(errs...)
}

// structuralSchema is nil for a version without a schema (a legacy definition with
// preserveUnknownFields, or one that the server would refuse; nothing is defaulted then).
func structuralSchema(v *apiextensionsv1.CustomResourceDefinitionVersion, preserve bool) (*structural.Structural, error) {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil, nil
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s, err := structural.NewStructural(&internal)
	if err != nil {
		if preserve {
			return nil, nil
		}
		return nil, fmt.Errorf("schema is not structural: %w", err)
	}
	if !preserve {
		s = s.DeepCopy()
		if err := structuraldefaulting.PruneDefaults(s); err != nil {
			return nil, fmt.Errorf("schema: defaults: %w", err)
		}
	}
	return s, nil
}

// Conversion tells how a custom kind's versions are converted. It is false for a kind that no
// definition describes.
func (t *Table) Conversion(gk schema.GroupKind) (apiextensionsv1.ConversionStrategyType, bool) {
	k, ok := t.custom[gk]
	if !ok {
		return "", false
	}
	return k.conversion, true
}
