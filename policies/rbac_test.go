package policies_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"

	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

// world is what RBAC renders: roles by kind, namespace and name, and bindings.
type world struct {
	rules    map[string][]rbacv1.PolicyRule
	bindings []bound
	accounts []*corev1.ServiceAccount
}

type bound struct {
	namespace, name, role string
	subjects              []rbacv1.Subject
}

func rights(t *testing.T, p profile.Profile) world {
	t.Helper()
	f, err := policies.RBAC(p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := policies.RBAC(p)
	if err != nil || !bytes.Equal(f.Data, again.Data) {
		t.Errorf("%s: two renderings differ, %v", p.Name, err)
	}
	w := world{rules: map[string][]rbacv1.PolicyRule{}}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for document := range strings.SplitSeq(string(f.Data), "---\n") {
		object, _, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		w.add(t, object)
	}
	return w
}

func (w *world) add(t *testing.T, object runtime.Object) {
	switch o := object.(type) {
	case *rbacv1.ClusterRole:
		if o.AggregationRule != nil || len(o.Labels) != 1 {
			t.Errorf("ClusterRole %s takes part in an aggregation", o.Name)
		}
		w.rules["ClusterRole "+o.Name] = o.Rules
	case *rbacv1.Role:
		w.rules["Role "+o.Namespace+"/"+o.Name] = o.Rules
	case *rbacv1.ClusterRoleBinding:
		w.bindings = append(w.bindings, bound{"", o.Name, "ClusterRole " + o.RoleRef.Name, o.Subjects})
	case *rbacv1.RoleBinding:
		w.bindings = append(w.bindings, bound{o.Namespace, o.Name, o.RoleRef.Kind + " " + o.Namespace + "/" + o.RoleRef.Name, o.Subjects})
	case *corev1.ServiceAccount:
		w.accounts = append(w.accounts, o)
	default:
		t.Errorf("a %T is rendered", object)
	}
}

func TestTheRolesOfASessionAndOfTheBinderHoldWhatIsWrittenDownAndNoMore(t *testing.T) {
	want := map[string]string{
		"live": "/pods: get,list,delete,patch; /pods/ephemeralcontainers: get,patch,update; /pods/attach: get,create",
		"copy": "/pods: get,list,create,delete; /pods/attach: get,create",
		"binder": "rbac.authorization.k8s.io/rolebindings: get,list,create,delete; " +
			"rbac.authorization.k8s.io/clusterroles[LIVE,COPY]: bind",
	}
	for _, p := range allProfiles(t) {
		w := rights(t, p)
		names := strings.NewReplacer("LIVE", p.Names.Roles.Live, "COPY", p.Names.Roles.Copy)
		for role, name := range map[string]string{"live": p.Names.Roles.Live, "copy": p.Names.Roles.Copy, "binder": p.Names.Roles.Binder} {
			if have := describeRules(w.rules["ClusterRole "+name]); have != names.Replace(want[role]) {
				t.Errorf("%s: %s holds %s", p.Name, name, have)
			}
		}
	}
}

func describeRules(rules []rbacv1.PolicyRule) string {
	var all []string
	for _, r := range rules {
		names := ""
		if len(r.ResourceNames) > 0 {
			names = fmt.Sprintf("[%s]", strings.Join(r.ResourceNames, ","))
		}
		all = append(all, fmt.Sprintf("%s/%s%s: %s", strings.Join(r.APIGroups, ","), strings.Join(r.Resources, ","), names, strings.Join(r.Verbs, ",")))
	}
	return strings.Join(all, "; ")
}

func TestAtRestNobodyHoldsADebugRoleAndTheFederatedGroupHoldsNothing(t *testing.T) {
	for _, p := range allProfiles(t) {
		known := []rbacv1.Subject{p.Identities.Writer.Subject(), p.Identities.Reader.Subject(), p.Identities.Portal.Subject()}
		for _, b := range rights(t, p).bindings {
			if strings.HasSuffix(b.role, p.Names.Roles.Live) || strings.HasSuffix(b.role, p.Names.Roles.Copy) {
				t.Errorf("%s: %s binds %s", p.Name, b.name, b.role)
			}
			if len(b.subjects) != 1 || !slices.Contains(known, b.subjects[0]) {
				t.Errorf("%s: %s has the subjects %v", p.Name, b.name, b.subjects)
			}
			if b.namespace != "" && strings.HasPrefix(b.name, p.Names.Prefix) {
				t.Errorf("%s: the RoleBinding %s has the name of a grant", p.Name, b.name)
			}
		}
	}
}

func TestTheWriterBindsAndTheReaderReads(t *testing.T) {
	for _, p := range allProfiles(t) {
		w := rights(t, p)
		for _, b := range w.bindings {
			switch {
			case b.name == p.Names.Bindings.Binder:
				if b.role != "ClusterRole "+p.Names.Roles.Binder || b.subjects[0] != p.Identities.Writer.Subject() {
					t.Errorf("%s: the binder role's binding is %+v", p.Name, b)
				}
			case strings.HasPrefix(b.name, p.Names.Bindings.Reader):
				// The cluster's own role; the end-to-end tests look at what is in it.
				if b.role != "ClusterRole view" || b.subjects[0] != p.Identities.Reader.Subject() {
					t.Errorf("%s: a binding of the reader is %+v", p.Name, b)
				}
			case b.namespace == "":
				t.Errorf("%s: %s holds in the whole cluster", p.Name, b.name)
			}
		}
		if p.Identities.Writer.Subject() == p.Identities.Reader.Subject() {
			continue // what the writer may, this reader may
		}
		for _, b := range w.bindings {
			if b.subjects[0] != p.Identities.Reader.Subject() || b.name == "holdshort:token-minter" {
				continue
			}
			for _, r := range w.rules[b.role] {
				for _, verb := range r.Verbs {
					if !slices.Contains([]string{"get", "list", "watch"}, verb) {
						t.Errorf("%s: the reader may %s %v", p.Name, verb, r.Resources)
					}
				}
			}
		}
	}
}

// TestWriterAndReaderMayBeOneAccount looks at the profile in which they are.
func TestWriterAndReaderMayBeOneAccount(t *testing.T) {
	for _, p := range allProfiles(t) {
		if p.Name != "one-identity" {
			continue
		}
		var have []string
		for _, b := range rights(t, p).bindings {
			have = append(have, b.name+" to "+b.subjects[0].Namespace+"/"+b.subjects[0].Name)
		}
		want := []string{"tower-breakglass-binder to tower/tower-backend-1", "tower-breakglass-reader-view to tower/tower-backend-1",
			"holdshort:token-minter to tower/tower-backend-1"}
		if !slices.Equal(have, want) {
			t.Errorf("the bindings are %q", have)
		}
		return
	}
	t.Fatal("there is no such profile")
}

func TestTheWriterReachesTheServicesOfTheProfileByTheirExactNames(t *testing.T) {
	p := profile.Builtin()[0]
	p.ClosedWorld.Proxies = []profile.Proxy{
		{Service: "pipeline-system/pipeline-api", Port: "8080", Path: "/v1/"},
		{Service: "pipeline-system/pipeline-api", Port: "8080", Path: "/v2/"},
		{Service: "tools/search", Port: "http", Path: "/"},
	}
	p, err := p.Complete()
	if err != nil {
		t.Fatal(err)
	}
	w := rights(t, p)
	want := map[string]string{
		"Role pipeline-system/holdshort:service-proxy": "/services/proxy[pipeline-api:8080]: get,create",
		"Role tools/holdshort:service-proxy":           "/services/proxy[search:http]: get,create",
	}
	for role, rules := range want {
		if have := describeRules(w.rules[role]); have != rules {
			t.Errorf("%s holds %s", role, have)
		}
		i := slices.IndexFunc(w.bindings, func(b bound) bool { return b.role == role })
		if i < 0 || w.bindings[i].subjects[0] != p.Identities.Writer.Subject() {
			t.Errorf("%s is not bound to the writer", role)
		}
	}
	// The name that RBAC compares is the one that a client puts into the path.
	for _, x := range p.ClosedWorld.Proxies {
		namespace, name, _ := strings.Cut(x.Service, "/")
		names := w.rules["Role "+namespace+"/holdshort:service-proxy"][0].ResourceNames
		if spelled := utilnet.JoinSchemeNamePort("", name, x.Port); !slices.Contains(names, spelled) {
			t.Errorf("%s is not among %v", spelled, names)
		}
	}
}

func TestThePortalMintsTokensOfOneAccountWhichNoPodCarries(t *testing.T) {
	for _, p := range allProfiles(t) {
		w := rights(t, p)
		i := slices.IndexFunc(w.bindings, func(b bound) bool { return b.name == "holdshort:token-minter" })
		if !p.Home || p.Actor() == "" {
			if len(w.accounts) > 0 || i >= 0 {
				t.Errorf("%s: has an actor", p.Name)
			}
			continue
		}
		namespace, name, _ := strings.Cut(p.Actor(), "/")
		if len(w.accounts) != 1 || w.accounts[0].Namespace != namespace || w.accounts[0].Name != name {
			t.Fatalf("%s: the accounts are %v", p.Name, w.accounts)
		}
		if mount := w.accounts[0].AutomountServiceAccountToken; mount == nil || *mount {
			t.Errorf("%s: pods get the actor's token", p.Name)
		}
		if have := describeRules(w.rules["Role "+namespace+"/holdshort:token-minter"]); have != "/serviceaccounts/token["+name+"]: create" {
			t.Errorf("%s: the minter holds %s", p.Name, have)
		}
		if i < 0 || w.bindings[i].namespace != namespace || w.bindings[i].subjects[0] != p.Identities.Portal.Subject() {
			t.Errorf("%s: the minter is not the portal", p.Name)
		}
	}
	if flight := profile.Builtin()[1]; !flight.Home || flight.Actor() == "" {
		t.Error("no built-in profile has an actor")
	}
}

// TestTheClosedWorldLetsThroughWhatTheRolesGive keeps two lists of the built-in profiles in step: a
// right without its entry would be refused in the middle of a session.
func TestTheClosedWorldLetsThroughWhatTheRolesGive(t *testing.T) {
	for _, p := range profile.Builtin() {
		w := rights(t, p)
		for _, role := range []string{p.Names.Roles.Live, p.Names.Roles.Copy} { // as a grant binds them
			w.bindings = append(w.bindings, bound{"", "a grant", "ClusterRole " + role, []rbacv1.Subject{p.Identities.Writer.Subject()}})
		}
		checked := 0
		for _, b := range w.bindings {
			for _, r := range w.rules[b.role] {
				for _, verb := range r.Verbs {
					operation := operationOf(verb, r.Resources[0])
					if operation == "" {
						continue
					}
					checked++
					if !allows(p, b.subjects[0], operation, qualified(r)) {
						t.Errorf("%s: %s gives %s of %s, and closedWorld does not", p.Name, b.role, verb, qualified(r))
					}
				}
			}
		}
		if checked < 10 {
			t.Errorf("%s: %d rights were compared", p.Name, checked)
		}
	}
}

// operationOf is what admission sees of a verb, empty for what it does not see.
func operationOf(verb, resource string) string {
	if strings.HasSuffix(resource, "/attach") || strings.HasSuffix(resource, "/proxy") {
		return "CONNECT"
	}
	return map[string]string{"create": "CREATE", "update": "UPDATE", "patch": "UPDATE", "delete": "DELETE"}[verb]
}

// qualified is the resource of a rule as a Profile writes it.
func qualified(r rbacv1.PolicyRule) string {
	plural, subresource, sub := strings.Cut(r.Resources[0], "/")
	if r.APIGroups[0] != "" {
		plural += "." + r.APIGroups[0]
	}
	if sub {
		plural += "/" + subresource
	}
	return plural
}

func allows(p profile.Profile, s rbacv1.Subject, operation, resource string) bool {
	if resource == "services/proxy" && s == p.Identities.Writer.Subject() && len(p.ClosedWorld.Proxies) > 0 {
		return true // a service that may be reached is an entry of its own
	}
	return slices.ContainsFunc(p.ClosedWorld.Allow, func(a profile.Allowance) bool {
		of := map[string]rbacv1.Subject{"writer": p.Identities.Writer.Subject(), "reader": p.Identities.Reader.Subject()}[a.Identity]
		return of == s && slices.Contains(a.Operations, operation) && slices.Contains(a.Resources, resource)
	})
}
