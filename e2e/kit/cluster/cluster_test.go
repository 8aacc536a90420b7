package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"hangar.io/holdshort/e2e/kit/audit"
	"hangar.io/holdshort/e2e/kit/authn"
	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/issuer"
	"hangar.io/holdshort/e2e/kit/scratch"
	"hangar.io/holdshort/e2e/kit/wait"
)

// TestAControlPlane boots what the kit offers once and uses every part of it.
func TestAControlPlane(t *testing.T) {
	ctx := t.Context()
	begin := time.Now()
	c, err := cluster.Start(ctx, scratch.Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	oidc, err := issuer.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer oidc.Close()
	server, err := c.APIServer(ctx, cluster.APIServerOptions{
		Name:           "apiserver",
		Authentication: authn.Config(authn.Subject(oidc.URL, oidc.CA, "e2e", "oidc:")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ControllerManager(ctx, server, cluster.Namespaces...); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("kit: etcd, API server and controller manager ready in %v\n", time.Since(begin).Round(100*time.Millisecond))
	admin := kubernetes.NewForConfigOrDie(server.Config())

	t.Run("a namespace gets its ServiceAccount and is deleted", func(t *testing.T) { namespaces(t, admin) })
	t.Run("a bearer of a token is who the claims say", func(t *testing.T) {
		token, err := oidc.Token(map[string]any{"aud": "e2e", "sub": "ann", "groups": []string{"ops"}})
		if err != nil {
			t.Fatal(err)
		}
		review := kubernetes.NewForConfigOrDie(server.Token(token))
		err = wait.Until(ctx, 20*time.Second, "the authenticator", func(ctx context.Context) error {
			_, err := review.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{})
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "oidc:ann" cannot list`) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("an impersonated user is refused by RBAC and stands in the audit log", func(t *testing.T) {
		bob := kubernetes.NewForConfigOrDie(server.As(rest.ImpersonationConfig{UserName: "bob"}))
		if _, err := bob.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Fatalf("got %v", err)
		}
		event, err := audit.Open(server.AuditLog).Wait(ctx, func(e *audit.Event) bool {
			return e.ImpersonatedUser != nil && e.ImpersonatedUser.Username == "bob"
		})
		if err != nil || event.ResponseStatus.Code != 403 {
			t.Fatalf("got %v, %v", event, err)
		}
	})
}

func namespaces(t *testing.T, admin *kubernetes.Clientset) {
	ctx := t.Context()
	name := "scratch"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := admin.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := wait.Until(ctx, time.Minute, "the default ServiceAccount", func(ctx context.Context) error {
		_, err := admin.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	err = wait.Until(ctx, time.Minute, "the end of the namespace", func(ctx context.Context) error {
		if _, err := admin.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
