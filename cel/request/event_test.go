package request

import (
	"encoding/json"
	"testing"
)

// eventText is an audit event with these fields instead of the usual ones; a field set to null is
// absent.
func eventText(t testing.TB, fields string) string {
	t.Helper()
	event := map[string]json.RawMessage{}
	for _, text := range []string{`{
		"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": "a1", "stage": "ResponseComplete",
		"requestURI": "/api/v1/namespaces/ns/pods?fieldManager=kubectl", "verb": "create", "user": {"username": "alice", "groups": ["system:authenticated"]},
		"objectRef": {"resource": "pods", "namespace": "ns", "name": "p", "apiVersion": "v1"}, "responseStatus": {"metadata": {}, "code": 201},
		"requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z", "stageTimestamp": "2026-01-01T00:00:00.100000Z",
		"requestObject": ` + podJSON + `,
		"responseObject": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns", "uid": "1", "resourceVersion": "5"}}}`, fields} {
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range event {
		if string(v) == "null" {
			delete(event, k)
		}
	}
	text, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	stored      = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"1"}}`
	withManager = ` options={"apiVersion":"meta.k8s.io/v1","fieldManager":"kubectl","kind":"CreateOptions"}`
	oldPod      = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns, uid: '1', resourceVersion: '4'}\n"
	oldStored   = ` old={"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","resourceVersion":"4","uid":"1"}}`
)

func TestEventsBecomeRequests(t *testing.T) {
	status := `"responseObject": {"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 403}, "responseStatus": {"metadata": {}, "code": 403, "reason": "Forbidden"}`
	exec := `"objectRef": {"resource": "pods", "namespace": "ns", "name": "p", "apiVersion": "v1", "subresource": "exec"}, "requestObject": null, "responseObject": null`
	for _, c := range []struct {
		name, fields, old, want string
	}{
		{"a create", `{}`, "", `CREATE v1/pods Pod ns/p object=` + stored + withManager + ` by alice completed`},
		{"a create that was refused", `{` + status + `}`, "", `CREATE v1/pods Pod ns/p object=` + podJSON + withManager + ` by alice`},
		{"a create at level Request", `{"level": "Request", "responseObject": null}`, "", `CREATE v1/pods Pod ns/p object=` + podJSON + withManager + ` by alice`},
		{"a dry run", `{"requestURI": "/api/v1/namespaces/ns/pods?dryRun=All"}`, "", `CREATE v1/pods Pod ns/p object=` + stored + ` options={"apiVersion":"meta.k8s.io/v1","dryRun":["All"],"kind":"CreateOptions"} by alice dry completed`},
		{"a generated name", `{"requestObject": {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p"}}}`, "", `CREATE v1/pods Pod ns/p object=` + stored + withManager + ` by alice completed`},
		{"a generated name that was refused", `{"requestObject": {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p"}}, ` + status + `}`, "", `CREATE v1/pods Pod ns/ object={"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"p"}}` + withManager + ` by alice`},
		{"impersonation", `{"impersonatedUser": {"username": "bob"}}`, "", `CREATE v1/pods Pod ns/p object=` + stored + withManager + ` by bob completed`},
		{"an eviction", `{"objectRef": {"resource": "pods", "namespace": "ns", "name": "p", "apiVersion": "v1", "subresource": "eviction"}, "requestURI": "/api/v1/namespaces/ns/pods/p/eviction",
			"requestObject": {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "p"}}, "responseObject": {"kind": "Status", "apiVersion": "v1"}}`, "",
			`CREATE v1/pods/eviction Eviction ns/p object={"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"p"}} options={"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"} by alice`},
		{"a token request, whose answer has the token", `{"objectRef": {"resource": "serviceaccounts", "namespace": "ns", "name": "s", "apiVersion": "v1", "subresource": "token"}, "requestURI": "/api/v1/namespaces/ns/serviceaccounts/s/token",
			"requestObject": {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {}}, "responseObject": {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "status": {"token": "t"}}}`, "",
			`CREATE v1/serviceaccounts/token TokenRequest ns/s object={"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{}} options={"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"} by alice`},
		{"a namespace", `{"objectRef": {"resource": "namespaces", "name": "x", "apiVersion": "v1"}, "requestURI": "/api/v1/namespaces", "responseObject": null,
			"requestObject": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}}`, "", `CREATE v1/namespaces Namespace x/x object={"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}} options={"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"} by alice`},
		{"an update", `{"verb": "update", "responseStatus": {"code": 200}, "requestURI": "/api/v1/namespaces/ns/pods/p"}`, oldPod,
			`UPDATE v1/pods Pod ns/p object={"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","resourceVersion":"4","uid":"1"}}` + oldStored + ` options={"apiVersion":"meta.k8s.io/v1","kind":"UpdateOptions"} by alice completed`},
		{"a patch", `{"verb": "patch", "responseStatus": {"code": 200}, "requestObject": {"metadata": {"labels": {"a": "b"}}}, "requestURI": "/api/v1/namespaces/ns/pods/p?fieldManager=m&force=true"}`, oldPod,
			`UPDATE v1/pods Pod ns/p object={"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","resourceVersion":"4","uid":"1"}}` + oldStored + ` options={"apiVersion":"meta.k8s.io/v1","fieldManager":"m","kind":"UpdateOptions"} by alice completed`},
		{"an apply that created", `{"verb": "patch", "requestURI": "/api/v1/namespaces/ns/pods/p?fieldManager=kubectl"}`, "", `CREATE v1/pods Pod ns/p object=` + stored + withManager + ` by alice completed`},
		{"a delete", `{"verb": "delete", "responseStatus": {"code": 200}, "requestURI": "/api/v1/namespaces/ns/pods/p", "requestObject": {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 30}}`, oldPod,
			`DELETE v1/pods Pod ns/p` + oldStored + ` options={"apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":30,"kind":"DeleteOptions"} by alice completed`},
		{"a delete with its options in the query", `{"verb": "delete", "responseStatus": {"code": 200}, "requestURI": "/api/v1/namespaces/ns/pods/p?gracePeriodSeconds=0&propagationPolicy=Foreground", "requestObject": null}`, oldPod,
			`DELETE v1/pods Pod ns/p` + oldStored + ` options={"apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":0,"kind":"DeleteOptions","propagationPolicy":"Foreground"} by alice completed`},
		{"exec by POST", `{` + exec + `, "requestURI": "/api/v1/namespaces/ns/pods/p/exec?command=ls&command=-l&container=c&stdin=true&tty=false"}`, "",
			`CONNECT v1/pods/exec PodExecOptions ns/p object={"apiVersion":"v1","command":["ls","-l"],"container":"c","kind":"PodExecOptions","stdin":true} by alice`},
		{"exec by GET", `{"verb": "get", ` + exec + `, "requestURI": "/api/v1/namespaces/ns/pods/p/exec?command=sh"}`, "",
			`CONNECT v1/pods/exec PodExecOptions ns/p object={"apiVersion":"v1","command":["sh"],"kind":"PodExecOptions"} by alice`},
		{"exec at level Metadata", `{"verb": "get", "level": "Metadata", ` + exec + `, "requestURI": "/api/v1/namespaces/ns/pods/p/exec?command=sh"}`, "",
			`CONNECT v1/pods/exec PodExecOptions ns/p object={"apiVersion":"v1","command":["sh"],"kind":"PodExecOptions"} by alice`},
		{"a port forward", `{"objectRef": {"resource": "pods", "namespace": "ns", "name": "p", "apiVersion": "v1", "subresource": "portforward"}, "requestURI": "/api/v1/namespaces/ns/pods/p/portforward?ports=80,443"}`, "",
			`CONNECT v1/pods/portforward PodPortForwardOptions ns/p object={"apiVersion":"v1","kind":"PodPortForwardOptions","ports":[80,443]} by alice`},
		{"a proxied request", `{"verb": "delete", "objectRef": {"resource": "services", "namespace": "ns", "name": "https:s:443", "apiVersion": "v1", "subresource": "proxy"}, "requestURI": "/api/v1/namespaces/ns/services/https:s:443/proxy/a/b/?q=1"}`, "",
			`CONNECT v1/services/proxy ServiceProxyOptions ns/https:s:443 object={"apiVersion":"v1","kind":"ServiceProxyOptions","path":"/a/b/"} by alice`},
		{"a proxied request to a node", `{"verb": "get", "objectRef": {"resource": "nodes", "name": "n1", "apiVersion": "v1", "subresource": "proxy"}, "requestURI": "/api/v1/nodes/n1/proxy/metrics"}`, "",
			`CONNECT v1/nodes/proxy NodeProxyOptions /n1 object={"apiVersion":"v1","kind":"NodeProxyOptions","path":"/metrics"} by alice`},
		{"a get", `{"verb": "get"}`, "", "skipped: read"},
		{"a list", `{"verb": "list"}`, "", "skipped: read"},
		{"a watch of something unknown", `{"verb": "watch", "objectRef": {"resource": "x"}}`, "", "skipped: read"},
		{"a get of something unknown", `{"verb": "get", "objectRef": {"resource": "widgets", "apiGroup": "x.io", "apiVersion": "v1"}}`, "", "skipped: read"},
		{"a URL that is no resource", `{"verb": "post", "objectRef": null, "requestURI": "/healthz"}`, "", "skipped: no request for a resource"},
		{"the beginning of a request", `{"stage": "RequestReceived"}`, "", "skipped: stage RequestReceived: the request is logged again when it is answered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o Options
			if c.old != "" {
				o.Old = readP(t, c.old)
			}
			d, err := Decode(read(t, eventText(t, c.fields)), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := line(d); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			admissible(t, d)
			if d.Form != FormEvent || d.ID != "a1" {
				t.Errorf("form %s, id %q", d.Form, d.ID)
			}
		})
	}
}

func TestEventsThatHoldTooLittleSayWhatIsMissing(t *testing.T) {
	for _, c := range []struct{ name, fields, old, want string }{
		{"a create at level Metadata", `{"level": "Metadata", "requestObject": null, "responseObject": null}`, "", "object: in.yaml:1: level: an event of level Metadata does not hold the object of a create of pods (the audit policy needs level Request or RequestResponse for pods)"},
		{"an update at level Metadata", `{"verb": "update", "level": "Metadata", "responseStatus": {"code": 200}, "requestObject": null, "responseObject": null}`, "", "object: in.yaml:1: level: an event of level Metadata does not hold the object of an update of pods (the audit policy needs level Request or RequestResponse for pods)"},
		{"a patch at level Request", `{"verb": "patch", "level": "Request", "responseStatus": {"code": 200}, "responseObject": null}`, "", "object: in.yaml:1: level: an event of level Request does not hold the object of a patch of pods (the audit policy needs level RequestResponse for pods)"},
		{"a patch that failed", `{"verb": "patch", "responseStatus": {"code": 403}, "responseObject": {"kind": "Status", "apiVersion": "v1"}}`, "", "object: in.yaml:1: verb: the patch failed: its event does not hold the patched object"},
		{"an update without the old object", `{"verb": "update", "responseStatus": {"code": 200}}`, "", "oldObject: in.yaml:1: verb: an event does not hold the object as it was before the update (give it with --old FILE)"},
		{"a delete without the old object", `{"verb": "delete"}`, "", "oldObject: in.yaml:1: verb: an event does not hold the object as it was before the delete (give it with --old FILE)"},
		{"another old object", `{"verb": "delete"}`, "apiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: ns}\n", "in.yaml:3: metadata.name: expected ns/p as it was before the request, found ns/q"},
		{"an old object of another kind", `{"verb": "delete"}`, deployment, "in.yaml:2: kind: expected the v1 Pod before the request, found apps/v1 Deployment"},
		{"a deletecollection", `{"verb": "deletecollection"}`, "", "oldObject: in.yaml:1: verb: an event of a deletecollection does not hold the objects that are deleted"},
		{"a truncated event", `{"annotations": {"audit.k8s.io/truncated": "true"}, "requestObject": null}`, "", "object: in.yaml:1: annotations: the event was truncated and does not hold the object (raise the API server's --audit-log-truncate-max-event-size)"},
		{"an unknown resource", `{"objectRef": {"resource": "widgets", "apiGroup": "x.io", "apiVersion": "v1", "name": "w"}}`, "", "kind: in.yaml:1: objectRef.resource: widgets of x.io is not a known resource (give its CustomResourceDefinition)"},
		{"an unknown verb", `{"verb": "frob"}`, "", `in.yaml:1: verb: expected create, update, patch, delete or deletecollection, found "frob"`},
		{"an old version", `{"apiVersion": "audit.k8s.io/v1beta1"}`, "", "in.yaml:1: apiVersion: expected audit.k8s.io/v1, found audit.k8s.io/v1beta1"},
		{"a URI that is none", `{"requestURI": "%zz"}`, "", `in.yaml:1: requestURI: expected the path and query of a request, found "%zz"`},
		{"ports that are none", `{"objectRef": {"resource": "pods", "namespace": "ns", "name": "p", "apiVersion": "v1", "subresource": "portforward"}, "requestURI": "/api/v1/namespaces/ns/pods/p/portforward?ports=x"}`, "",
			`in.yaml:1: requestURI: expected the options of pods/portforward: cannot convert to []int32: strconv.ParseUint: parsing "x": invalid syntax`},
		{"a user that is text", `{"user": "alice"}`, "", "in.yaml:1: user: expected an object, found text"},
		{"an object that is text", `{"requestObject": "x"}`, "", "in.yaml:1: requestObject: expected an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o Options
			if c.old != "" {
				o.Old = readP(t, c.old)
			}
			wantError(t, eventText(t, c.fields), o, c.want)
		})
	}
}
