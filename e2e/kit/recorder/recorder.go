// Package recorder is a validating webhook that keeps the AdmissionReviews it is asked about
// and refuses them, so that a request can be sent for real and leaves nothing behind.
//
// Validating webhooks run after every mutating plugin, after defaulting and after
// ValidatingAdmissionPolicies (apiserver pkg/server/plugins.go: the order of plugins), so what
// it records is exactly what a policy sees, and being asked at all means that every policy
// before it has admitted the request.
package recorder

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/e2e/kit/pki"
)

const (
	// Name of the webhook; a refusal's message has it.
	Name = "recorder.e2e.hangar.io"
	// Refusal is in the message of every request that the recorder refuses.
	Refusal = "recorded and refused"
	// maxReview bounds a request to the webhook: two objects of etcd's limit of 1.5 MiB, twice.
	maxReview = 6 << 20
)

// Recorder serves until it is closed. It admits everything while nobody records.
type Recorder struct {
	url    string
	ca     []byte
	server *http.Server

	mu      sync.Mutex // guards all below
	match   func(*admissionv1.AdmissionRequest) bool
	reviews []*admissionv1.AdmissionReview
	err     error
}

// Start serves a recorder on a free loopback port.
func Start() (*Recorder, error) {
	ca, err := pki.NewAuthority("recorder-ca")
	if err != nil {
		return nil, err
	}
	pair, err := ca.Issue(pki.Subject{Name: "recorder", Hosts: []string{"127.0.0.1"}})
	if err != nil {
		return nil, err
	}
	cert, err := pair.TLS()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	r := &Recorder{url: "https://" + listener.Addr().String(), ca: ca.PEM}
	r.server = &http.Server{
		Handler: r, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}},
	}
	go func() { _ = r.server.ServeTLS(listener, "", "") }()
	return r, nil
}

// Close stops the recorder. The webhook's configuration must be gone by then, or every write is
// refused from then on.
func (r *Recorder) Close() { _ = r.server.Close() }

// Configuration registers the recorder for everything, in the version that the client used.
func (r *Recorder) Configuration() *registrationv1.ValidatingWebhookConfiguration {
	fail, exact, none, all := registrationv1.Fail, registrationv1.Exact, registrationv1.SideEffectClassNone, registrationv1.AllScopes
	seconds := int32(10)
	return &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: Name, FailurePolicy: &fail, MatchPolicy: &exact, SideEffects: &none, TimeoutSeconds: &seconds,
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig:            registrationv1.WebhookClientConfig{URL: &r.url, CABundle: r.ca},
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.OperationAll},
				Rule:       registrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}, Scope: &all},
			}},
		}},
	}
}

// Record keeps and refuses the matching requests until Stop. match must be narrow enough to
// leave out what the servers write by themselves.
func (r *Recorder) Record(match func(*admissionv1.AdmissionRequest) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.match, r.reviews, r.err = match, nil, nil
}

// Stop admits everything again and returns what was recorded, in the order of arrival.
func (r *Recorder) Stop() ([]*admissionv1.AdmissionReview, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reviews, err := r.reviews, r.err
	r.match, r.reviews, r.err = nil, nil, nil
	return reviews, err
}

// ServeHTTP implements http.Handler.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	review := &admissionv1.AdmissionReview{}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxReview))
	if err == nil {
		err = json.Unmarshal(body, review)
	}
	if err == nil && review.Request == nil {
		err = fmt.Errorf("review without a request")
	}
	if err != nil {
		r.fail(err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := &admissionv1.AdmissionReview{
		TypeMeta: review.TypeMeta,
		Response: &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true},
	}
	if r.keep(review) {
		answer.Response.Allowed = false
		answer.Response.Result = &metav1.Status{Message: Refusal, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		r.fail(err)
	}
}

func (r *Recorder) keep(review *admissionv1.AdmissionReview) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.match == nil || !r.match(review.Request) {
		return false
	}
	r.reviews = append(r.reviews, review)
	return true
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}
