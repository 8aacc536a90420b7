package policies

import "hangar.io/holdshort/policies/profile"

// ServiceProxy keeps the writer to the services that it may call through the API server.
var ServiceProxy = policy(Policy{
	Name:    "service-proxy",
	Summary: "the writer reaches through the API server only the services, ports and paths that the Profile lists",
	Doc: `The writer calls the pipeline API through the service proxy of the API server. RBAC gives services/proxy by the
name of a service at best: every path behind it is open, and without a name every service of the namespace is, with
whatever it serves to those who come from inside the cluster. This policy opens one port of a service, and the paths
below a prefix. Without it a stolen token of the writer is a way into the network of the cluster.

The name is exact: pipeline-api:8080 is not pipeline-api, another port, or the same port under another scheme
(https:pipeline-api:8080).

The API server decodes the path of a request once and shows it as object.path; then it joins the path, which resolves
.. and double slashes, and sends it on. So a path is admitted only if there is nothing to resolve and nothing to
decode: segments of letters, digits and - . _ ~ : @ that do not begin with a dot. The query is not shown to admission.`,
	Links: []string{
		"https://kubernetes.io/docs/tasks/access-application-cluster/access-cluster-services/#manually-constructing-apiserver-proxy-urls",
	},
	Match: On(Connect, "services/proxy"),
	Conditions: []Condition{{
		Name: "is-writer",
		Expr: `has(request.userInfo.username) && request.userInfo.username == $writer`,
	}},
	Variables: []Variable{
		{Name: "targets", Expr: `$targets`},
		{Name: "path", Expr: `has(object.path) ? object.path : ''`},
		{Name: "target", Expr: `
			(has(request.namespace) ? request.namespace : '') + '/' +
			(has(request.name) ? request.name : '') + variables.path`},
	},
	Validations: []Validation{{
		Name: "target",
		Expr: `
			variables.path.matches('^(/[A-Za-z0-9_~:@-][A-Za-z0-9._~:@-]*)*/?$') &&
			variables.targets.exists(t,
			  variables.target.startsWith(t) && (t.endsWith('/') || variables.target == t || variables.target.startsWith(t + '/')))`,
		Message: "$portal may call through the API server only these services, ports and plain paths: $reachable.",
		Why:     "A service trusts what comes from the API server: its other paths, and other services, were never meant for the portal.",
	}},
	Values: map[string]func(profile.Profile) any{
		"targets":   func(p profile.Profile) any { return proxyTargets(p) },
		"reachable": func(p profile.Profile) any { return orNone(proxyTargets(p)) },
	},
})

// proxyTargets are namespace/name:port/path of what the writer may reach through the API server.
func proxyTargets(p profile.Profile) []string {
	list := []string{}
	for _, x := range p.ClosedWorld.Proxies {
		list = append(list, x.Service+":"+x.Port+x.Path)
	}
	return list
}
