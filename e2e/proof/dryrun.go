package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/e2e/kit/send"
	"hangar.io/holdshort/e2e/kit/world"
)

// Try sends an object as a client would that creates it, as a dry run where the server knows one. It
// returns what the server would store, or why it finds the object invalid. An error means that it gave
// neither.
func (s *Server) Try(ctx context.Context, o *unstructured.Unstructured) (stored *unstructured.Unstructured, refusal string, err error) {
	q, err := s.creation(ctx, o)
	if apierrors.IsInvalid(err) {
		return nil, err.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	answer, err := send.Do(ctx, s.APIServer, builtIn, q)
	switch {
	case err != nil:
		return nil, "", err
	case q.Operation == admission.Connect && slices.ContainsFunc(unreachable, func(text string) bool { return strings.Contains(answer.Status.Message, text) }):
		return o, "", nil
	case answer.Status.Reason == metav1.StatusReasonInvalid || answer.Status.Reason == metav1.StatusReasonBadRequest:
		return nil, answer.Status.Message, nil
	case answer.Code >= 400:
		return nil, "", fmt.Errorf("%s %s: %d %s", o.GetKind(), o.GetName(), answer.Code, answer.Status.Message)
	}
	stored = &unstructured.Unstructured{}
	if err := json.Unmarshal(answer.Body, &stored.Object); err != nil {
		return nil, "", err
	}
	stored.Object = integers(stored.Object)
	return stored, "", nil
}

var builtIn = schema.BuiltIn(schema.Newest)

// unreachable is what a server says of an admitted CONNECT to what runs nowhere (kubernetes
// pkg/registry/core/pod/strategy.go, streamLocation; pkg/registry/core/service/proxy; nodes).
var unreachable = []string{"does not have a host assigned", "no endpoints available", "no preferred addresses found", "address not allowed"}

// creation is the request that an object is created with. What it needs is made.
func (s *Server) creation(ctx context.Context, o *unstructured.Unstructured) (harness.Request, error) {
	r, ok := endpointOf(builtIn, o.GroupVersionKind())
	if !ok {
		return harness.Request{}, fmt.Errorf("%s is not served", o.GroupVersionKind())
	}
	q := harness.Request{
		Operation: admission.Create, Resource: r.GVR, Subresource: r.Subresource, Kind: r.Kind,
		Name: o.GetName(), Object: o.Object, User: administrator, DryRun: true,
	}
	if r.Namespaced {
		q.Namespace = o.GetNamespace()
	}
	debugged, hasDebug, _ := unstructured.NestedSlice(o.Object, "spec", "ephemeralContainers")
	var err error
	switch {
	case r.Kind.Kind == "Pod" && hasDebug:
		q.Operation, q.Subresource = admission.Update, "ephemeralcontainers"
		q.Object, err = s.debug(ctx, o, debugged)
		return q, err
	case strings.HasSuffix(r.Kind.Kind, "Options"):
		q.Operation, q.DryRun = admission.Connect, false
		q.Object = maps.Clone(o.Object)
		delete(q.Object, "metadata")
	case r.Subresource != "" && !r.Serves("create"):
		q.Operation = admission.Update
	}
	of := r.GVR
	if r.Kind.Kind == "Binding" {
		of.Resource = "pods"
	}
	if parent := world.Parent(of, "any", q.Namespace, q.Name, nil); parent != nil && (r.Subresource != "" || of != r.GVR) {
		_, err = s.World.Reach(ctx, builtIn, []*unstructured.Unstructured{parent})
	}
	return q, err
}

// debug makes the pod without its debug containers, to which only their own subresource adds them, and
// returns the stored pod with them.
func (s *Server) debug(ctx context.Context, o *unstructured.Unstructured, containers []any) (map[string]any, error) {
	plain := o.DeepCopy()
	unstructured.RemoveNestedField(plain.Object, "spec", "ephemeralContainers")
	if _, err := s.World.Reach(ctx, builtIn, []*unstructured.Unstructured{plain}); err != nil {
		return nil, err
	}
	r, _ := builtIn.ForKind(o.GroupVersionKind())
	stored, err := s.World.Get(ctx, r.GVR, o.GetNamespace(), o.GetName())
	if err != nil {
		return nil, err
	}
	return stored.Object, unstructured.SetNestedSlice(stored.Object, containers, "spec", "ephemeralContainers")
}
