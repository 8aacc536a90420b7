// Package manifest proves the file form of the rule set on a real API server: the policies are in
// force from the first request on, although the API knows none of them, and cannot be taken away.
package manifest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/scratch"
	"hangar.io/holdshort/e2e/kit/send"
	"hangar.io/holdshort/e2e/kit/world"
	"hangar.io/holdshort/e2e/parity"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

func TestManifest(t *testing.T) {
	for _, x := range profile.Builtin() {
		t.Run(x.Name, func(t *testing.T) { static(t, x) })
	}
}

// static starts a server with the rule set as files and sends it what the grant policy refuses.
func static(t *testing.T, x profile.Profile) {
	ctx, dir := t.Context(), scratch.Dir(t)
	suite, err := parity.RuleSet(x, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Start(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server, err := c.APIServer(ctx, cluster.APIServerOptions{
		Name: "static", Authorization: []string{"AlwaysAllow"},
		Args: []string{"--admission-control-config-file=" + configuration(t, dir, x)},
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	setup, err := c.APIServer(ctx, cluster.APIServerOptions{
		Name: "setup", Authorization: []string{"AlwaysAllow"}, DisablePlugins: []string{"ValidatingAdmissionPolicy"},
	})
	if err != nil {
		t.Fatal(err)
	}
	dynamicClient, err := dynamic.NewForConfig(setup.Config())
	if err != nil {
		t.Fatal(err)
	}

	worlds := world.New(dynamicClient)

	refused := 0
	for _, g := range suite.Groups {
		if g.Policy != "breakglass-rolebinding" {
			continue
		}
		for _, k := range g.Cases {
			if k.Expect.Outcome != fixture.Deny || k.Request.Operation != "CREATE" {
				continue
			}
			if _, err := worlds.Reach(ctx, k.Cluster.Resources, k.Seed); err != nil {
				t.Fatal(err)
			}
			if err := worlds.Namespace(ctx, k.Request.Namespace); err != nil {
				t.Fatal(err)
			}
			answer, err := send.Do(ctx, server, k.Cluster.Resources, k.Request)
			if err != nil {
				t.Fatal(err)
			}
			if answer.Code < http.StatusBadRequest {
				t.Errorf("%s:%d: %s: admitted", k.File, k.Line, k.Name)
			}
			if strings.Contains(answer.Status.Message, "'"+g.Policy+policies.StaticSuffix+"'") {
				refused++
			}
		}
	}
	fmt.Printf("manifest (%s): %d grants refused by %s\n", x.Name, refused, "breakglass-rolebinding"+policies.StaticSuffix)
	if refused < 20 {
		t.Errorf("only %d grants are refused by the static policy", refused)
	}

	// The API knows none of them, so that nobody can delete them, and nobody can add to them.
	name := "breakglass-rolebinding" + policies.StaticSuffix
	stored := client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	list, err := stored.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("the API lists %d policies (%v), expected none", len(list.Items), err)
	}
	if err := stored.Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("deleting the static policy: %v, expected that there is none to delete", err)
	}
	impostor := suite.Policies[0].DeepCopy()
	impostor.Name = name
	if _, err := stored.Create(ctx, impostor, metav1.CreateOptions{}); err == nil {
		t.Errorf("a stored policy takes the name %s", name)
	}
}

// configuration writes the manifests and the admission configuration that names their folder.
func configuration(t *testing.T, dir string, x profile.Profile) string {
	t.Helper()
	rendered, err := policies.Render(x, policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := rendered.Static().Files()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "policies")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(folder, f.Path), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
		"plugins": []any{map[string]any{
			"name": "ValidatingAdmissionPolicy",
			"configuration": map[string]any{
				"apiVersion": "apiserver.config.k8s.io/v1", "kind": "ValidatingAdmissionPolicyConfiguration", "staticManifestsDir": folder,
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "admission.yaml")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
