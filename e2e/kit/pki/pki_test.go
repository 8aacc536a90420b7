package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"hangar.io/holdshort/e2e/kit/pki"
)

func TestAServerAndAClientOfOneAuthorityTrustEachOther(t *testing.T) {
	ca, err := pki.NewAuthority("test-ca")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM)
	issue := func(s pki.Subject) tls.Certificate {
		pair, err := ca.Issue(s)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := pair.TLS()
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		_, _ = fmt.Fprint(w, subject.CommonName, subject.Organization)
	}))
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{issue(pki.Subject{Name: "server", Hosts: []string{"127.0.0.1"}})},
		ClientCAs:    pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	server.StartTLS()
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool, Certificates: []tls.Certificate{issue(pki.Subject{Name: "ann", Groups: []string{"ops"}})},
	}}}
	response, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); string(body) != "ann[ops]" {
		t.Fatalf("got %q", body)
	}
}
