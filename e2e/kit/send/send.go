// Package send makes of an admission request the HTTP request that leads to it, and sends it to
// a real API server.
package send

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/rest"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/e2e/kit/cluster"
)

// maxAnswer bounds a response: a list of a whole collection of a test.
const maxAnswer = 16 << 20

// Answer is what a server answers.
type Answer struct {
	Code   int
	Status metav1.Status // the zero value unless the body is one
	Body   []byte
	// Warnings are the texts of the Warning headers.
	Warnings []string
	// AuditID names the request in the audit log.
	AuditID string
}

// Unsendable is an admission request that no client can cause.
type Unsendable struct{ Reason string }

// Error implements error.
func (u *Unsendable) Error() string { return "cannot be sent: " + u.Reason }

// Do sends the request as an administrator who impersonates the request's user. The table tells
// which resources are namespaced. A response of any status is an Answer and no error.
func Do(ctx context.Context, s *cluster.APIServer, t *schema.Table, r harness.Request) (*Answer, error) {
	call, err := newCall(t, r)
	if err != nil {
		return nil, err
	}
	if r.User.Name == "" {
		return nil, &Unsendable{"an empty user name cannot be impersonated, and only a token webhook could return one"}
	}
	config := s.As(rest.ImpersonationConfig{UserName: r.User.Name, UID: r.User.UID, Groups: r.User.Groups, Extra: r.User.Extra})
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, call.method, s.URL+call.path(), bytes.NewReader(call.body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if len(call.body) > 0 {
		request.Header.Set("Content-Type", call.contentType)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	a := &Answer{Code: response.StatusCode, Body: body, AuditID: response.Header.Get("Audit-Id"), Warnings: warnings(response.Header)}
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		a.Status = status
	}
	return a, nil
}

// call is an HTTP request without its server.
type call struct {
	method      string
	segments    []string
	query       url.Values
	body        []byte
	contentType string
}

func (c *call) path() string {
	escaped := make([]string, len(c.segments))
	for i, s := range c.segments {
		escaped[i] = url.PathEscape(s)
	}
	p := "/" + strings.Join(escaped, "/")
	if len(c.query) > 0 {
		p += "?" + c.query.Encode()
	}
	return p
}

func newCall(t *schema.Table, r harness.Request) (*call, error) {
	c := &call{query: url.Values{}, contentType: "application/json"}
	c.segments = []string{"apis", r.Resource.Group, r.Resource.Version}
	if r.Resource.Group == "" {
		c.segments = []string{"api", r.Resource.Version}
	}
	endpoint, ok := t.Lookup(r.Resource, r.Subresource)
	if !ok {
		return nil, fmt.Errorf("%s/%s is not a resource of this server", r.Resource, r.Subresource)
	}
	if endpoint.Namespaced {
		c.segments = append(c.segments, "namespaces", r.Namespace)
	}
	c.segments = append(c.segments, r.Resource.Resource)
	var err error
	switch r.Operation {
	case admission.Create:
		err = c.create(r)
	case admission.Update:
		err = c.update(r)
	case admission.Delete:
		err = c.remove(r)
	case admission.Connect:
		err = c.connect(r)
	default:
		err = fmt.Errorf("operation %q", r.Operation)
	}
	return c, err
}

// item addresses one object and its subresource.
func (c *call) item(r harness.Request) {
	c.segments = append(c.segments, r.Name)
	if r.Subresource != "" {
		c.segments = append(c.segments, r.Subresource)
	}
}

func (c *call) create(r harness.Request) error {
	c.method = http.MethodPost
	if r.Subresource != "" {
		c.item(r)
	}
	c.options(r)
	// A resourceVersion refuses a create (apiserver pkg/registry/rest/create.go, BeforeCreate).
	return c.object(r.Object, "resourceVersion")
}

func (c *call) update(r harness.Request) error {
	c.method = http.MethodPut
	c.item(r)
	c.options(r)
	// The fields that the server checks against the stored object, which has its own.
	return c.object(r.Object, "uid", "creationTimestamp", "generation", "selfLink")
}

func (c *call) remove(r harness.Request) error {
	c.method = http.MethodDelete
	if r.Name != "" {
		c.item(r)
	} else {
		old := unstructured.Unstructured{Object: r.OldObject}
		c.query.Set("fieldSelector", "metadata.name="+old.GetName())
	}
	options := maps.Clone(r.Options)
	if options == nil {
		options = map[string]any{}
	}
	options["apiVersion"], options["kind"] = "v1", "DeleteOptions"
	if r.DryRun {
		options["dryRun"] = []any{metav1.DryRunAll}
	}
	var err error
	c.body, err = json.Marshal(options)
	return err
}

// connect puts the fields of the options kind into the query; the path of a proxy goes into the
// path (apiserver pkg/endpoints/handlers/get.go, getRequestOptions).
func (c *call) connect(r harness.Request) error {
	c.method = http.MethodPost
	if r.DryRun {
		return &Unsendable{"CONNECT refuses a dry run"}
	}
	c.item(r)
	for _, field := range slices.Sorted(maps.Keys(r.Object)) {
		value := r.Object[field]
		switch {
		case field == "apiVersion" || field == "kind" || value == nil: // a list that is null is a parameter that is not there
		case field == "path" && r.Subresource == "proxy":
			path, _ := value.(string)
			c.segments = append(c.segments, strings.Split(strings.TrimPrefix(path, "/"), "/")...)
		default:
			c.add(field, value)
		}
	}
	return nil
}

func (c *call) add(field string, value any) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, v := range list {
		c.query.Add(field, fmt.Sprint(v))
	}
}

// options of a create or update are in the query.
func (c *call) options(r harness.Request) {
	for field, value := range r.Options {
		if field != "apiVersion" && field != "kind" {
			c.add(field, value)
		}
	}
	if r.DryRun && !c.query.Has("dryRun") {
		c.query.Set("dryRun", metav1.DryRunAll)
	}
}

func (c *call) object(o map[string]any, without ...string) error {
	o = runtime.DeepCopyJSON(o)
	if m, ok := o["metadata"].(map[string]any); ok {
		for _, field := range without {
			delete(m, field)
		}
	}
	var err error
	c.body, err = json.Marshal(o)
	return err
}
