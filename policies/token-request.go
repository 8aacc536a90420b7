package policies

import (
	"cmp"

	"hangar.io/holdshort/policies/profile"
)

// TokenRequest holds the tokens that the portal asks for to one account, one audience and ten minutes.
var TokenRequest = policy(Policy{
	Name:    "token-request",
	Summary: "at home the portal asks for tokens of one ServiceAccount only, for one cluster and a few minutes",
	Doc: `The portal writes to other clusters with tokens of a ServiceAccount that no pod runs as. It asks its home cluster
for one before each action and drops it afterwards. RBAC can name the ServiceAccount, but not what the token is good for
and how long: with the right to ask, a token of a year for every cluster at once is as easy to have as the intended one,
and it outlives the portal that asked. Other clusters trust what the home cluster signs, so this is the place to say no.

The kubelet asks for the tokens in the portal's own pod as a node, and is not judged.

The audience is demanded because without one the API server fills in its own, and the token writes at home. A
TokenRequest that is bound to an object of the cluster is as good as one that is not: other clusters cannot see the
object, and the few minutes pass in any case.`,
	Links: []string{
		"https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/",
	},
	HomeOnly: true,
	Match:    On(Create, "serviceaccounts/token"),
	Conditions: []Condition{{
		Name: "is-portal",
		Expr: `has(request.userInfo.username) && request.userInfo.username == $portalUser`,
	}},
	Variables: []Variable{
		{Name: "actor", Expr: `$actor`},
		{Name: "audiences", Expr: `$audiences`},
		{Name: "lifetime", Expr: `$lifetime`},
	},
	Validations: []Validation{{
		Name: "account",
		Expr: `
			has(request.namespace) && has(request.name) &&
			request.namespace + '/' + request.name == variables.actor`,
		Message: "$portal may ask for tokens of this ServiceAccount only: $actors.",
		Why:     "Any other ServiceAccount has rights that nobody meant for the portal, here or where its tokens are accepted.",
	}, {
		Name: "audience",
		Expr: `
			has(object.spec.audiences) && object.spec.audiences != null &&
			object.spec.audiences.size() == 1 && object.spec.audiences[0] in variables.audiences`,
		Message: "A token that $portal asks for is made for exactly one of these audiences: $accepted.",
		Why:     "A token of several audiences is accepted by each of them: the cluster that receives it may use it at another.",
	}, {
		Name: "lifetime",
		Expr: `
			has(object.spec.expirationSeconds) && object.spec.expirationSeconds != null &&
			object.spec.expirationSeconds <= variables.lifetime`,
		Message: "A token that $portal asks for lives at most $lifetime seconds.",
		Why:     "A token cannot be taken back: how long it lives is how long a stolen one works.",
	}},
	Values: map[string]func(profile.Profile) any{
		"portalUser": func(p profile.Profile) any { return p.Identities.Portal.Username() },
		"actor":      func(p profile.Profile) any { return p.Actor() },
		"actors":     func(p profile.Profile) any { return cmp.Or(p.Actor(), "none") },
		"audiences":  func(p profile.Profile) any { return targetAudiences(p) },
		"accepted":   func(p profile.Profile) any { return orNone(targetAudiences(p)) },
		"lifetime":   func(p profile.Profile) any { return p.Federation.Lifetime },
	},
})

// targetAudiences are the audiences of the clusters that accept the home cluster's tokens.
func targetAudiences(p profile.Profile) []string {
	list := []string{}
	for _, t := range p.Federation.Targets {
		list = append(list, t.Audience)
	}
	return list
}
