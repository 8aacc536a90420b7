package world

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/e2e/kit/wait"
)

// create makes one object, replacing one of the same name.
func (w *World) create(ctx context.Context, t *schema.Table, k key, gvr kschema.GroupVersionResource, wanted *unstructured.Unstructured) error {
	o := wanted.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	o.SetNamespace(k.namespace)
	switch gvr.GroupResource() {
	case namespaces.GroupResource():
		return w.namespace(ctx, o)
	case crds.GroupResource():
		return w.define(ctx, o)
	}
	if k.namespace != "" {
		if err := w.Namespace(ctx, k.namespace); err != nil {
			return err
		}
	}
	if err := w.account(ctx, o); err != nil {
		return err
	}
	ephemeral, hasEphemeral, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "ephemeralContainers")
	if gvr.Resource == "pods" {
		unstructured.RemoveNestedField(o.Object, "spec", "ephemeralContainers")
	}
	stored, err := w.put(ctx, k, gvr, o)
	if err != nil {
		return err
	}
	if gvr.Resource == "pods" && hasEphemeral {
		// Only their own subresource adds them (kubernetes pkg/apis/core/validation, ValidatePodCreate).
		if err := unstructured.SetNestedField(stored.Object, ephemeral, "spec", "ephemeralContainers"); err != nil {
			return err
		}
		if stored, err = w.at(gvr, k.namespace).Update(ctx, stored, metav1.UpdateOptions{}, "ephemeralcontainers"); err != nil {
			return err
		}
	}
	return w.finish(ctx, t, k, gvr, wanted, stored)
}

// put creates the object; one that is there already is deleted first.
func (w *World) put(ctx context.Context, k key, gvr kschema.GroupVersionResource, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	stored, err := w.at(gvr, k.namespace).Create(ctx, o, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return stored, err
	}
	if err := w.erase(ctx, gvr, k); err != nil {
		return nil, err
	}
	return w.at(gvr, k.namespace).Create(ctx, o, metav1.CreateOptions{})
}

// finish gives a created object what a create does not take: its status and its deletion.
func (w *World) finish(ctx context.Context, t *schema.Table, k key, gvr kschema.GroupVersionResource, wanted, stored *unstructured.Unstructured) error {
	client := w.at(gvr, k.namespace)
	status, hasStatus := wanted.Object["status"].(map[string]any)
	if _, served := t.Lookup(gvr, "status"); served && hasStatus && len(status) > 0 {
		merged, _ := stored.Object["status"].(map[string]any)
		if merged == nil {
			merged = map[string]any{}
		}
		maps.Copy(merged, status)
		stored.Object["status"] = merged
		if _, err := client.UpdateStatus(ctx, stored, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("status: %w", err)
		}
	}
	if wanted.GetDeletionTimestamp() == nil {
		return nil
	}
	if len(wanted.GetFinalizers()) == 0 {
		return errors.New("has a deletionTimestamp and no finalizer: a server would not hold it")
	}
	return client.Delete(ctx, k.name, metav1.DeleteOptions{})
}

// Namespace makes sure that a namespace exists, with its default ServiceAccount, without which
// the ServiceAccount plugin refuses pods.
func (w *World) Namespace(ctx context.Context, name string) error {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	o.SetName(name)
	if _, err := w.client.Resource(namespaces).Create(ctx, o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return w.serviceAccount(ctx, name, "default")
}

func (w *World) namespace(ctx context.Context, o *unstructured.Unstructured) error {
	if err := w.Namespace(ctx, o.GetName()); err != nil {
		return err
	}
	stored, err := w.client.Resource(namespaces).Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	stored.SetLabels(o.GetLabels()) // the server adds kubernetes.io/metadata.name again
	stored.SetAnnotations(o.GetAnnotations())
	_, err = w.client.Resource(namespaces).Update(ctx, stored, metav1.UpdateOptions{})
	return err
}

// account makes the ServiceAccount that a pod names.
func (w *World) account(ctx context.Context, o *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "serviceAccountName")
	if o.GetKind() != "Pod" || name == "" {
		return nil
	}
	return w.serviceAccount(ctx, o.GetNamespace(), name)
}

func (w *World) serviceAccount(ctx context.Context, namespace, name string) error {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount"}}
	o.SetName(name)
	_, err := w.client.Resource(accounts).Namespace(namespace).Create(ctx, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// define creates or replaces a CustomResourceDefinition and waits until it is served.
func (w *World) define(ctx context.Context, o *unstructured.Unstructured) error {
	client := w.client.Resource(crds)
	_, err := client.Create(ctx, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		stored, getErr := client.Get(ctx, o.GetName(), metav1.GetOptions{})
		if getErr != nil {
			return getErr
		}
		o.SetResourceVersion(stored.GetResourceVersion())
		_, err = client.Update(ctx, o, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	return wait.Until(ctx, limit, "the kind to be served", func(ctx context.Context) error {
		stored, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(stored.Object, "status", "conditions")
		for _, c := range conditions {
			if m, _ := c.(map[string]any); m["type"] == "Established" && m["status"] == "True" {
				return nil
			}
		}
		return errors.New("not established")
	})
}
