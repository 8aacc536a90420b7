package policies

// BreakglassPodDelete keeps the pods that no session has touched.
var BreakglassPodDelete = policy(Policy{
	Name:    "breakglass-pod-delete",
	Summary: "the writer deletes only copy pods and pods that carry a debug container",
	Doc: `Both debug roles include the deletion of pods: a session in a copy deletes its copy, and a session in a
running pod restarts that pod at the end, because a debug container stays in a pod until the pod is gone. RBAC cannot
tell these pods from the others of the namespace. Without this policy one session is enough to take down an app.

A collection is judged pod by pod. Eviction is another resource, which the debug roles do not have.`,
	Match: On(Delete, "pods"),
	Conditions: []Condition{{
		Name: "is-writer",
		Expr: `has(request.userInfo.username) && request.userInfo.username == $writer`,
	}},
	Variables: []Variable{{Name: "copyLabel", Expr: `$copyLabel`}},
	Validations: []Validation{{
		Name: "debugged",
		Expr: `
			(has(oldObject.metadata.labels) && variables.copyLabel in oldObject.metadata.labels &&
			  oldObject.metadata.labels[variables.copyLabel] == 'true') ||
			(has(oldObject.spec.ephemeralContainers) &&
			  oldObject.spec.ephemeralContainers.exists(c, c.name.startsWith('debug-')))`,
		Message: `$portal may delete only a copy pod ($copyLabel: "true") or a pod with an ephemeral debug-* container.`,
		Why:     "The right to delete pods comes with each session and reaches every pod of the namespace.",
	}},
})
