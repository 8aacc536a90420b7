package completion

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/e2e/kit/pair"
	"hangar.io/holdshort/e2e/kit/world"
)

// namespace of the namespaced objects.
const namespace = "completion"

// Probe sends creates to S, which stores none of them.
type Probe struct {
	servers *pair.Servers
	table   *schema.Table
}

// NewProbe makes the namespace on S.
func NewProbe(ctx context.Context, s *pair.Servers) (*Probe, error) {
	if err := world.New(s.Dynamic).Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	return &Probe{servers: s, table: schema.BuiltIn(schema.Newest)}, nil
}

// Send returns the create of an object as the harness completes it and as the server's admission
// sees it. refusal is what the server says to an object that is not valid; then there is neither.
func (p *Probe) Send(ctx context.Context, o *unstructured.Unstructured) (written, recorded harness.Request, refusal string, err error) {
	resource, ok := p.table.ForKind(o.GroupVersionKind())
	if !ok {
		return written, recorded, "", fmt.Errorf("%s is not a kind of this server", o.GroupVersionKind())
	}
	r := harness.Request{
		Operation: admission.Create, Resource: resource.GVR, Kind: resource.Kind, Name: o.GetName(), Object: o.Object,
		User: user.DefaultInfo{Name: "author", Groups: []string{user.SystemPrivilegedGroup}},
	}
	if resource.Namespaced {
		r.Namespace = namespace
	}
	answer, reviews, err := p.servers.Send(ctx, p.servers.S, p.table, r)
	if err != nil || len(reviews) != 1 {
		if err == nil {
			refusal = fmt.Sprintf("%d %s", answer.Code, answer.Status.Message)
		}
		return written, recorded, refusal, err
	}
	if recorded, err = pair.Decode(reviews[0], p.table); err != nil {
		return written, recorded, "", err
	}
	written = r
	err = harness.Complete(&written, harness.Cluster{Resources: p.table}, time.Now())
	return written, recorded, "", err
}
