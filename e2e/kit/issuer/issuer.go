// Package issuer is an OpenID Connect issuer on loopback: discovery, a key set, and tokens with
// any claims. What real issuers do to relying parties (rotation, withdrawn keys, cache headers,
// outages) can be done with it at will.
package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"hangar.io/holdshort/e2e/kit/pki"
)

// Issuer serves until it is closed. It is safe for concurrent use.
type Issuer struct {
	URL string
	CA  []byte // PEM of the authority that its server certificate comes from

	server *http.Server

	mu           sync.Mutex // guards all below
	signer       *key
	published    []*key
	cacheControl string
	outage       bool
	fetches      int
	keys         int // made so far; names the next one
}

type key struct {
	id      string
	private *ecdsa.PrivateKey
}

// Start serves an issuer with one key on a free loopback port.
func Start() (*Issuer, error) {
	ca, err := pki.NewAuthority("issuer-ca")
	if err != nil {
		return nil, err
	}
	pair, err := ca.Issue(pki.Subject{Name: "issuer", Hosts: []string{"127.0.0.1"}})
	if err != nil {
		return nil, err
	}
	cert, err := pair.TLS()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	i := &Issuer{URL: "https://" + listener.Addr().String(), CA: ca.PEM}
	if _, err := i.Rotate(); err != nil {
		_ = listener.Close()
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.serveDiscovery)
	mux.HandleFunc("GET /jwks", i.serveKeys)
	i.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}},
	}
	go func() { _ = i.server.ServeTLS(listener, "", "") }()
	return i, nil
}

// Close stops the issuer.
func (i *Issuer) Close() { _ = i.server.Close() }

// Rotate makes a new key, publishes it beside the others and signs with it from now on. It
// returns the key's id.
func (i *Issuer) Rotate() (string, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys++
	i.signer = &key{id: fmt.Sprintf("key-%d", i.keys), private: private}
	i.published = append(i.published, i.signer)
	return i.signer.id, nil
}

// Withdraw takes a key out of the published set. Signing goes on if it is the signer.
func (i *Issuer) Withdraw(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	kept := i.published[:0:0]
	for _, k := range i.published {
		if k.id != id {
			kept = append(kept, k)
		}
	}
	i.published = kept
}

// CacheControl sets the header of the key set's responses; empty: none.
func (i *Issuer) CacheControl(value string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cacheControl = value
}

// Outage makes every response a 503, or ends that.
func (i *Issuer) Outage(on bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.outage = on
}

// Fetches is how often the key set was asked for.
func (i *Issuer) Fetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// Token signs the claims with the current key. iss, iat and exp (ten minutes) are filled in
// where the claims lack them; a nil claim is left out.
func (i *Issuer) Token(claims map[string]any) (string, error) {
	now := time.Now()
	all := map[string]any{"iss": i.URL, "iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix()}
	for name, value := range claims {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	i.mu.Lock()
	signer := i.signer
	i.mu.Unlock()
	header, err := json.Marshal(map[string]string{"alg": "ES256", "kid": signer.id, "typ": "JWT"})
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("claims: %w", err)
	}
	input := b64(header) + "." + b64(payload)
	digest := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, signer.private, digest[:])
	if err != nil {
		return "", err
	}
	// RFC 7518 section 3.4: R and S as 32 bytes each, not ASN.1.
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return input + "." + b64(signature), nil
}

func (i *Issuer) serveDiscovery(w http.ResponseWriter, _ *http.Request) {
	i.respond(w, map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/jwks",
		"response_types_supported": []string{"id_token"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"},
	})
}

func (i *Issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	i.fetches++
	keys := []any{}
	for _, k := range i.published {
		keys = append(keys, k.jwk())
	}
	if i.cacheControl != "" {
		w.Header().Set("Cache-Control", i.cacheControl)
	}
	i.mu.Unlock()
	i.respond(w, map[string]any{"keys": keys})
}

func (i *Issuer) respond(w http.ResponseWriter, body any) {
	i.mu.Lock()
	outage := i.outage
	i.mu.Unlock()
	if outage {
		http.Error(w, "outage", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // a client that went away cannot be told
}

func (k *key) jwk() map[string]string {
	point, err := k.private.PublicKey.Bytes() // 0x04, X, Y
	if err != nil {
		panic(err) // a key that was just generated is on its curve
	}
	return map[string]string{
		"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": k.id,
		"x": b64(point[1:33]), "y": b64(point[33:]),
	}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
