// Package world keeps the objects of an API server equal to what a case needs: it creates what
// is missing, replaces what differs and deletes what an earlier case needed and this one does
// not.
package world

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/e2e/kit/wait"
)

const limit = 20 * time.Second // for one object to be gone, or a kind to be served

// World is the objects that were made through it. It is not safe for concurrent use.
type World struct {
	client dynamic.Interface
	have   map[key]made
	names  []key // of have, in the order of creation
}

type key struct {
	resource        kschema.GroupResource
	namespace, name string
}

type made struct {
	gvr    kschema.GroupVersionResource
	wanted string // JSON
}

var (
	namespaces = kschema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	accounts   = kschema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	crds       = kschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// New returns an empty world on a server.
func New(client dynamic.Interface) *World { return &World{client: client, have: map[key]made{}} }

// Reach makes the objects exist as wanted, in their order, and tells whether anything had to be
// changed. Of two objects of one name the later is wanted. Namespaces and
// CustomResourceDefinitions stay when they are not wanted any more.
func (w *World) Reach(ctx context.Context, t *schema.Table, wanted []*unstructured.Unstructured) (bool, error) {
	plan, order, err := w.plan(t, wanted)
	if err != nil {
		return false, err
	}
	changed := false
	for i := len(w.names) - 1; i >= 0; i-- {
		k := w.names[i]
		if _, ok := plan[k]; !ok && k.resource != namespaces.GroupResource() && k.resource != crds.GroupResource() {
			if err := w.remove(ctx, k); err != nil {
				return false, err
			}
			changed = true
		}
	}
	for _, k := range order {
		o := plan[k]
		text, err := json.Marshal(o.Object)
		if err != nil {
			return false, err
		}
		if w.have[k].wanted == string(text) {
			continue
		}
		changed = true
		gvr := o.gvr
		if err := w.create(ctx, t, k, gvr, o.Unstructured); err != nil {
			return false, fmt.Errorf("%s %s: %w", o.GetKind(), namespacedName(k), err)
		}
		if _, ok := w.have[k]; !ok {
			w.names = append(w.names, k)
		}
		w.have[k] = made{gvr: gvr, wanted: string(text)}
	}
	return changed, nil
}

type planned struct {
	*unstructured.Unstructured
	gvr kschema.GroupVersionResource
}

func (w *World) plan(t *schema.Table, wanted []*unstructured.Unstructured) (map[key]planned, []key, error) {
	plan, order := map[key]planned{}, []key(nil)
	for _, o := range wanted {
		resource, ok := t.ForKind(o.GroupVersionKind())
		if !ok {
			return nil, nil, fmt.Errorf("%s %s: the kind is not served", o.GroupVersionKind(), o.GetName())
		}
		k := key{resource.GVR.GroupResource(), o.GetNamespace(), o.GetName()}
		if !resource.Namespaced {
			k.namespace = ""
		} else if k.namespace == "" {
			return nil, nil, fmt.Errorf("%s %s: no namespace", o.GetKind(), o.GetName())
		}
		if _, ok := plan[k]; !ok {
			order = append(order, k)
		}
		plan[k] = planned{o, resource.GVR}
	}
	return plan, order, nil
}

// Get returns an object as it is stored.
func (w *World) Get(ctx context.Context, gvr kschema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	return w.at(gvr, namespace).Get(ctx, name, metav1.GetOptions{})
}

// Touched forgets an object that a request may have changed, so that the next Reach makes it anew.
func (w *World) Touched(gr kschema.GroupResource, namespace, name string) {
	k := key{gr, namespace, name}
	if m, ok := w.have[k]; ok {
		m.wanted = ""
		w.have[k] = m
	}
}

func (w *World) at(gvr kschema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return w.client.Resource(gvr)
	}
	return w.client.Resource(gvr).Namespace(namespace)
}

// remove deletes an object at once and waits until it is gone. It takes finalizers away.
func (w *World) remove(ctx context.Context, k key) error {
	m := w.have[k]
	if err := w.erase(ctx, m.gvr, k); err != nil {
		return fmt.Errorf("delete %s %s: %w", k.resource, namespacedName(k), err)
	}
	delete(w.have, k)
	for i := range w.names {
		if w.names[i] == k {
			w.names = append(w.names[:i:i], w.names[i+1:]...)
			break
		}
	}
	return nil
}

func (w *World) erase(ctx context.Context, gvr kschema.GroupVersionResource, k key) error {
	client, now := w.at(gvr, k.namespace), int64(0)
	return wait.Until(ctx, limit, "its end", func(ctx context.Context) error {
		err := client.Delete(ctx, k.name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		o, err := client.Get(ctx, k.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil && len(o.GetFinalizers()) > 0 {
			o.SetFinalizers(nil)
			_, err = client.Update(ctx, o, metav1.UpdateOptions{})
		}
		if err == nil {
			err = fmt.Errorf("still there")
		}
		return err
	})
}

func namespacedName(k key) string {
	if k.namespace == "" {
		return k.name
	}
	return k.namespace + "/" + k.name
}
