// Package proof asks a real API server whether what the proof rests on is true: the errors of its
// witnesses, the objects that its searches begin with, and the promises that it takes from the
// server's validation.
package proof

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/world"
)

// arrival bounds the time until a server enforces what was written: its policies and their bindings
// come by watches, about once a second.
const arrival = 8 * time.Second

// administrator sends what is no witness.
var administrator = user.DefaultInfo{Name: "e2e-admin", Groups: []string{user.SystemPrivilegedGroup}}

// Server is the API server of the section. It is not safe for concurrent use.
type Server struct {
	*cluster.APIServer
	Client  *kubernetes.Clientset
	Dynamic *dynamic.DynamicClient
	World   *world.World
	cluster *cluster.Cluster
}

// Start starts an etcd and an API server that allows everybody everything. dir is the caller's to
// remove, after Close.
func Start(ctx context.Context, dir string) (*Server, error) {
	c, err := cluster.Start(ctx, dir)
	if err != nil {
		return nil, err
	}
	s := &Server{cluster: c}
	if err := s.start(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	var err error
	s.APIServer, err = s.cluster.APIServer(ctx, cluster.APIServerOptions{Name: "proof", Authorization: []string{"AlwaysAllow"}})
	if err != nil {
		return err
	}
	if s.Client, err = kubernetes.NewForConfig(s.Config()); err != nil {
		return err
	}
	if s.Dynamic, err = dynamic.NewForConfig(s.Config()); err != nil {
		return err
	}
	s.World = world.New(s.Dynamic)
	return nil
}

// Close ends the server and its etcd.
func (s *Server) Close() { s.cluster.Close() }
