package pair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/wait"
)

// Gate decides which policies its servers run, and knows when a change has reached them.
//
// A server compiles policies and bindings from two watches about once a second. The gate proves
// arrival by a policy of its own, the barrier: written after everything else, it is seen last.
// Bindings are written only after the policies have arrived, because the server looks up a
// binding's policy after it has listed the bindings (apiserver
// pkg/admission/plugin/policy/generic/policy_source.go, calculatePolicyData).
type Gate struct {
	s          *Servers
	servers    []*cluster.APIServer
	generation int
	policies   []string
	bindings   []string
	// params are the barrier policy and binding of each kind of params. They are never taken away:
	// a server stops the informer of a kind that no bound policy takes, and for built-in kinds,
	// whose informers are shared, it cannot start it again: params would be frozen from then on
	// (policy_source.go, ensureParamsForPolicyLocked).
	params map[admissionv1.ParamKind]string
}

const arrival = 15 * time.Second

// NewGate returns the gate of P and R, which run, and of more servers on their etcd. There is one at
// a time.
func NewGate(s *Servers, more ...*cluster.APIServer) *Gate {
	return &Gate{
		s: s, servers: append([]*cluster.APIServer{s.P, s.R}, more...),
		params: map[admissionv1.ParamKind]string{},
	}
}

// Install replaces all policies. None of them is bound. It returns the policies that the server
// refuses, by name; the others are installed.
func (g *Gate) Install(ctx context.Context, policies []*admissionv1.ValidatingAdmissionPolicy) (map[string]error, error) {
	client := g.s.Admin.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	if err := g.unbind(ctx); err != nil {
		return nil, err
	}
	for _, name := range g.policies {
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	g.policies = nil
	g.generation++
	refused := map[string]error{}
	for _, p := range policies {
		err := g.add(ctx, p)
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			refused[p.Name] = err
			continue
		}
		if err != nil {
			return nil, err
		}
		if p.Spec.ParamKind != nil {
			if err := g.watch(ctx, *p.Spec.ParamKind); err != nil {
				return nil, err
			}
		}
	}
	if err := g.add(ctx, barrier()); err != nil {
		return nil, err
	}
	return refused, g.Bind(ctx, nil)
}

func (g *Gate) add(ctx context.Context, p *admissionv1.ValidatingAdmissionPolicy) error {
	p = p.DeepCopy()
	p.ResourceVersion, p.UID = "", ""
	_, err := g.s.Admin.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(ctx, p, metav1.CreateOptions{})
	if err == nil {
		g.policies = append(g.policies, p.Name)
	}
	return err
}

// Bind replaces all bindings and waits until the servers run what they bind and nothing else.
func (g *Gate) Bind(ctx context.Context, bindings []*admissionv1.ValidatingAdmissionPolicyBinding) error {
	if err := g.unbind(ctx); err != nil {
		return err
	}
	g.generation++
	last := warnBinding(fmt.Sprintf("%s-%d", barrierName, g.generation), barrierName, nil)
	for _, b := range append(slices.Clip(bindings), last) {
		if err := g.create(ctx, b); err != nil {
			return err
		}
		g.bindings = append(g.bindings, b.Name)
	}
	mark := fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': arrived", barrierName, last.Name)
	for _, server := range g.servers {
		err := wait.Until(ctx, arrival, "the policies to reach "+server.Name, func(ctx context.Context) error {
			warnings, err := probe(ctx, server, metav1.NamespaceDefault, nil, "")
			if err != nil {
				return err
			}
			for _, w := range warnings {
				if w == mark {
					return nil
				}
			}
			return errors.New("not there yet")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *Gate) create(ctx context.Context, b *admissionv1.ValidatingAdmissionPolicyBinding) error {
	b = b.DeepCopy()
	b.ResourceVersion, b.UID = "", ""
	if _, err := g.s.Admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(ctx, b, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("binding %s is refused: %w", b.Name, err)
	}
	return nil
}

// watch installs and binds the barrier of a kind of params.
func (g *Gate) watch(ctx context.Context, kind admissionv1.ParamKind) error {
	if g.params[kind] != "" {
		return nil
	}
	p := paramBarrier(fmt.Sprintf("%s-params-%d", barrierName, len(g.params)), kind)
	if _, err := g.s.Admin.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return err
	}
	g.params[kind] = p.Name
	return g.create(ctx, warnBinding(p.Name, p.Name, &admissionv1.ParamRef{
		Selector: &metav1.LabelSelector{}, ParameterNotFoundAction: new(admissionv1.AllowAction),
	}))
}

func (g *Gate) unbind(ctx context.Context) error {
	client := g.s.Admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	for _, name := range g.bindings {
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	g.bindings = nil
	return nil
}

// Namespace waits until a server's policies see a namespace with these labels and annotations.
func (g *Gate) Namespace(ctx context.Context, server *cluster.APIServer, name string, wanted, annotations labels.Set) error {
	return wait.Until(ctx, arrival, fmt.Sprintf("namespace %s to reach %s", name, server.Name), func(ctx context.Context) error {
		for what, values := range map[string]labels.Set{"labels": wanted, "annotations": annotations} {
			warnings, err := probe(ctx, server, name, values, what)
			if err != nil {
				return err
			}
			for _, w := range warnings {
				if w == fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s-%d': stale", barrierName, barrierName, g.generation) {
					return fmt.Errorf("its %s are stale", what)
				}
			}
		}
		return nil
	})
}

// Params waits until a server's policies see exactly these params of a kind in a namespace, each
// as namespace/name@resourceVersion.
func (g *Gate) Params(ctx context.Context, server *cluster.APIServer, kind admissionv1.ParamKind, namespace string, wanted map[string]bool) error {
	barrier, ok := g.params[kind]
	if !ok {
		return nil // no installed policy takes this kind
	}
	prefix := fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%[1]s' with binding '%[1]s': ", barrier)
	return wait.Until(ctx, arrival, fmt.Sprintf("params %s in %s to reach %s", kind.Kind, namespace, server.Name), func(ctx context.Context) error {
		warnings, err := probe(ctx, server, namespace, nil, "")
		if err != nil {
			return err
		}
		seen := 0
		for _, w := range warnings {
			if len(w) > len(prefix) && w[:len(prefix)] == prefix {
				seen++
				if !wanted[w[len(prefix):]] {
					return fmt.Errorf("%s is stale", w[len(prefix):])
				}
			}
		}
		if seen != len(wanted) {
			return fmt.Errorf("%d of %d are there", seen, len(wanted))
		}
		return nil
	})
}

// ParamKinds are the kinds of params that the installed policies take.
func (g *Gate) ParamKinds() []admissionv1.ParamKind { return slices.Collect(maps.Keys(g.params)) }
