// Package rights proves what the privileged identities can do on a real cluster on which the rule
// set and the rendered RBAC are installed: nothing at rest but to open a session, in a session what
// the session is for, and none of the attacks that the fixtures describe.
package rights

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"hangar.io/holdshort/cel/manifest"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/pair"
	"hangar.io/holdshort/e2e/kit/wait"
	"hangar.io/holdshort/e2e/kit/world"
	"hangar.io/holdshort/e2e/parity"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

// arrival is how long RBAC may take to reach a server.
const arrival = 20 * time.Second

// Stage is a cluster of one tier as an administrator sets it up. Besides the servers of package
// pair there is A: with RBAC and the policies, and nothing behind them, so that what it admits
// happens.
type Stage struct {
	Profile profile.Profile
	Servers *pair.Servers
	A       *cluster.APIServer
	Suite   *parity.Suite
	Judge   *parity.Judge
}

// NewStage starts the servers and installs everything. dir is the caller's to remove, after Close.
func NewStage(ctx context.Context, dir string, x profile.Profile) (*Stage, error) {
	suite, err := parity.RuleSet(x, time.Now())
	if err != nil {
		return nil, err
	}
	servers, err := pair.Start(ctx, dir)
	if err != nil {
		return nil, err
	}
	s := &Stage{Profile: x, Servers: servers, Suite: suite}
	if err := s.install(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close stops the servers.
func (s *Stage) Close() { s.Servers.Close() }

// install keeps the order that clusters need: the policies before the rights that they hold.
func (s *Stage) install(ctx context.Context) error {
	if err := parity.Define(ctx, world.New(s.Servers.Dynamic), s.Suite); err != nil {
		return err
	}
	if err := s.Servers.Policies(ctx); err != nil {
		return err
	}
	var err error
	s.A, err = s.Servers.Cluster.APIServer(ctx, cluster.APIServerOptions{
		Name: "A", Authorization: []string{"RBAC"}, DisablePlugins: []string{"ValidatingAdmissionWebhook"},
	})
	if err != nil {
		return err
	}
	s.Judge = parity.NewJudge(s.Servers, s.A)
	if err := s.Judge.Install(ctx, s.Suite); err != nil {
		return err
	}
	if err := s.Judge.Bind(ctx, s.Suite, ""); err != nil {
		return err
	}
	return s.applyRBAC(ctx)
}

// applyRBAC applies what `policygen render --target rbac` prints.
func (s *Stage) applyRBAC(ctx context.Context) error {
	file, err := policies.RBAC(s.Profile)
	if err != nil {
		return err
	}
	worlds := world.New(s.Servers.Dynamic)
	for doc, err := range manifest.Parse(file.Path, bytes.NewReader(file.Data), manifest.Limits{}) {
		if err != nil {
			return err
		}
		resource, ok := schema.BuiltIn(schema.Newest).ForKind(doc.GroupVersionKind())
		if !ok {
			return fmt.Errorf("%s:%d: no resource for %s", doc.File, doc.Line, doc.GroupVersionKind())
		}
		o := &unstructured.Unstructured{Object: doc.Object}
		if o.GetNamespace() != "" {
			if err := worlds.Namespace(ctx, o.GetNamespace()); err != nil {
				return err
			}
		}
		if _, err := s.Servers.Dynamic.Resource(resource.GVR).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s:%d: %w", doc.File, doc.Line, err)
		}
	}
	// The binder's binding is written before the last objects; what proves its arrival is the
	// right itself.
	return s.until(ctx, "writer", "create", rbacv1.GroupName, "rolebindings", true)
}

// until waits until an identity has a right in all namespaces, or has it no more, on R and A.
func (s *Stage) until(ctx context.Context, word, verb, group, resource string, allowed bool) error {
	u, err := s.Profile.User(word)
	if err != nil {
		return err
	}
	for _, server := range []*cluster.APIServer{s.Servers.R, s.A} {
		client, err := kubernetes.NewForConfig(server.Config())
		if err != nil {
			return err
		}
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: u.Name, Groups: u.Groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource},
		}}
		what := fmt.Sprintf("%s's right to %s %s on %s to be %v", word, verb, resource, server.Name, allowed)
		err = wait.Until(ctx, arrival, what, func(ctx context.Context) error {
			got, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err == nil && got.Status.Allowed != allowed {
				err = errors.New("not yet")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// as is a client of a server for an identity of the Profile, or for any user.
func (s *Stage) as(server *cluster.APIServer, u user.DefaultInfo) (*kubernetes.Clientset, error) {
	return kubernetes.NewForConfig(server.As(rest.ImpersonationConfig{UserName: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra}))
}
