package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"

	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/client-go/rest"

	"hangar.io/holdshort/e2e/kit/authn"
	"hangar.io/holdshort/e2e/kit/pki"
	"hangar.io/holdshort/e2e/kit/proc"
)

// APIServerOptions are what API servers on one etcd may differ in.
type APIServerOptions struct {
	Name string // of its log files, unique in the cluster
	// Authorization is the list of modes; empty: RBAC.
	Authorization []string
	// EnablePlugins and DisablePlugins change the default admission plugins.
	EnablePlugins, DisablePlugins []string
	// Authentication besides client certificates and service account tokens; nil: none.
	Authentication *apiserverv1.AuthenticationConfiguration
	// Args are further flags, as "--flag=value".
	Args []string
}

// APIServer is a running API server.
type APIServer struct {
	*proc.Process
	URL      string
	AuditLog string
	// AuthenticationFile is watched by the server: authn.Write changes it.
	AuthenticationFile string

	ca   []byte
	pair pki.Pair // of an administrator
}

// APIServer starts an API server and waits until it is ready.
func (c *Cluster) APIServer(ctx context.Context, o APIServerOptions) (*APIServer, error) {
	ports, err := proc.FreePorts(1)
	if err != nil {
		return nil, err
	}
	s := &APIServer{
		URL: fmt.Sprintf("https://127.0.0.1:%d", ports[0]), ca: c.CA.PEM,
		AuditLog: c.file(o.Name + "-audit.log"), AuthenticationFile: c.file(o.Name + "-authn.yaml"),
	}
	if s.pair, err = c.CA.Issue(pki.Subject{Name: "e2e-admin", Groups: []string{"system:masters"}}); err != nil {
		return nil, err
	}
	args, err := c.apiServerArgs(s, o, ports[0])
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.CA.PEM)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	s.Process, err = c.Procs.Start(ctx, proc.Spec{
		Name: o.Name, Path: c.binary, Args: args,
		Ready: func(ctx context.Context) error { return health(ctx, client, s.URL+"/readyz") },
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *Cluster) apiServerArgs(s *APIServer, o APIServerOptions, port int) ([]string, error) {
	config := o.Authentication
	if config == nil {
		config = authn.Config()
	}
	if err := authn.Write(s.AuthenticationFile, config); err != nil {
		return nil, err
	}
	server, err := c.CA.Issue(pki.Subject{Name: "kube-apiserver", Hosts: []string{
		"127.0.0.1", "10.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
	}})
	if err != nil {
		return nil, err
	}
	cert, key, err := server.Write(c.Dir, o.Name)
	if err != nil {
		return nil, err
	}
	kubelet, err := c.CA.Issue(pki.Subject{Name: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}})
	if err != nil {
		return nil, err
	}
	kubeletCert, kubeletKey, err := kubelet.Write(c.Dir, o.Name+"-kubelet-client")
	if err != nil {
		return nil, err
	}
	modes := o.Authorization
	if len(modes) == 0 {
		modes = []string{"RBAC"}
	}
	args := []string{
		"kube-apiserver", "--etcd-servers=" + c.etcd,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--advertise-address=127.0.0.1",
		"--tls-cert-file=" + cert, "--tls-private-key-file=" + key, "--client-ca-file=" + c.caFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + c.saKey, "--service-account-key-file=" + c.saPub,
		"--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true", "--endpoint-reconciler-type=none",
		"--authorization-mode=" + strings.Join(modes, ","), "--authentication-config=" + s.AuthenticationFile,
		"--audit-policy-file=" + c.file("audit-policy.yaml"), "--audit-log-path=" + s.AuditLog, "--audit-log-mode=blocking",
		"--kubelet-certificate-authority=" + c.caFile, "--kubelet-client-certificate=" + kubeletCert,
		"--kubelet-client-key=" + kubeletKey, "--kubelet-preferred-address-types=InternalIP,Hostname",
	}
	if len(o.EnablePlugins) > 0 {
		args = append(args, "--enable-admission-plugins="+strings.Join(o.EnablePlugins, ","))
	}
	if len(o.DisablePlugins) > 0 {
		args = append(args, "--disable-admission-plugins="+strings.Join(o.DisablePlugins, ","))
	}
	return append(args, o.Args...), nil
}

// Config returns the client configuration of an administrator, who passes every authorizer
// (system:masters). It has no client-side rate limit.
func (s *APIServer) Config() *rest.Config {
	return &rest.Config{
		Host: s.URL, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: s.ca, CertData: s.pair.Cert, KeyData: s.pair.Key},
	}
}

// As returns the client configuration of an administrator who impersonates the user. The server
// adds the groups that it implies. An empty user name is not impersonated by it at all.
func (s *APIServer) As(user rest.ImpersonationConfig) *rest.Config {
	config := s.Config()
	config.Impersonate = user
	return config
}

// Token returns the client configuration of the bearer of a token.
func (s *APIServer) Token(token string) *rest.Config {
	return &rest.Config{Host: s.URL, QPS: -1, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca}}
}
