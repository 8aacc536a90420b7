package parity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionapi "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/e2e/kit/audit"
	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/differ"
	"hangar.io/holdshort/e2e/kit/pair"
	"hangar.io/holdshort/e2e/kit/recorder"
	"hangar.io/holdshort/e2e/kit/send"
	"hangar.io/holdshort/e2e/kit/world"
)

// Judge asks servers and harness about cases. It is not safe for concurrent use.
type Judge struct {
	servers *pair.Servers
	gate    *pair.Gate
	world   *world.World
	audits  map[*cluster.APIServer]*audit.Reader
	rbac    int      // generation of the RBAC objects on R
	granted []string // namespaces that have RoleBindings of it
}

// NewJudge returns a judge over running servers. Policies reach P and R, and more servers on their
// etcd.
func NewJudge(s *pair.Servers, more ...*cluster.APIServer) *Judge {
	return &Judge{
		servers: s, gate: pair.NewGate(s, more...), world: world.New(s.Dynamic),
		audits: map[*cluster.APIServer]*audit.Reader{s.P: audit.Open(s.P.AuditLog), s.R: audit.Open(s.R.AuditLog)},
	}
}

// Result is the three answers to one case.
type Result struct {
	Case fixture.Case
	// Hash of the request and the policy: two results with one hash count once.
	Hash string
	// Server, Written and Recorded are the answers of P (or R), of the harness on the fixture's
	// request, and of the harness on the recorded AdmissionReview.
	Server, Written, Recorded Answer
	// Differences between the completed request and the recorded one.
	Differences []differ.Difference
	// Faults are why the case fails; empty: it passes.
	Faults []string
	// Unsendable, unless empty, is why no client can cause the request.
	Unsendable string
}

func (r *Result) fault(format string, args ...any) {
	r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
}

// Judge asks all three about a case under a set whose bindings are in force. The error is about
// the machinery; a fault of the case is in the result.
func (j *Judge) Judge(ctx context.Context, c fixture.Case, set *harness.Set) (*Result, error) {
	r := &Result{Case: c, Hash: hash(c)}
	if g := c.Request.Resource; g.Group == "admissionregistration.k8s.io" && strings.HasSuffix(g.Resource, "webhookconfigurations") {
		// apiserver pkg/admission/plugin/webhook/predicates/rules, IsExemptAdmissionConfigurationResource.
		r.Unsendable = "no webhook sees the configuration of webhooks, so the recorder cannot tell what policies make of it"
		return r, nil
	}
	server := j.servers.P
	if c.Cluster.Allow != nil {
		server = j.servers.R
	}
	if err := j.reach(ctx, c, server); err != nil {
		r.fault("the case's world cannot be made: %v", err)
		return r, nil
	}
	written := c.Request
	if err := harness.Complete(&written, c.Cluster, time.Now()); err != nil {
		r.fault("complete: %v", err)
		return r, nil
	}
	mask := masks(written)
	verdict, err := evaluate(ctx, set, written, c.Cluster)
	if err != nil {
		r.fault("harness on the fixture: %v", err)
		return r, nil
	}
	r.Written = ofVerdict(verdict, mask)

	outgoing, err := j.outgoing(ctx, c.Request, written)
	if err != nil {
		r.fault("%v", err)
		return r, nil
	}
	review, err := j.record(ctx, c, outgoing)
	var unsendable *send.Unsendable
	if errors.As(err, &unsendable) {
		r.Unsendable = unsendable.Reason
		return r, nil
	}
	if err != nil {
		r.fault("S: %v", err)
		return r, nil
	}
	if r.Server, err = j.ask(ctx, c, set, outgoing, server, mask); err != nil {
		r.fault("%s: %v", server.Name, err)
		return r, nil
	}
	if err := j.replay(ctx, r, set, review, written, mask); err != nil {
		r.fault("harness on the review: %v", err)
		return r, nil
	}
	r.compare()
	return r, nil
}

// Ask makes what a case describes exist and sends its request to a server. The reviews are what
// policies admitted on a server with the recorder behind them.
func (j *Judge) Ask(ctx context.Context, c fixture.Case, server *cluster.APIServer) (*send.Answer, []*admissionapi.AdmissionReview, error) {
	if err := j.reach(ctx, c, server); err != nil {
		return nil, nil, fmt.Errorf("the case's world cannot be made: %w", err)
	}
	written := c.Request
	if err := harness.Complete(&written, c.Cluster, time.Now()); err != nil {
		return nil, nil, err
	}
	outgoing, err := j.outgoing(ctx, c.Request, written)
	if err != nil {
		return nil, nil, err
	}
	return j.servers.Send(ctx, server, c.Cluster.Resources, outgoing)
}

// Install replaces all policies by those of a suite; none is bound.
func (j *Judge) Install(ctx context.Context, s *Suite) error {
	refused, err := j.gate.Install(ctx, s.Policies)
	for name, refusal := range refused {
		err = errors.Join(err, fmt.Errorf("the server refuses the policy %s: %w", name, refusal))
	}
	return err
}

// Bind puts one policy of the installed suite into force, or all of them if none is named.
func (j *Judge) Bind(ctx context.Context, s *Suite, policy string) error {
	if policy == "" {
		return j.gate.Bind(ctx, s.Bindings)
	}
	return j.gate.Bind(ctx, s.bindings(policy))
}

// replay evaluates the recorded review and lists its differences to the completed request.
func (j *Judge) replay(ctx context.Context, r *Result, set *harness.Set, review *admissionapi.AdmissionReview, written harness.Request, mask masker) error {
	recorded, err := pair.Decode(review, r.Case.Cluster.Resources)
	if err != nil {
		return err
	}
	live, err := j.live(ctx, r.Case)
	if err != nil {
		return err
	}
	verdict, err := evaluate(ctx, set, recorded, live)
	if err != nil {
		return err
	}
	r.Recorded = ofVerdict(verdict, mask)
	r.Differences = differ.Requests(written, recorded)
	return nil
}

// compare makes a fault of each difference between the answers, and of each difference between
// the requests that has no known cause.
func (r *Result) compare() {
	for _, d := range r.Server.differences(r.Written) {
		r.fault("the server's answer is not the harness's on the fixture: %s", d)
	}
	for _, d := range r.Server.differences(r.Recorded) {
		r.fault("the server's answer is not the harness's on the review: %s", d)
	}
	if a, b := r.Written, r.Recorded; !slices.Equal(a.Refusals, b.Refusals) || !slices.Equal(a.Denials, b.Denials) {
		r.fault("the harness refuses the fixture with %q and the review with %q", a.Denials, b.Denials)
	}
	for _, d := range r.Differences {
		if d.Cause == "" {
			r.fault("unexplained difference: %s", d)
		}
	}
}

func evaluate(ctx context.Context, set *harness.Set, r harness.Request, c harness.Cluster) (harness.Verdict, error) {
	prepared, err := harness.Prepare(r, c)
	if err != nil {
		return harness.Verdict{}, err
	}
	return set.Evaluate(ctx, prepared, harness.Options{}), nil
}

// record sends the request to S and returns the review that its admission makes of it. Anything
// but reaching admission is an error.
func (j *Judge) record(ctx context.Context, c fixture.Case, r harness.Request) (*admissionapi.AdmissionReview, error) {
	answer, reviews, err := j.servers.Send(ctx, j.servers.S, c.Cluster.Resources, r)
	if err != nil {
		return nil, err
	}
	if len(reviews) != 1 {
		return nil, fmt.Errorf("the request does not reach admission once but %d times; the server says: %d %s", len(reviews), answer.Code, answer.Status.Message)
	}
	return reviews[0], nil
}

// ask sends the request to a server with policies. Being recorded means that the policies admit it.
func (j *Judge) ask(ctx context.Context, c fixture.Case, set *harness.Set, r harness.Request, server *cluster.APIServer, mask masker) (Answer, error) {
	got, reviews, err := j.servers.Send(ctx, server, c.Cluster.Resources, r)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Annotations: map[string]string{}}
	switch {
	case len(reviews) > 0 && strings.Contains(got.Status.Message, recorder.Refusal):
		a.Decision = harness.Allowed
	case len(reviews) == 0 && got.Code >= http.StatusBadRequest && got.Status.Status == metav1.StatusFailure:
		a.Decision = harness.Denied
		a.Refusals = []Refusal{{got.Status.Code, got.Status.Reason, mask.text(got.Status.Message)}}
	default:
		return Answer{}, fmt.Errorf("neither admitted nor refused by policies: %d %s, recorded %d times", got.Code, got.Body, len(reviews))
	}
	for _, w := range got.Warnings {
		if strings.HasPrefix(w, "Validation failed for ValidatingAdmissionPolicy") {
			a.Warnings = append(a.Warnings, mask.text(w))
		}
	}
	slices.Sort(a.Warnings)
	event, err := j.audits[server].Wait(ctx, audit.ID(got.AuditID))
	if err != nil {
		return Answer{}, err
	}
	for key, value := range event.Annotations {
		if policy, _, _ := strings.Cut(key, "/"); key == failureKey || slices.Contains(set.Policies(), policy) {
			a.Annotations[key] = mask.text(canonical(key, value))
		}
	}
	return a, nil
}

// hash identifies a request under a policy.
func hash(c fixture.Case) string {
	b, err := json.Marshal([]any{c.Policy, differ.Plain(c.Request)})
	if err != nil {
		panic(err) // objects are JSON values
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}
