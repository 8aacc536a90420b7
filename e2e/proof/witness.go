package proof

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/cel/witness"
	"hangar.io/holdshort/e2e/kit/send"
	"hangar.io/holdshort/e2e/kit/wait"
	"hangar.io/holdshort/e2e/kit/world"
)

// Replay is a witness on its way to the server.
type Replay struct {
	Subject Subject
	// Error is what the evaluator says of the expression.
	Error string
	// Why, unless empty, is why the witness cannot be sent.
	Why string
	// Expected is the denial that the harness gives for the request, and Answer the server's message.
	Expected, Answer string

	policy  *admissionv1.ValidatingAdmissionPolicy
	binding *admissionv1.ValidatingAdmissionPolicyBinding
	request harness.Request
	cluster harness.Cluster
	table   *schema.Table
}

// Same tells whether the server gave the denial that the harness gave.
func (r *Replay) Same() bool {
	return r.Why == "" && r.Answer != "" && strings.HasSuffix(r.Answer, r.Expected)
}

// Find has lint find the witness of a subject, and moves it into a namespace of the policy's name, so
// that the policies of many witnesses can be bound at once. It returns nil if lint finds none.
func Find(ctx context.Context, t *schema.Table, s Subject, name string) (*Replay, error) {
	policy, err := s.policy(t, name)
	if err != nil {
		return nil, err
	}
	free := s.binding(name)
	free.Spec.MatchResources = nil
	set, err := compile(policy, free)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	report, err := lint.Policy(ctx, set, name, lint.Options{Resources: t})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	for _, f := range report.Findings {
		if f.Witness == nil || f.Witness.Expression != s.at() {
			continue
		}
		r := &Replay{Subject: s, Error: f.Witness.Error, policy: policy, binding: s.binding(name), table: t}
		if r.Why = unsendable(f.Witness.Request); r.Why == "" {
			r.Why = r.move(ctx, f.Witness)
		}
		return r, nil
	}
	return nil, nil
}

func compile(p *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) (*harness.Set, error) {
	return harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, []*admissionv1.ValidatingAdmissionPolicyBinding{b})
}

// unsendable is why no client of the server can cause a request.
func unsendable(r harness.Request) string {
	if len(r.User.Groups) == 0 {
		return "authentication gives every user a group"
	}
	for key, values := range r.User.Extra {
		if key == "" || len(values) == 0 {
			return "impersonation takes no extra without a key or values"
		}
	}
	return ""
}

// move has the request in the policy's namespace and as a dry run, and what the harness says of that.
func (r *Replay) move(ctx context.Context, w *witness.Witness) string {
	name := r.policy.Name
	r.request, r.cluster = w.Request, w.Cluster
	q := &r.request
	q.Object, q.OldObject, q.Options = runtime.DeepCopyJSON(q.Object), runtime.DeepCopyJSON(q.OldObject), runtime.DeepCopyJSON(q.Options)
	if q.Operation != admission.Connect {
		q.DryRun = true
		if q.Options != nil {
			q.Options["dryRun"] = []any{metav1.DryRunAll}
		}
	}
	if q.Operation == admission.Create {
		// The server's own, except that one of a token is compared with the account's
		// (kubernetes pkg/registry/core/serviceaccount/storage/token.go, Create).
		unstructured.RemoveNestedField(q.Object, "metadata", "uid")
	}
	endpoint, ok := r.table.Lookup(q.Resource, q.Subresource)
	if !ok {
		return "the resource is not served"
	}
	if endpoint.Namespaced {
		r.cluster.Namespaces = map[string]*corev1.Namespace{name: namespaceLike(w.Cluster.Namespaces[q.Namespace], name)}
		q.Namespace = name
		for _, o := range []map[string]any{q.Object, q.OldObject} {
			if o != nil && q.Operation != admission.Connect {
				(&unstructured.Unstructured{Object: o}).SetNamespace(name)
			}
		}
	}
	params := r.cluster.Params
	r.cluster.Params = []*unstructured.Unstructured{}
	for _, p := range params {
		p = p.DeepCopy()
		p.SetNamespace(name)
		r.cluster.Params = append(r.cluster.Params, p)
	}
	r.cluster.Allow = []harness.Permission{{Verb: "*", APIGroup: "*", Resource: "*", Subresource: "*", Namespace: "*", Name: "*"}}
	return r.expect(ctx)
}

func namespaceLike(n *corev1.Namespace, name string) *corev1.Namespace {
	out := &corev1.Namespace{}
	if n != nil {
		out.Labels, out.Annotations = n.DeepCopy().Labels, n.DeepCopy().Annotations
	}
	out.Name = name
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	out.Labels[corev1.LabelMetadataName] = name
	return out
}

func (r *Replay) expect(ctx context.Context) string {
	set, err := compile(r.policy, r.binding)
	if err != nil {
		return err.Error()
	}
	prepared, err := harness.Prepare(r.request, r.cluster)
	if err != nil {
		return err.Error()
	}
	v := set.Evaluate(ctx, prepared, harness.Options{})
	for _, d := range v.Denials {
		if strings.Contains(d.Text, r.Error) {
			r.Expected = d.Text
			return ""
		}
	}
	return "it fails only in its own namespace, or when it is no dry run"
}

// seed is what has to exist before the request.
func (r *Replay) seed() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, n := range r.cluster.Namespaces {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		u.SetName(n.Name)
		u.SetLabels(n.Labels)
		u.SetAnnotations(n.Annotations)
		out = append(out, u)
	}
	for _, p := range r.cluster.Params {
		out = append(out, p)
	}
	q := r.request
	if q.Subresource != "" {
		if parent := world.Parent(q.Resource, q.Subresource, q.Namespace, q.Name, q.OldObject); parent != nil {
			return append(out, parent)
		}
	}
	if q.OldObject != nil {
		o := (&unstructured.Unstructured{Object: q.OldObject}).DeepCopy()
		if o.GetName() == "" {
			o.SetName(q.Name)
		}
		out = append(out, o)
	}
	return out
}

// Prepare makes what the request needs, before any policy is bound.
func (s *Server) Prepare(ctx context.Context, r *Replay) error {
	if _, err := world.New(s.Dynamic).Reach(ctx, r.table, r.seed()); err != nil {
		r.Why = fmt.Sprintf("what it needs cannot be made: %v", err)
		return nil
	}
	q := &r.request
	if q.Namespace != "" {
		if err := s.World.Namespace(ctx, q.Namespace); err != nil {
			return err
		}
	}
	if q.Operation == admission.Update && world.Whole(q.Subresource) {
		stored, err := s.World.Get(ctx, q.Resource, q.Namespace, q.Name)
		if err != nil {
			return err
		}
		(&unstructured.Unstructured{Object: q.Object}).SetResourceVersion(stored.GetResourceVersion())
	}
	_, err := s.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(ctx, r.policy, metav1.CreateOptions{})
	if err != nil {
		r.Why = fmt.Sprintf("the server refuses the policy: %v", err)
	}
	return nil
}

// Bind binds the policy of a witness.
func (s *Server) Bind(ctx context.Context, r *Replay) error {
	_, err := s.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(ctx, r.binding, metav1.CreateOptions{})
	return err
}

// Ask sends the request until the policy refuses it with the expected words, or the policy has had its
// time: policies, namespaces and params reach the server's caches by watches.
func (s *Server) Ask(ctx context.Context, r *Replay) error {
	err := wait.Until(ctx, arrival, "the denial", func(ctx context.Context) error {
		answer, err := send.Do(ctx, s.APIServer, r.table, r.request)
		var unsendable *send.Unsendable
		switch {
		case errors.As(err, &unsendable):
			r.Why = unsendable.Reason
			return nil
		case err != nil && ctx.Err() == nil:
			return wait.Stop(err)
		case err != nil:
			return err
		}
		r.Answer = answer.Status.Message
		if r.Answer == "" {
			r.Answer = fmt.Sprintf("%d, admitted", answer.Code)
		}
		if r.Same() {
			return nil
		}
		if answer.Status.Reason == metav1.StatusReasonInvalid && !strings.Contains(r.Answer, "ValidatingAdmissionPolicy") {
			r.Why = "the server finds it invalid before any policy looks: " + r.Answer
			return nil
		}
		return errors.New(r.Answer)
	})
	if err != nil && r.Answer == "" {
		return err
	}
	return nil
}

// InNamespace tells whether the request is for something in a namespace, so that the policies of other
// witnesses do not see it.
func (r *Replay) InNamespace() bool {
	return r.request.Namespace == r.policy.Name && r.request.Kind.Kind != "Namespace"
}

// Remove deletes the policy of a witness and its binding.
func (s *Server) Remove(ctx context.Context, r *Replay) error {
	v1 := s.Client.AdmissionregistrationV1()
	if err := v1.ValidatingAdmissionPolicyBindings().Delete(ctx, r.binding.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return v1.ValidatingAdmissionPolicies().Delete(ctx, r.policy.Name, metav1.DeleteOptions{})
}
