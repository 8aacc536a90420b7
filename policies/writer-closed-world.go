package policies

import (
	"slices"
	"strings"

	"hangar.io/holdshort/policies/profile"
)

// WriterClosedWorld lets the privileged identities do only what the Profile lists.
var WriterClosedWorld = policy(Policy{
	Name:    "writer-closed-world",
	Summary: "the writer, the reader and whoever is in the federated group write only what the Profile lists",
	Doc: `The other policies hold what the portal is meant to write to its shape. This one is about everything else: each
create, update, delete and connect by one of the portal's identities is on the list of the Profile, by identity,
operation, resource, subresource and namespace, or it is refused. So a right that RBAC gives by mistake, through a wide
role, an aggregated one or a binding to a group, is worth nothing by itself. Without it every such slip is open until
somebody notices.

It looks at each write of the cluster, and its one condition is cheap. Reads are not shown to admission: a list of
Secrets is for RBAC to refuse. An exec is shown, also when it is asked for by GET. No policy is asked about token and
access reviews, and only policies that the API server reads from files are asked about admission policies and their
bindings: elsewhere RBAC alone keeps those. Who impersonates somebody is judged as that somebody.

A pattern of namespaces on the list never covers one of the platform's: app-* is no way into app-shop-cicd, where
pipelines keep their credentials. Such a namespace is on the list only by its own name.

A ServiceAccount that is both writer and reader may do what either may. Cluster-scoped resources, among them namespaces,
are on the list only where it names no namespace.`,
	Links: []string{
		"https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles",
	},
	Match: On(Every, "*"),
	Conditions: []Condition{{
		Name: "is-privileged",
		Expr: `
			(has(request.userInfo.username) &&
			  (request.userInfo.username == $writer || request.userInfo.username == $reader)) ||
			(has(request.userInfo.groups) && $federatedGroup != '' && $federatedGroup in request.userInfo.groups)`,
	}},
	Variables: []Variable{
		// CREATE rolebindings.rbac.authorization.k8s.io app-sky-dev
		{Name: "write", Expr: `
			request.operation + ' ' + request.resource.resource +
			(request.resource.group == '' ? '' : '.' + request.resource.group) +
			(has(request.subResource) && request.subResource != '' ? '/' + request.subResource : '') +
			(has(request.namespace) && request.namespace != '' &&
			  (request.resource.resource != 'namespaces' || request.resource.group != '') ? ' ' + request.namespace : '')`},
		{Name: "onPlatform", Expr: `
			has(request.namespace) && request.namespace.matches($platformNamespaces) &&
			(request.resource.resource != 'namespaces' || request.resource.group != '')`},
		{Name: "byWriter", Expr: `
			has(request.userInfo.username) && request.userInfo.username == $writer &&
			variables.write.matches(variables.onPlatform ? $writerNamed : $writerList)`},
		{Name: "byReader", Expr: `
			has(request.userInfo.username) && request.userInfo.username == $reader &&
			variables.write.matches(variables.onPlatform ? $readerNamed : $readerList)`},
		{Name: "byGroup", Expr: `
			has(request.userInfo.groups) && $federatedGroup != '' && $federatedGroup in request.userInfo.groups &&
			variables.write.matches(variables.onPlatform ? $groupNamed : $groupList)`},
	},
	Validations: []Validation{{
		Name:    "listed",
		Expr:    `variables.byWriter || variables.byReader || variables.byGroup`,
		Message: "$portal's identities may do only what the Profile of the cluster lists under closedWorld: this operation on this resource in this namespace is not on the list.",
		Why:     "A right that nobody meant to give is the way from a stolen token to the cluster.",
	}},
	Values: map[string]func(profile.Profile) any{
		"reader":         func(p profile.Profile) any { return p.Identities.Reader.Username() },
		"federatedGroup": func(p profile.Profile) any { return p.Federation.Group },
		"writerList":     func(p profile.Profile) any { return worldPattern(p, "writer", false) },
		"readerList":     func(p profile.Profile) any { return worldPattern(p, "reader", false) },
		"groupList":      func(p profile.Profile) any { return worldPattern(p, "group", false) },
		"writerNamed":    func(p profile.Profile) any { return worldPattern(p, "writer", true) },
		"readerNamed":    func(p profile.Profile) any { return worldPattern(p, "reader", true) },
		"groupNamed":     func(p profile.Profile) any { return worldPattern(p, "group", true) },
	},
})

// worldPattern is the anchored regular expression of the writes that an identity may make, in
// namespaces that are named in full only if named is set. Without any write it matches the empty text
// alone, which no write is.
func worldPattern(p profile.Profile, identity string, named bool) string {
	list := p.ClosedWorld.Allow
	for _, x := range p.ClosedWorld.Proxies {
		namespace, _, _ := strings.Cut(x.Service, "/")
		list = append(slices.Clip(list), profile.Allowance{
			Identity: "writer", Operations: []string{"CONNECT"}, Resources: []string{"services/proxy"}, Namespaces: []string{namespace},
		})
	}
	var writes []string
	for _, a := range list {
		if a.Identity != identity {
			continue
		}
		write := oneOf(a.Operations) + " " + oneOf(a.Resources)
		if len(a.Namespaces) > 0 {
			namespaces := a.Namespaces
			if named {
				namespaces = slices.DeleteFunc(slices.Clone(namespaces), func(n string) bool { return strings.Contains(n, "*") })
			}
			if len(namespaces) == 0 {
				continue
			}
			write += " " + oneOf(namespaces)
		}
		writes = append(writes, write)
	}
	return "^(" + strings.Join(writes, "|") + ")$"
}
