package parity

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	holdschema "hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/world"
)

// reach makes what the case describes exist on S, and waits until the server's policies see it.
func (j *Judge) reach(ctx context.Context, c fixture.Case, server *cluster.APIServer) error {
	wanted := append([]*unstructured.Unstructured{}, c.Seed...)
	if o := before(c.Cluster.Resources, c.Request, wanted); o != nil {
		wanted = append(wanted, o)
	}
	if _, err := j.world.Reach(ctx, c.Cluster.Resources, wanted); err != nil {
		return err
	}
	if c.Request.Namespace != "" {
		if err := j.world.Namespace(ctx, c.Request.Namespace); err != nil {
			return err
		}
	}
	if err := j.arrived(ctx, c, server); err != nil {
		return err
	}
	if c.Cluster.Allow != nil {
		return j.permit(ctx, c)
	}
	return nil
}

// before is the object that must exist before the request: the old one, or the least one that a
// subresource can be asked of.
func before(t *holdschema.Table, r harness.Request, seed []*unstructured.Unstructured) *unstructured.Unstructured {
	if r.Subresource != "" && r.Operation != admission.Connect {
		for _, o := range seed {
			resource, ok := t.ForKind(o.GroupVersionKind())
			if ok && resource.GVR.GroupResource() == r.Resource.GroupResource() && o.GetName() == r.Name && o.GetNamespace() == r.Namespace {
				return nil
			}
		}
		if parent := world.Parent(r.Resource, r.Subresource, r.Namespace, r.Name, r.OldObject); parent != nil {
			return parent
		}
	}
	if r.OldObject == nil {
		return nil
	}
	o := (&unstructured.Unstructured{Object: r.OldObject}).DeepCopy()
	if o.GetName() == "" {
		o.SetName(r.Name)
	}
	if o.GetNamespace() == "" && r.Resource != namespaces {
		o.SetNamespace(r.Namespace)
	}
	return o
}

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// arrived waits until the server's policies see the namespaces and params as S stores them.
func (j *Judge) arrived(ctx context.Context, c fixture.Case, server *cluster.APIServer) error {
	names := map[string]bool{metav1.NamespaceDefault: true}
	if c.Request.Namespace != "" {
		names[c.Request.Namespace] = true
	}
	kinds := map[admissionv1.ParamKind]bool{}
	for _, o := range c.Cluster.Params {
		apiVersion, kind := o.GroupVersionKind().ToAPIVersionAndKind()
		kinds[admissionv1.ParamKind{APIVersion: apiVersion, Kind: kind}] = true
		if o.GetNamespace() != "" {
			names[o.GetNamespace()] = true
		}
	}
	for _, kind := range j.gate.ParamKinds() {
		kinds[kind] = true
	}
	for name := range names {
		stored, err := j.servers.Admin.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := j.gate.Namespace(ctx, server, name, stored.Labels, stored.Annotations); err != nil {
			return err
		}
		for kind := range kinds {
			if err := j.params(ctx, c, server, kind, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *Judge) params(ctx context.Context, c fixture.Case, server *cluster.APIServer, kind admissionv1.ParamKind, namespace string) error {
	stored, err := j.stored(ctx, c, kind, namespace)
	if err != nil || stored == nil {
		return err
	}
	wanted := map[string]bool{}
	for _, o := range stored {
		wanted[fmt.Sprintf("%s/%s@%s", o.GetNamespace(), o.GetName(), o.GetResourceVersion())] = true
	}
	return j.gate.Params(ctx, server, kind, namespace, wanted)
}

// stored lists the objects of a kind on S: in a namespace, or all of a cluster-scoped kind. It is
// nil for a kind that is not served.
func (j *Judge) stored(ctx context.Context, c fixture.Case, kind admissionv1.ParamKind, namespace string) ([]*unstructured.Unstructured, error) {
	resource, ok := c.Cluster.Resources.ForKind(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
	if !ok {
		return nil, nil
	}
	if !resource.Namespaced {
		namespace = ""
	}
	list, err := j.servers.Dynamic.Resource(resource.GVR).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := make([]*unstructured.Unstructured, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// live is the case's cluster with namespaces and params as S stores them.
func (j *Judge) live(ctx context.Context, c fixture.Case) (harness.Cluster, error) {
	cluster := c.Cluster
	cluster.Namespaces = map[string]*corev1.Namespace{}
	if name := c.Request.Namespace; name != "" {
		stored, err := j.servers.Admin.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return cluster, err
		}
		cluster.Namespaces[name] = stored
	}
	if cluster.Params == nil {
		return cluster, nil
	}
	cluster.Params = []*unstructured.Unstructured{}
	for _, kind := range j.gate.ParamKinds() {
		all, err := j.stored(ctx, c, kind, metav1.NamespaceAll)
		if err != nil {
			return cluster, err
		}
		cluster.Params = append(cluster.Params, all...)
	}
	return cluster, nil
}
