package policies

// BreakglassRolebinding holds the one grant that the writer may make to its shape.
var BreakglassRolebinding = policy(Policy{
	Name:    "breakglass-rolebinding",
	Summary: "the writer grants one debug role to itself, in one app namespace, for a limited time, and nothing else",
	Doc: `At rest the writer may only create RoleBindings. For each session it binds one of two debug roles to
itself, in the namespace of the session, and deletes the binding at the end. RBAC can limit which roles it binds,
but not to whom, where and for how long: that is what this policy does. Without it a stolen token of the writer
makes anybody a debugger of any namespace, for good.

It also judges what others write under the prefix, so that a name alone never makes a binding look like a grant
of the portal. All other RoleBindings are none of its business.

Approver and requester are annotations that the writer sets itself: the policy cannot know that a person stands
behind them. It makes a backend that forgets the second person fail, and a forged one leave its name in the audit log.`,
	Links: []string{
		"https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping",
	},
	Match: On(Create|Update, "rolebindings.rbac.authorization.k8s.io"),
	Conditions: []Condition{{
		Name: "grant-or-writer",
		Expr: `
			(has(object.metadata.name) && object.metadata.name.startsWith($prefix)) ||
			(has(request.userInfo.username) && request.userInfo.username == $writer)`,
	}},
	Variables: []Variable{
		{Name: "prefix", Expr: `$prefix`},
		{Name: "roles", Expr: `[$liveRole, $copyRole]`},
		{Name: "labels", Expr: `has(object.metadata.labels) ? object.metadata.labels : {}`},
		{Name: "isWriter", Expr: `
			has(object.subjects) && object.subjects.size() == 1 && object.subjects.all(s,
			  s.kind == $writerKind && s.name == $writerName &&
			  (has(s.namespace) ? s.namespace : '') == $writerNamespace)`},
		{Name: "ttl", Expr: `$ttlLabel in variables.labels ? variables.labels[$ttlLabel] : ''`},
		{Name: "ttls", Expr: `$ttls`},
		{Name: "managedBy", Expr: `$managedBy`},
		{Name: "appLabel", Expr: `$appLabel`},
		{Name: "platformNamespaces", Expr: `$platformNamespaces`},
		{Name: "annotations", Tiers: flight, Expr: `has(object.metadata.annotations) ? object.metadata.annotations : {}`},
		{Name: "requester", Tiers: flight, Expr: `
			$requesterKey in variables.annotations ? variables.annotations[$requesterKey].trim().lowerAscii() : ''`},
		{Name: "approver", Tiers: flight, Expr: `
			$approverKey in variables.annotations ? variables.annotations[$approverKey].trim().lowerAscii() : ''`},
		{Name: "glassBroken", Tiers: flight, Expr: `
			$glassBrokenKey in variables.annotations && variables.annotations[$glassBrokenKey] == 'true' &&
			!($approverKey in variables.annotations)`},
	},
	Validations: []Validation{{
		Name:    "prefix",
		Expr:    `has(object.metadata.name) && object.metadata.name.startsWith(variables.prefix)`,
		Message: "$portal may only create RoleBindings named $prefix*.",
		Why:     "The name is how the reaper, the delete policy and people tell a grant of the portal from every other binding.",
	}, {
		Name:    "role",
		Expr:    `object.roleRef.kind == 'ClusterRole' && object.roleRef.name in variables.roles`,
		Message: "A break-glass RoleBinding binds $liveRole or $copyRole (a ClusterRole).",
		Why:     "A Role of that name in the app's namespace could hold any right, and whoever may write Roles there would choose it.",
	}, {
		Name:    "subject",
		Expr:    `variables.isWriter`,
		Message: "A break-glass RoleBinding binds its role to $portal's write identity only: one subject, the $writerKind $writer.",
		Why:     "A second subject, or a user that is named like the ServiceAccount, would get the session's rights without its record.",
	}, {
		Name:    "ttl",
		Expr:    `variables.ttl in variables.ttls`,
		Message: "A break-glass RoleBinding carries $ttlLabel of $ttlMin to $ttlMax (a session plus its one extension of $extension): one of $ttls.",
		Why:     "The label is the backstop when the backend dies. A value in another spelling is accepted by the cluster, but nothing ever deletes the grant.",
	}, {
		Name: "managed-by",
		Expr: `
			'app.kubernetes.io/managed-by' in variables.labels &&
			variables.labels['app.kubernetes.io/managed-by'] == variables.managedBy`,
		Message: "A break-glass RoleBinding carries the label app.kubernetes.io/managed-by: $managedBy.",
		Why:     "The reaper and the check for leftovers select by this label: a grant without it is found by neither.",
	}, {
		Name:    "metadata",
		Expr:    `!has(object.metadata.finalizers) && !has(object.metadata.ownerReferences)`,
		Message: "A break-glass RoleBinding has no finalizers and no ownerReferences.",
		Why:     "A finalizer keeps the right alive after the deletion; an owner lets somebody else decide when it ends.",
	}, {
		Name: "app-namespace",
		Expr: `
			has(namespaceObject.metadata.labels) && variables.appLabel in namespaceObject.metadata.labels &&
			namespaceObject.metadata.labels[variables.appLabel] != '' &&
			has(namespaceObject.metadata.name) && !namespaceObject.metadata.name.matches(variables.platformNamespaces)`,
		Message: "A break-glass RoleBinding may only be created in an app namespace (labelled $appLabel), and in none of the platform's.",
		Why:     "In a namespace of the portal, the sidecar or a pipeline the debug roles reach credentials that are worth more than the session.",
	}, {
		Name:  "second-person",
		Tiers: flight,
		Expr: `
			variables.requester.matches('^[!-~]+$') && (variables.glassBroken ||
			  (variables.approver.matches('^[!-~]+$') && variables.approver != variables.requester))`,
		Message: `A Flight break-glass RoleBinding names a requester ($requesterKey) and an approver ($approverKey) who is not the requester, or is marked glass broken ($glassBrokenKey: "true") with no approver. Both names are of visible ASCII characters.`,
		Why:     "Production is opened by two people, or loudly by one. Spaces, upper case, characters that nobody sees and letters of another alphabet that look the same do not make a second person.",
	}},
})
