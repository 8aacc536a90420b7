package policies

import "hangar.io/holdshort/policies/profile"

// NoLongLivedTokens keeps tokens that never expire out of the portal's namespaces.
var NoLongLivedTokens = policy(Policy{
	Name:    "no-long-lived-tokens",
	Summary: "no Secret in a namespace of the portal holds a ServiceAccount token that never expires",
	Doc: `A Secret of type kubernetes.io/service-account-token is filled by the cluster with a token that has no end: it
stays good when it is copied into a backup, a log or a process environment, until somebody finds the Secret and deletes
it. The portal needs none. The kubelet renews the token of its pod, and it asks for a short one for each action.
Without this policy one such Secret undoes all of that, and nothing shows that it was made.

It holds for everyone, because such a token is most often made by somebody who means well. A Secret that stood there
before may not be changed, so that it is noticed, and may be deleted; while it is being deleted its finalizers may be
taken away, and its token is no longer accepted.

The type of a Secret cannot be changed, and the annotation that names the account does nothing under another type.`,
	Links: []string{
		"https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets",
	},
	Match: On(Create|Update, "secrets"),
	Conditions: []Condition{{
		Name: "portal-namespace",
		Expr: `has(request.namespace) && request.namespace.matches($portalNamespaces)`,
	}},
	Validations: []Validation{{
		Name: "type",
		Expr: `
			!has(object.type) || object.type != 'kubernetes.io/service-account-token' ||
			(oldObject != null && has(oldObject.metadata.deletionTimestamp))`,
		Message: "No kubernetes.io/service-account-token Secrets in $portal's namespaces: such a token never expires. Use a projected volume or a TokenRequest.",
		Why:     "The token in such a Secret is good for ever, wherever it is copied to.",
	}},
	Values: map[string]func(profile.Profile) any{
		"portalNamespaces": func(p profile.Profile) any { return namespacePattern(p.Namespaces.Portal) },
	},
})
