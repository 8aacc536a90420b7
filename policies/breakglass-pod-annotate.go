package policies

// BreakglassPodAnnotate holds the right to patch pods to the one annotation that it is for.
var BreakglassPodAnnotate = policy(Policy{
	Name:    "breakglass-pod-annotate",
	Summary: "the writer changes one annotation of a pod, and nothing else",
	Doc: `The role of a session inside a pod includes patch on pods, for one thing: the annotation that says that
process access was approved, without which breakglass-debug-container admits no container that sees the app's
processes. RBAC knows no fields. Without this policy the same right puts another image into any pod of the namespace,
takes pods out of their Services and ReplicaSets, or leaves a pod that cannot be deleted.

The annotation is judged by its key. It may be added, changed and removed, and its value is what the writer says.

Subresources are other requests: status and resize are in no debug role, ephemeralcontainers has a policy of its own.
managedFields change with each update and are not compared: whoever holds the writer's token can write there that
somebody else owns a field, which a later server-side apply reports as a conflict.`,
	Match: On(Update, "pods"),
	Conditions: []Condition{{
		Name: "is-writer",
		Expr: `has(request.userInfo.username) && request.userInfo.username == $writer`,
	}},
	Variables: []Variable{
		{Name: "processAccessKey", Expr: `$processAccessKey`},
		{Name: "labels", Expr: `has(object.metadata.labels) ? object.metadata.labels : {}`},
		{Name: "oldLabels", Expr: `has(oldObject.metadata.labels) ? oldObject.metadata.labels : {}`},
		{Name: "annotations", Expr: `has(object.metadata.annotations) ? object.metadata.annotations : {}`},
		{Name: "oldAnnotations", Expr: `has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {}`},
	},
	Validations: []Validation{{
		Name:    "spec",
		Expr:    `has(object.spec) && has(oldObject.spec) && object.spec == oldObject.spec`,
		Message: "$portal may not change a pod's spec: only its annotation $processAccessKey.",
		Why:     "The API lets an update replace images, and an image is all that an app is.",
	}, {
		Name:    "labels",
		Expr:    `variables.labels == variables.oldLabels`,
		Message: "$portal may not change a pod's labels: only its annotation $processAccessKey.",
		Why:     "Labels decide which Service, ReplicaSet and NetworkPolicy a pod belongs to, and whether it counts as a copy that may be deleted.",
	}, {
		Name: "annotations",
		Expr: `
			variables.annotations.all(k, k == variables.processAccessKey ||
			  (k in variables.oldAnnotations && variables.oldAnnotations[k] == variables.annotations[k])) &&
			variables.oldAnnotations.all(k, k == variables.processAccessKey || k in variables.annotations)`,
		Message: "$portal may change no annotation of a pod but $processAccessKey.",
		Why:     "Controllers, meshes and secret injectors take orders from annotations.",
	}, {
		Name: "metadata",
		Expr: `
			(has(object.metadata.finalizers) ? object.metadata.finalizers : []) ==
			(has(oldObject.metadata.finalizers) ? oldObject.metadata.finalizers : []) &&
			(has(object.metadata.ownerReferences) ? object.metadata.ownerReferences : []) ==
			(has(oldObject.metadata.ownerReferences) ? oldObject.metadata.ownerReferences : []) &&
			(has(object.metadata.generateName) ? object.metadata.generateName : '') ==
			(has(oldObject.metadata.generateName) ? oldObject.metadata.generateName : '')`,
		Message: "$portal may not change a pod's finalizers, ownerReferences or generateName: only its annotation $processAccessKey.",
		Why:     "A finalizer keeps a pod from being deleted, a removed one skips somebody's clean-up, and the owner decides who replaces the pod and when it goes.",
	}},
})
