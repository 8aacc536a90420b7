package policies

// NoExec keeps everybody but operators and controllers out of the containers of production.
var NoExec = policy(Policy{
	Name:    "no-exec",
	Summary: "nobody runs commands in, or attaches to, an app's containers: a session is the way in",
	Doc: `An exec is a shell in the app's own container, as the app's user, with all that the app may read. Admission sees
that somebody asks for it and nothing of what is done with it, so on production it is refused as a whole, and the
recorded debug container of a session takes its place. Without this policy that is a custom of the portal; with it,
it is a fact of the cluster.

It holds in namespaces that carry the label of an app. The label is read from the namespace when the request comes in:
whoever may change the labels of a namespace can take it out. Requests of operators are not judged, unless one comes
from the writer, in whatever groups it is said to be.

Controllers exec into the pods that they run, a database's for one. A ServiceAccount is told by its user name alone, as
RBAC tells it: to be in the group system:serviceaccounts, which somebody may add who impersonates, counts for nothing.
A person with such a name is one who may impersonate the ServiceAccount, ask for its token or run a pod as it. The
built-in roles edit and admin include all three, so a role with pods/exec for a ServiceAccount of an app's namespace is
one for the people who may edit there.

Port forwarding and logs stay as RBAC has them. nodes/proxy reaches the kubelet's own exec and is another resource: it
belongs in no role on production.`,
	Links: []string{
		"https://kubernetes.io/docs/concepts/security/rbac-good-practices/",
		"https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation",
	},
	Tiers: flight,
	Match: On(Connect, "pods/exec", "pods/attach"),
	Conditions: []Condition{{
		Name: "not-an-operator",
		Expr: `
			(has(request.userInfo.username) && request.userInfo.username == $writer) ||
			!((has(request.userInfo.groups) && request.userInfo.groups.exists(g, g in $operatorGroups)) ||
			  (has(request.userInfo.username) && request.userInfo.username in $operatorUsers))`,
	}},
	Variables: []Variable{
		{Name: "appLabel", Expr: `$appLabel`},
		{Name: "inApp", Expr: `
			has(namespaceObject.metadata.labels) && variables.appLabel in namespaceObject.metadata.labels`},
		{Name: "subresource", Expr: `has(request.subResource) ? request.subResource : ''`},
		{Name: "username", Expr: `has(request.userInfo.username) ? request.userInfo.username : ''`},
		{Name: "isWriter", Expr: `variables.username == $writer`},
		{Name: "isController", Expr: `
			!variables.isWriter && variables.username.matches('^system:serviceaccount:[a-z0-9-]+:[a-z0-9.-]+$')`},
	},
	Validations: []Validation{{
		Name:    "exec",
		Expr:    `!variables.inApp || variables.subresource == 'attach' || variables.isController`,
		Message: "No exec into Flight pods. Use a $portal break-glass session (a recorded debug container) instead.",
		Why:     "What is done in an exec leaves no trace in the cluster, and it is done with everything that the app has.",
	}, {
		Name: "attach",
		Expr: `
			!variables.inApp || variables.subresource == 'exec' || variables.isController ||
			(variables.isWriter && has(object.container) && object.container.startsWith('debug-'))`,
		Message: "Attaching to a Flight pod is only for a break-glass debug container, through $portal.",
		Why:     "An attach to a debug container by somebody else is a session without its recording; one to the app's container types into the app.",
	}},
})
