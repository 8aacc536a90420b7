package policies_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission/plugin/manifest"
	"k8s.io/apiserver/pkg/admission/plugin/policy/manifest/loader"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

// loadManifests reads a folder as an API server does (kubernetes pkg/kubeapiserver/admission, which
// cannot be imported, adds defaults and API validation).
func loadManifests(dir string) ([]*admissionv1.ValidatingAdmissionPolicy, []*admissionv1.ValidatingAdmissionPolicyBinding, string, error) {
	return loader.LoadPolicyManifests(dir, serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer(),
		accept[*admissionv1.ValidatingAdmissionPolicy], accept[*admissionv1.ValidatingAdmissionPolicyBinding],
		func(b *admissionv1.ValidatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
}

func accept[T metav1.Object](o runtime.Object) ([]T, error) {
	if t, ok := o.(T); ok {
		return []T{t}, nil
	}
	return nil, loader.ErrUnrecognizedType
}

// writeStatic writes the file form of a profile's policies into a folder.
func writeStatic(t *testing.T, m policies.Manifests) string {
	t.Helper()
	files, err := m.Static().Files()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Path), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheAPIServersLoaderReadsTheFileForm(t *testing.T) {
	if policies.StaticSuffix != manifest.StaticConfigSuffix {
		t.Fatalf("the API server wants names that end in %s", manifest.StaticConfigSuffix)
	}
	for _, p := range profile.Builtin() {
		m := render(t, p)
		loaded, bindings, _, err := loadManifests(writeStatic(t, m))
		if err != nil {
			t.Fatal(err)
		}
		if len(loaded) != len(m.Policies) || len(bindings) != len(m.Bindings) {
			t.Fatalf("%s: %d policies and %d bindings are loaded", p.Name, len(loaded), len(bindings))
		}
		for i, want := range m.Policies {
			if loaded[i].Name != want.Name+policies.StaticSuffix || !reflect.DeepEqual(loaded[i].Spec, want.Spec) || bindings[i].Spec.PolicyName != loaded[i].Name {
				t.Errorf("%s: %s is loaded as another policy", p.Name, want.Name)
			}
		}
	}
}

func TestTheFormForTheAPIIsRefusedAsAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "policies.yaml"), stream(t, render(t, profile.Builtin()[0])), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := loadManifests(dir); err == nil || !strings.Contains(err.Error(), `must have a name ending with ".static.k8s.io"`) {
		t.Error(err)
	}
}

// TestPoliciesFromFilesGiveEveryCaseTheSameAnswer starts the API server's plugin from the
// configuration that the documentation shows, with no policy in its cluster. Flight has all policies.
func TestPoliciesFromFilesGiveEveryCaseTheSameAnswer(t *testing.T) {
	p := profile.Builtin()[1]
	x, m := prove(t, p), render(t, p)
	for i, policy := range m.Policies {
		one := policies.Manifests{Profile: p, Policies: m.Policies[i : i+1], Bindings: m.Bindings[i : i+1]}
		x.compare(t, upstream(t, configuration(t, writeStatic(t, one)), x.cases[policy.Name]), policy.Name, func(message string) string {
			return strings.ReplaceAll(message, "'"+policy.Name+"'", "'"+policy.Name+policies.StaticSuffix+"'")
		})
	}
}

// configuration is the plugin's part of the documented AdmissionConfiguration, for a folder.
func configuration(t *testing.T, dir string) io.Reader {
	t.Helper()
	data, err := os.ReadFile("../docs/examples/admission-configuration.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c apiserverv1.AdmissionConfiguration
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		t.Fatal(err)
	}
	if c.APIVersion != apiserverv1.SchemeGroupVersion.String() || len(c.Plugins) != 1 || c.Plugins[0].Name != "ValidatingAdmissionPolicy" {
		t.Fatalf("the documented configuration is %+v", c)
	}
	path, err := json.Marshal(dir)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(bytes.ReplaceAll(c.Plugins[0].Configuration.Raw, []byte(`"/etc/kubernetes/policies"`), path))
}
