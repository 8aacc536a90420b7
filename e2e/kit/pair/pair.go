// Package pair runs API servers on one etcd that tell what admission does to a request: S runs
// no policies and shows what a policy would see, P runs the policies. A third one, R, is P with
// RBAC, for policies that ask the authorizer; S and P allow everything.
//
// A recording webhook stands behind the policies of all three and refuses what is recorded, so
// that every request can be sent for real and nothing of it is stored.
package pair

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/recorder"
)

// Servers are the servers of a section. P and R start by Policies.
type Servers struct {
	Cluster  *cluster.Cluster
	Recorder *recorder.Recorder
	S, P, R  *cluster.APIServer

	// Admin and Dynamic are an administrator's clients of S.
	Admin   *kubernetes.Clientset
	Dynamic *dynamic.DynamicClient
}

// Start starts etcd, S and the recorder. dir is the caller's to remove, after Close.
func Start(ctx context.Context, dir string) (*Servers, error) {
	c, err := cluster.Start(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &Servers{Cluster: c}
	if err := p.start(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Servers) start(ctx context.Context) error {
	var err error
	if p.Recorder, err = recorder.Start(); err != nil {
		return err
	}
	p.S, err = p.Cluster.APIServer(ctx, cluster.APIServerOptions{
		Name: "S", Authorization: []string{"AlwaysAllow"}, DisablePlugins: []string{"ValidatingAdmissionPolicy"},
	})
	if err != nil {
		return err
	}
	config := p.S.Config()
	if p.Admin, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if p.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	_, err = p.Admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().
		Create(ctx, p.Recorder.Configuration(), metav1.CreateOptions{})
	return err
}

// Policies starts P and R. A server looks up the resource of a policy's paramKind in a discovery
// cache that it renews every 30 s (kubernetes pkg/controlplane/apiserver/config.go), so the
// CustomResourceDefinitions of params have to be there before.
func (p *Servers) Policies(ctx context.Context) error {
	errs := make(chan error)
	go func() {
		var err error
		p.P, err = p.Cluster.APIServer(ctx, cluster.APIServerOptions{Name: "P", Authorization: []string{"AlwaysAllow"}})
		errs <- err
	}()
	go func() {
		var err error
		p.R, err = p.Cluster.APIServer(ctx, cluster.APIServerOptions{Name: "R", Authorization: []string{"RBAC"}})
		errs <- err
	}()
	for range 2 {
		if err := <-errs; err != nil {
			return fmt.Errorf("servers with policies: %w", err)
		}
	}
	return nil
}

// Close stops the servers and then the recorder.
func (p *Servers) Close() {
	p.Cluster.Close()
	if p.Recorder != nil {
		p.Recorder.Close()
	}
}
