// Package policies is the rule set: one file a policy, and what turns it into admission policies
// of a cluster.
//
// A policy is data. Its expressions are constant CEL, readable in review; what differs between
// clusters comes from the Profile and enters as quoted literals where a placeholder such as $writer
// stands (cel.Expand). Placeholders are allowed in match conditions and variables; validations read
// the variables. Messages are plain text, where the same placeholders stand for plain text.
//
// A new policy costs two files: policies/<name>.go, in which a package-level variable holds the
// value that policy returns, and policies/testdata/<name>.yaml with its cases. Everything else (render,
// explain, docs, checks) reads the definitions.
package policies

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/policies/profile"
)

// For the Tiers of what holds on one tier only.
var (
	ground = []profile.Tier{profile.Ground}
	flight = []profile.Tier{profile.Flight}
)

// Policy is one admission policy. Its zero values are the safe ones: every tier, refuse what is not
// true, refuse what cannot be evaluated.
type Policy struct {
	// Name is the policy's one name: of its files, of the cluster's objects and in the docs.
	Name string
	// Summary says in half a sentence what the policy demands.
	Summary string
	// Doc says why, and what it would undo to remove the policy.
	Doc string
	// Links point to further reading.
	Links []string
	// Example is what a person types whose request the policy admits, with the values of the
	// Profile where placeholders stand; explain prints it. Most policies need none.
	Example string
	// Tiers on which the policy applies; empty means all. A Profile may override it.
	Tiers []profile.Tier
	// HomeOnly policies apply only where the Profile says home.
	HomeOnly bool
	// Match is the requests that the policy looks at; Conditions narrow them down.
	Match Match
	// Conditions must all be true for a request to be judged. They keep an error in the rest of
	// the policy away from requests that it is not about. A condition that cannot be evaluated
	// refuses the request, and none may use variables or namespaceObject.
	Conditions []Condition
	// Variables are expressions that validations, and variables after them, use as variables.name.
	Variables []Variable
	// Validations must all be true for a request to be admitted.
	Validations []Validation
	// Values are placeholders of this policy alone, besides those that all policies have.
	Values map[string]func(profile.Profile) any
}

// Condition narrows down the requests that a policy judges.
type Condition struct {
	Name string
	Expr string
	// Tiers on which the condition stands; empty means all of the policy's.
	Tiers []profile.Tier
}

// Variable names an expression.
type Variable struct {
	Name string
	Expr string
	// Tiers on which the variable has this expression; empty means all of the policy's. The same
	// name may stand again for other tiers.
	Tiers []profile.Tier
}

// Validation is one demand.
type Validation struct {
	// Name is the contract: fixtures, reports and docs speak of the validation by it.
	Name string
	Expr string
	// Message is what the person reads whose request is refused.
	Message string
	// Why says what could happen without the validation.
	Why string
	// Reason of the refusal; empty means Forbidden.
	Reason metav1.StatusReason
	// Tiers on which the demand is made; empty means all of the policy's.
	Tiers []profile.Tier
}

// registry holds the definitions in the order in which the package's variables are initialized.
var registry []Policy

// policy enters a definition into the rule set.
func policy(p Policy) Policy {
	registry = append(registry, p)
	return p
}

// All returns the rule set, sorted by name.
func All() []Policy {
	all := slices.Clone(registry)
	slices.SortFunc(all, func(a, b Policy) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Names are the names of the policies, sorted.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// Get returns the policy of that name.
func Get(name string) (Policy, error) {
	for _, p := range registry {
		if p.Name == name {
			return p, nil
		}
	}
	return Policy{}, &UnknownError{Name: name}
}

// UnknownError says that there is no policy of that name.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no policy %q: expected one of %s", e.Name, strings.Join(Names(), ", "))
}

// Source is the file that defines the policy.
func (p Policy) Source() string { return "policies/" + p.Name + ".go" }

// AppliesTo reports whether the policy is rendered for a Profile.
func (p Policy) AppliesTo(x profile.Profile) bool {
	if p.HomeOnly && !x.Home {
		return false
	}
	if tiers, ok := x.Tiers[p.Name]; ok {
		return slices.Contains(tiers, x.Tier)
	}
	return on(p.Tiers, x.Tier)
}

// on reports whether a list of tiers, where empty means all, has the tier.
func on(tiers []profile.Tier, t profile.Tier) bool {
	return len(tiers) == 0 || slices.Contains(tiers, t)
}
