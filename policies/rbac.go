package policies

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/policies/profile"
)

// Roles whose bindings live in a namespace have a colon in their names: the prefix of a Profile has
// none, so that no rule takes these bindings for grants.
const (
	proxyRole  = "holdshort:service-proxy"
	minterRole = "holdshort:token-minter"
)

// RBAC is what the identities of a Profile may do while no session is open, and the two roles of
// sessions, which nothing here binds: a session's grant does. Nobody but the named identities is
// bound, and never the group that all federated identities are in.
//
// Apply it after the policies, which hold these rights to their shape.
func RBAC(x profile.Profile) (File, error) {
	names, writer, reader := x.Names, x.Identities.Writer.Subject(), x.Identities.Reader.Subject()
	objects := []any{
		clusterRole(names.Roles.Live,
			rule("", "pods", "get", "list", "delete", "patch"),
			rule("", "pods/ephemeralcontainers", "get", "patch", "update"),
			rule("", "pods/attach", "get", "create")),
		clusterRole(names.Roles.Copy,
			rule("", "pods", "get", "list", "create", "delete"),
			rule("", "pods/attach", "get", "create")),
		clusterRole(names.Roles.Binder,
			rule(rbacv1.GroupName, "rolebindings", "get", "list", "create", "delete"),
			only(rule(rbacv1.GroupName, "clusterroles", "bind"), names.Roles.Live, names.Roles.Copy)),
		clusterRoleBinding(names.Bindings.Binder, names.Roles.Binder, writer),
		// The cluster's own role for reading: it has no write verb and no Secrets.
		clusterRoleBinding(names.Bindings.Reader+"-view", "view", reader),
	}
	objects = append(objects, proxies(x.ClosedWorld.Proxies, writer)...)
	if actor := x.Actor(); x.Home && actor != "" {
		objects = append(objects, minter(actor, x.Identities.Portal.Subject())...)
	}
	return NewFile(x, "rbac", "rbac.yaml", "policies/rbac.go", objects...)
}

// proxies lets the writer call services through the API server, one Role a namespace. A request's
// name is the service as the path spells it, port and all (apimachinery pkg/util/net/port_split.go,
// JoinSchemeNamePort), and RBAC compares it as a whole: another port of the service is another name.
func proxies(list []profile.Proxy, writer rbacv1.Subject) []any {
	var namespaces []string
	services := map[string][]string{}
	for _, p := range list {
		namespace, name, _ := strings.Cut(p.Service, "/")
		if services[namespace] == nil {
			namespaces = append(namespaces, namespace)
		}
		if name += ":" + p.Port; !slices.Contains(services[namespace], name) {
			services[namespace] = append(services[namespace], name)
		}
	}
	var objects []any
	for _, n := range namespaces {
		objects = append(objects,
			role(n, proxyRole, only(rule("", "services/proxy", "get", "create"), services[n]...)),
			roleBinding(n, proxyRole, writer))
	}
	return objects
}

// minter is the ServiceAccount that the portal writes to other clusters with, and the portal's right
// to ask for its tokens. No pod runs as it; should one, it finds no token.
func minter(actor string, portal rbacv1.Subject) []any {
	namespace, name, _ := strings.Cut(actor, "/")
	no := false
	return []any{
		&corev1.ServiceAccount{
			TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta:                   metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels()},
			AutomountServiceAccountToken: &no,
		},
		role(namespace, minterRole, only(rule("", "serviceaccounts/token", "create"), name)),
		roleBinding(namespace, minterRole, portal),
	}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func only(r rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	r.ResourceNames = names
	return r
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{TypeMeta: rbacType("ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels()}, Rules: rules}
}

func clusterRoleBinding(name, role string, subject rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta: rbacType("ClusterRoleBinding"), ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels()},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{subject},
	}
}

func role(namespace, name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta: rbacType("Role"), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels()}, Rules: rules,
	}
}

func roleBinding(namespace, role string, subject rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta: rbacType("RoleBinding"), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role, Labels: labels()},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects: []rbacv1.Subject{subject},
	}
}

func rbacType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}
