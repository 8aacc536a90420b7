package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	"hangar.io/holdshort/cel/schema"
)

// none is what --params and --allow take to say that a cluster holds nothing of that.
const none = "none"

// saysNone tells whether the values of a flag say none, which excludes other ones.
func saysNone(flag string, values []string) (bool, error) {
	if !slices.Contains(values, none) {
		return false, nil
	}
	if len(values) > 1 {
		return false, withHint(fmt.Errorf("%s none excludes every other %s", flag, flag), "leave out one of them")
	}
	return true, nil
}

// clusterFlags supply what a policy could see on a cluster.
type clusterFlags struct {
	crds            []string
	params          []string
	allow           []string
	namespaceLabels map[string]string
}

func (f *clusterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.crds, "crd", nil, "CustomResourceDefinitions: `FILE|DIR` (repeatable)")
	flags.StringArrayVar(&f.params, "params", nil, "objects that bindings take as params: `FILE|DIR` (repeatable), or none")
	flags.StringArrayVar(&f.allow, "allow", nil, "what the authorizer allows: `'USER VERB RESOURCE'` (repeatable), or none. USER is a name, @GROUP or *; RESOURCE is plural[.group][/subresource] [NAMESPACE[/NAME]] or a /PATH, without a namespace or name for all of them; * is any")
	flags.StringToStringVar(&f.namespaceLabels, "namespace-labels", nil, "labels of the namespace of the request: `KEY=VALUE,...`")
}

// clusterOf is what the objects beside policies say of the cluster.
func clusterOf(b *manifest.Bundle) (harness.Cluster, error) {
	c := harness.Cluster{Namespaces: map[string]*corev1.Namespace{}, Params: givenParams(b)}
	for _, ns := range b.Namespaces {
		c.Namespaces[ns.Name] = ns
	}
	return c, addResources(&c, b.CRDs)
}

// addResources makes custom resources known.
func addResources(c *harness.Cluster, crds []*apiextensionsv1.CustomResourceDefinition) error {
	if len(crds) == 0 {
		return nil
	}
	if c.Resources == nil {
		c.Resources = schema.BuiltIn(schema.Newest)
	}
	table, err := c.Resources.WithCRDs(crds...)
	c.Resources = table
	return err
}

// cluster is what is known of the cluster from the flags besides.
func (f *clusterFlags) cluster(s subject, stdin io.Reader) (harness.Cluster, error) {
	c := s.cluster
	if len(f.crds) > 0 {
		more, err := manifest.Collect(manifest.Read(manifest.Source{Paths: f.crds, Stdin: stdin}))
		if err != nil {
			return c, err
		}
		if len(more.CRDs) == 0 {
			return c, fmt.Errorf("--crd %s: no CustomResourceDefinition in it", strings.Join(f.crds, ", "))
		}
		if err := addResources(&c, more.CRDs); err != nil {
			return c, err
		}
	}
	if err := f.addParams(&c, s.bundle, stdin); err != nil {
		return c, err
	}
	return c, f.addAllowed(&c)
}

// givenParams are the objects of a bundle, if they include what its bindings refer to. Otherwise
// the params are somewhere else, and nil says that nothing is known of them.
func givenParams(b *manifest.Bundle) []*unstructured.Unstructured {
	kinds := map[string]*admissionv1.ParamKind{}
	for _, p := range b.Policies {
		kinds[p.Name] = p.Spec.ParamKind
	}
	used := false
	for _, binding := range b.Bindings {
		kind, ref := kinds[binding.Spec.PolicyName], binding.Spec.ParamRef
		if kind == nil || ref == nil {
			continue
		}
		used = true
		found := false
		for _, o := range b.Objects {
			found = found || o.GetAPIVersion() == kind.APIVersion && o.GetKind() == kind.Kind && (ref.Name == "" || o.GetName() == ref.Name)
		}
		if !found {
			return nil
		}
	}
	if !used {
		return nil
	}
	return b.Objects
}

func (f *clusterFlags) addParams(c *harness.Cluster, bundle *manifest.Bundle, stdin io.Reader) error {
	if len(f.params) == 0 {
		return nil
	}
	c.Params = []*unstructured.Unstructured{}
	if empty, err := saysNone("--params", f.params); empty || err != nil {
		return err
	}
	given, err := manifest.Collect(manifest.Read(manifest.Source{Paths: f.params, Stdin: stdin}))
	if err != nil {
		return err
	}
	c.Params = append(c.Params, given.Objects...)
	if bundle != nil {
		c.Params = append(c.Params, bundle.Objects...)
	}
	return nil
}

func (f *clusterFlags) addAllowed(c *harness.Cluster) error {
	if len(f.allow) == 0 {
		return nil
	}
	c.Allow = []harness.Permission{}
	if empty, err := saysNone("--allow", f.allow); empty || err != nil {
		return err
	}
	for _, line := range f.allow {
		p, err := fixture.ParsePermission(line)
		if err != nil {
			return withHint(fmt.Errorf("--allow: %w", err), "for example --allow 'jane create deployments.apps shop' or --allow none")
		}
		c.Allow = append(c.Allow, p)
	}
	return nil
}

// withLabels is the cluster c in which a namespace has these labels besides its own. Only that
// namespace is described: a request looks at no other.
func withLabels(c harness.Cluster, namespace string, labels map[string]string) harness.Cluster {
	if len(labels) == 0 || namespace == "" {
		return c
	}
	ns := &corev1.Namespace{}
	if described := c.Namespaces[namespace]; described != nil {
		ns = described.DeepCopy()
	}
	ns.Name = namespace
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	maps.Copy(ns.Labels, labels)
	c.Namespaces = map[string]*corev1.Namespace{namespace: ns}
	return c
}
