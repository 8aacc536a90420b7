package authn_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"

	"hangar.io/holdshort/e2e/kit/authn"
)

func TestTheFileDecodesStrictlyAsTheServerDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "authn.yaml")
	config := authn.Config(authn.Subject("https://127.0.0.1:1", []byte("ca"), "cluster", "oidc:"))
	if err := authn.Write(path, config); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
	object, err := runtime.Decode(decoder, b)
	if err != nil {
		t.Fatal(err)
	}
	got := object.(*apiserver.AuthenticationConfiguration)
	if len(got.JWT) != 1 || got.JWT[0].ClaimMappings.Username.Claim != "sub" || len(got.Anonymous.Conditions) != 3 {
		t.Fatalf("got %+v", got)
	}
}
