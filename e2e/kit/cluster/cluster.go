// Package cluster starts Kubernetes control planes on loopback: one etcd, any number of API
// servers on it that differ in their admission and authorization, and a controller manager.
// Everything is a process of the binary kone (../../cmd/kone) and a file below one folder.
package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hangar.io/holdshort/e2e/kit/audit"
	"hangar.io/holdshort/e2e/kit/pki"
	"hangar.io/holdshort/e2e/kit/proc"
)

// BinaryEnv names the environment variable that holds the path of kone. Unset: bin/kone of this
// module.
const BinaryEnv = "HOLDSHORT_KONE"

// Binary returns the path of kone.
func Binary() (string, error) {
	path := os.Getenv(BinaryEnv)
	if path == "" {
		_, self, _, _ := runtime.Caller(0)
		path = filepath.Join(filepath.Dir(self), "..", "..", "bin", "kone")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("binary of the control plane: %w: run the tests with `make e2e`, which builds it, or set %s", err, BinaryEnv)
	}
	return path, nil
}

// Cluster is an etcd and what all its API servers have in common.
type Cluster struct {
	Dir   string
	CA    *pki.Authority
	Procs *proc.Group

	binary string
	etcd   string // client URL
	saKey  string // file of the key that signs service account tokens
	saPub  string
	caFile string
}

// Start starts an etcd; dir must exist and is the caller's to remove. Close ends it and
// everything that is started on it later.
func Start(ctx context.Context, dir string) (*Cluster, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, Procs: proc.NewGroup(dir), binary: binary}
	if err := c.writeKeys(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(c.file("audit-policy.yaml"), []byte(audit.Policy), 0o600); err != nil {
		return nil, err
	}
	if err := c.startEtcd(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close stops all processes of the cluster.
func (c *Cluster) Close() { c.Procs.Close() }

func (c *Cluster) file(name string) string { return filepath.Join(c.Dir, name) }

func (c *Cluster) startEtcd(ctx context.Context) error {
	ports, err := proc.FreePorts(2)
	if err != nil {
		return err
	}
	c.etcd = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	_, err = c.Procs.Start(ctx, proc.Spec{
		Name: "etcd", Path: c.binary,
		Args: []string{
			"etcd", "--data-dir=" + c.file("etcd"), "--client-url=" + c.etcd,
			fmt.Sprintf("--peer-url=http://127.0.0.1:%d", ports[1]),
		},
		Ready: func(ctx context.Context) error { return health(ctx, http.DefaultClient, c.etcd+"/health") },
	})
	return err
}

func (c *Cluster) writeKeys() error {
	var err error
	if c.CA, err = pki.NewAuthority("e2e-ca"); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := pki.PrivatePEM(key)
	if err != nil {
		return err
	}
	public, err := pki.PublicPEM(key.Public())
	if err != nil {
		return err
	}
	c.caFile, c.saKey, c.saPub = c.file("ca.crt"), c.file("sa.key"), c.file("sa.pub")
	return errors.Join(
		os.WriteFile(c.caFile, c.CA.PEM, 0o600),
		os.WriteFile(c.saKey, private, 0o600),
		os.WriteFile(c.saPub, public, 0o600),
	)
}

// health asks once and wants 200.
func health(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
