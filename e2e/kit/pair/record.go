package pair

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	admissionapi "k8s.io/api/admission/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	"hangar.io/holdshort/cel/request"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/send"
	"hangar.io/holdshort/e2e/kit/wait"
)

// settle is how long a request may be refused before admission because something that was just
// created has not reached a cache of the server (a PriorityClass, say) before the refusal counts.
const settle = 2 * time.Second

// Send sends a request to one of the servers and returns its answer and what the recorder behind
// the server's policies saw of it, which it refuses. No review and a refusal mean that a policy,
// or something before it, refused the request.
func (p *Servers) Send(ctx context.Context, server *cluster.APIServer, t *schema.Table, r harness.Request) (*send.Answer, []*admissionapi.AdmissionReview, error) {
	var answer *send.Answer
	var reviews []*admissionapi.AdmissionReview
	begin := time.Now()
	err := wait.Until(ctx, time.Minute, "an answer of "+server.Name, func(ctx context.Context) error {
		p.Recorder.Record(func(a *admissionapi.AdmissionRequest) bool { return concerns(a, r) })
		got, err := send.Do(ctx, server, t, r)
		seen, recordErr := p.Recorder.Stop()
		if err := errors.Join(err, recordErr); err != nil {
			return wait.Stop(err)
		}
		answer, reviews = got, seen
		judged := len(seen) > 0 || strings.Contains(got.Status.Message, "ValidatingAdmissionPolicy") || unauthorized(got)
		if !judged && cached(got) && time.Since(begin) < settle {
			return errors.New(got.Status.Message)
		}
		return nil
	})
	return answer, reviews, err
}

// cached tells whether a refusal may come from a cache that is behind: only admission plugins
// look things up there, and they answer 403.
func cached(a *send.Answer) bool { return a.Code == 403 || a.Code == 404 || a.Code == 409 }

// unauthorized tells whether the authorizer refused the request (apiserver
// pkg/endpoints/handlers/responsewriters/errors.go, ForbiddenStatusError).
func unauthorized(a *send.Answer) bool {
	return a.Code == 403 && strings.Contains(a.Status.Message, " is forbidden: User ") && strings.Contains(a.Status.Message, " cannot ")
}

// concerns tells whether an admission request is the one that r leads to.
func concerns(a *admissionapi.AdmissionRequest, r harness.Request) bool {
	return a.UserInfo.Username == r.User.Name && string(a.Operation) == string(r.Operation) &&
		a.Resource.Group == r.Resource.Group && a.Resource.Resource == r.Resource.Resource &&
		a.SubResource == r.Subresource && (r.Name == "" || a.Name == "" || a.Name == r.Name)
}

// Decode reads a recorded review as the command line does.
func Decode(review *admissionapi.AdmissionReview, t *schema.Table) (harness.Request, error) {
	b, err := json.Marshal(review)
	if err != nil {
		return harness.Request{}, err
	}
	object := map[string]any{}
	if err := utiljson.Unmarshal(b, &object); err != nil {
		return harness.Request{}, err
	}
	decoded, err := request.Decode(manifest.Document{File: "review", Object: object}, request.Options{Resources: t})
	return decoded.Request, err
}
