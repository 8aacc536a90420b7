package policies

// BreakglassAttach keeps the writer out of the containers of apps.
var BreakglassAttach = policy(Policy{
	Name:    "breakglass-attach",
	Summary: "the writer attaches only to debug containers",
	Doc: `Both debug roles include pods/attach, which RBAC gives for whole pods of a whole namespace. An attach is a
line into the main process of a container: what is typed becomes the input of the app, and what the app prints is
seen by somebody whom no policy has looked at. A session needs that for its own container only.

An attach that names no container reaches the one that the API server or the kubelet chooses, so the name is demanded.

The request names a container and does not show the pod. An app whose own container is called debug-* is reached as
well: such a name is for sessions. What is typed and shown is recorded by the portal, not by the cluster.`,
	Links: []string{"https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#operations"},
	Match: On(Connect, "pods/attach"),
	Conditions: []Condition{{
		Name: "is-writer",
		Expr: `has(request.userInfo.username) && request.userInfo.username == $writer`,
	}},
	Validations: []Validation{{
		Name:    "debug-only",
		Expr:    `has(object.container) && object.container.startsWith('debug-')`,
		Message: "$portal may attach only to a break-glass debug container: name a container debug-*.",
		Why:     "Attached to the app's own container, the session types into production without a debug container, its limits and its name in the pod.",
	}},
})
