package policies_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies/profile"
)

// TestNoSpellingOfAPathLeavesThePrefix sends every sequence of a few words behind the prefix, as it
// stands in a URL, and follows what is admitted to the service: also to one that decodes once more.
func TestNoSpellingOfAPathLeavesThePrefix(t *testing.T) {
	words := []string{"admin", "/", "//", ".", "..", "%2e", "%2E%2e", "%2f", "%252e%252e", "%252F", "%5c", ";", "?"}
	uris := []string{"/v1/"}
	for first := 0; len(uris) < 1+13+13*13+13*13*13; first++ {
		for _, w := range words {
			uris = append(uris, uris[first]+w)
		}
	}
	set := prove(t, profile.Builtin()[0]).set.Only("service-proxy")
	admitted, left := 0, 0
	for _, uri := range uris {
		path := seenByAdmission(t, "/api/v1/namespaces/pipeline-system/services/pipeline-api:8080/proxy"+uri)
		stays := staysBelow("/v1/", path)
		if !stays {
			left++
		}
		if set.Evaluate(t.Context(), proxied(t, "pipeline-api:8080", path), harness.Options{}).Decision != harness.Allowed {
			continue
		}
		admitted++
		if !stays {
			t.Errorf("%s is admitted as %s", uri, path)
		}
	}
	if admitted < 10 || left < 100 {
		t.Errorf("of %d spellings %d are admitted and %d leave the prefix: the test shows nothing", len(uris), admitted, left)
	}
}

// TestAPrefixEndsAtASlash compares a path of the Profile with the paths that a request may have.
func TestAPrefixEndsAtASlash(t *testing.T) {
	for path, admitted := range map[string][]string{
		"/v1/":   {"/v1/", "/v1/runs"},
		"/v1":    {"/v1", "/v1/", "/v1/runs"},
		"/":      {"/", "/v", "/v1", "/v10", "/V1", "/v1/", "/v1/runs", "/admin/v1/"},
		"/admin": {"/admin/v1/"},
	} {
		p := profile.Builtin()[0]
		p.ClosedWorld.Proxies = []profile.Proxy{{Service: "pipeline-system/pipeline-api", Port: "http", Path: path}}
		set := prove(t, p).set.Only("service-proxy")
		for _, asked := range []string{"", "/", "/v", "/v1", "/v10", "/V1", "/v1/", "/v1/runs", "/admin/v1/"} {
			v := set.Evaluate(t.Context(), proxied(t, "pipeline-api:http", asked), harness.Options{})
			if (v.Decision == harness.Allowed) != slices.Contains(admitted, asked) {
				t.Errorf("%q, where the Profile lists %q: %v", asked, path, v.Decision)
			}
		}
	}
}

func TestARefusedProxyIsToldWhatMayBeReached(t *testing.T) {
	p := profile.Builtin()[0]
	for _, c := range []struct {
		proxies []profile.Proxy
		want    string
	}{
		{nil, "Tower may call through the API server only these services, ports and plain paths: none."},
		{p.ClosedWorld.Proxies, "Tower may call through the API server only these services, ports and plain paths: pipeline-system/pipeline-api:8080/v1/."},
		{[]profile.Proxy{{Service: "a/b", Port: "c", Path: "/d"}, {Service: "e/f", Port: "1", Path: "/"}},
			"Tower may call through the API server only these services, ports and plain paths: a/b:c/d, e/f:1/."},
	} {
		p.ClosedWorld.Proxies = c.proxies
		v := prove(t, p).set.Only("service-proxy").Evaluate(t.Context(), proxied(t, "other:80", "/"), harness.Options{})
		if len(v.Denials) != 1 || v.Denials[0].Message != c.want {
			t.Errorf("%+v, want %q", v.Denials, c.want)
		}
	}
}

// proxied is a call of the writer through the API server.
func proxied(t *testing.T, service, path string) *harness.Prepared {
	t.Helper()
	prepared, err := harness.Prepare(harness.Request{
		Operation: admission.Connect, Resource: schema.GroupVersionResource{Version: "v1", Resource: "services"}, Subresource: "proxy",
		Kind: schema.GroupVersionKind{Version: "v1", Kind: "ServiceProxyOptions"}, Namespace: "pipeline-system", Name: service,
		Object: map[string]any{"apiVersion": "v1", "kind": "ServiceProxyOptions", "path": path},
		User:   user.DefaultInfo{Name: profile.Builtin()[0].Identities.Writer.Username()},
	}, harness.Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

// seenByAdmission is the path of a proxied request that admission is shown (apiserver
// pkg/endpoints/handlers/get.go, getRequestOptions).
func seenByAdmission(t *testing.T, uri string) string {
	t.Helper()
	target, err := url.ParseRequestURI(uri)
	if err != nil {
		t.Fatal(err)
	}
	prefixes := apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := prefixes.NewRequestInfo(&http.Request{Method: http.MethodPost, URL: target})
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Join(info.Parts[3:], "/")
	if path != "" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if strings.HasSuffix(info.Path, "/") && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return path
}

// staysBelow reports whether a service that the path is sent to (kubernetes
// pkg/registry/core/service/proxy.go, Connect) takes it for one below the prefix, however often it
// decodes, and also if it reads backslashes as slashes and drops parameters.
func staysBelow(prefix, path string) bool {
	for {
		plain := strings.ReplaceAll(strings.ReplaceAll(path, `\`, "/"), ";", "")
		if !strings.HasPrefix(utilnet.JoinPreservingTrailingSlash("", plain), prefix) {
			return false
		}
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			return true
		}
		path = decoded
	}
}
