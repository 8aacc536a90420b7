package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"hangar.io/holdshort/e2e/kit/pki"
	"hangar.io/holdshort/e2e/kit/proc"
)

// Controllers of a controller manager, by its own names.
var (
	// Namespaces deletes the content of deleted namespaces and gives new ones their default
	// ServiceAccount and CA bundle.
	Namespaces = []string{"namespace-controller", "serviceaccount-controller", "root-ca-certificate-publisher-controller"}
	// Garbage deletes objects whose owner is gone, and finished or orphaned pods.
	Garbage = []string{"garbage-collector-controller", "pod-garbage-collector-controller", "ttl-after-finished-controller"}
	// Workloads makes pods of Deployments, ReplicaSets, Jobs and CronJobs.
	Workloads = []string{"deployment-controller", "replicaset-controller", "job-controller", "cronjob-controller"}
	// Roles aggregates ClusterRoles.
	Roles = []string{"clusterrole-aggregation-controller"}
)

// ControllerManager starts the named controllers against an API server.
func (c *Cluster) ControllerManager(ctx context.Context, s *APIServer, controllers ...string) (*proc.Process, error) {
	ports, err := proc.FreePorts(1)
	if err != nil {
		return nil, err
	}
	kubeconfig := c.file("kube-controller-manager.kubeconfig")
	subject := pki.Subject{Name: "system:kube-controller-manager", Groups: []string{"system:masters"}}
	if err := c.Kubeconfig(s, subject, kubeconfig); err != nil {
		return nil, err
	}
	// Its serving certificate is self-signed and made at start.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // health only
	return c.Procs.Start(ctx, proc.Spec{
		Name: "kube-controller-manager", Path: c.binary,
		Args: []string{
			"kube-controller-manager", "--kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
			"--leader-elect=false", "--use-service-account-credentials=false",
			"--service-account-private-key-file=" + c.saKey, "--root-ca-file=" + c.caFile,
			"--controllers=" + strings.Join(controllers, ","),
		},
		Ready: func(ctx context.Context) error {
			return health(ctx, client, fmt.Sprintf("https://127.0.0.1:%d/healthz", ports[0]))
		},
	})
}

// Kubeconfig writes a kubeconfig file for a client certificate of the subject.
func (c *Cluster) Kubeconfig(s *APIServer, subject pki.Subject, path string) error {
	pair, err := c.CA.Issue(subject)
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &clientcmdapi.Cluster{Server: s.URL, CertificateAuthorityData: c.CA.PEM}
	config.AuthInfos["e2e"] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e"}
	config.CurrentContext = "e2e"
	b, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}
