package recorder

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

func ask(t *testing.T, r *Recorder, name string) bool {
	t.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{UID: "u", Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Response.UID != "u" {
		t.Fatalf("%v in %s", err, w.Body)
	}
	return answer.Response.Allowed
}

func TestOnlyMatchingRequestsAreRecordedAndRefused(t *testing.T) {
	r := &Recorder{}
	if !ask(t, r, "before") {
		t.Error("refused while nobody records")
	}
	r.Record(func(a *admissionv1.AdmissionRequest) bool { return a.Name == "wanted" })
	if ask(t, r, "wanted") || !ask(t, r, "other") {
		t.Error("the wanted request and only it must be refused")
	}
	reviews, err := r.Stop()
	if err != nil || len(reviews) != 1 || reviews[0].Request.Name != "wanted" {
		t.Errorf("recorded %v, %v", reviews, err)
	}
	if !ask(t, r, "wanted") {
		t.Error("refused after the end")
	}
}

func TestABrokenReviewIsReported(t *testing.T) {
	r := &Recorder{}
	r.Record(func(*admissionv1.AdmissionRequest) bool { return true })
	r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte("{}"))))
	if _, err := r.Stop(); err == nil {
		t.Error("no error")
	}
}
