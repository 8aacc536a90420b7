package policies

// RolebindingDelete keeps the bindings that are not the portal's.
var RolebindingDelete = policy(Policy{
	Name:    "rolebinding-delete",
	Summary: "the writer deletes only grants of the portal",
	Doc: `The writer ends a session by deleting its grant, so at rest it may delete RoleBindings: for RBAC all
of them, in all namespaces. Without this policy a stolen token of the writer locks each team, each operator
and each controller out of its namespaces.

A collection is judged binding by binding. The API server stops at the first refusal, and grants that it came to
before that are gone.

What is left: the writer may end the session of somebody else. Its end is in the audit log, and the session's record
says that it was not asked for.`,
	Match: On(Delete, "rolebindings.rbac.authorization.k8s.io"),
	Conditions: []Condition{{
		Name: "is-writer",
		Expr: `has(request.userInfo.username) && request.userInfo.username == $writer`,
	}},
	Variables: []Variable{{Name: "prefix", Expr: `$prefix`}},
	Validations: []Validation{{
		Name:    "prefix",
		Expr:    `has(oldObject.metadata.name) && oldObject.metadata.name.startsWith(variables.prefix)`,
		Message: "$portal may only delete RoleBindings named $prefix*.",
		Why:     "Every other binding is a right of a team or of a controller: its deletion is an outage, and one that hides who is behind it.",
	}},
})
