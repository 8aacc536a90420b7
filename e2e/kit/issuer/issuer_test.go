package issuer_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"testing"

	"gopkg.in/go-jose/go-jose.v2"

	"hangar.io/holdshort/e2e/kit/issuer"
)

func start(t *testing.T) (*issuer.Issuer, func(path string, into any) int) {
	t.Helper()
	i, err := issuer.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(i.CA)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	return i, func(path string, into any) int {
		response, err := client.Get(i.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusOK {
			if err := json.NewDecoder(response.Body).Decode(into); err != nil {
				t.Fatal(err)
			}
		}
		return response.StatusCode
	}
}

func TestATokenVerifiesWithThePublishedKeyOnly(t *testing.T) {
	i, get := start(t)
	token, err := i.Token(map[string]any{"sub": "ann", "exp": nil})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := jose.ParseSigned(token)
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	get("/jwks", &set)
	id := signed.Signatures[0].Header.KeyID
	payload, err := signed.Verify(set.Key(id)[0])
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	if _, ok := claims["exp"]; ok || claims["iss"] != i.URL || claims["sub"] != "ann" {
		t.Fatalf("claims %v", claims)
	}
	if _, err := i.Rotate(); err != nil {
		t.Fatal(err)
	}
	i.Withdraw(id)
	set = jose.JSONWebKeySet{}
	get("/jwks", &set)
	if len(set.Keys) != 1 || len(set.Key(id)) != 0 || i.Fetches() != 2 {
		t.Fatalf("keys %v after %d fetches", set.Keys, i.Fetches())
	}
}

func TestAnOutageIsA503(t *testing.T) {
	i, get := start(t)
	var discovery map[string]any
	if code := get("/.well-known/openid-configuration", &discovery); code != 200 || discovery["issuer"] != i.URL {
		t.Fatalf("%d %v", code, discovery)
	}
	i.Outage(true)
	if code := get("/jwks", nil); code != http.StatusServiceUnavailable {
		t.Fatalf("got %d", code)
	}
}
