package harness

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// stubAuthorizer answers from a list of permissions. It implements the two methods of
// ConditionsAwareAuthorizer as well, because the server's CEL library calls them.
type stubAuthorizer struct {
	allow []Permission // nil: unknown
	run   *run
}

func (s stubAuthorizer) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if slices.Contains(a.GetUser().GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "", nil
	}
	if s.allow == nil && s.run != nil && s.run.current != nil {
		s.run.gap(Gap{Policy: s.run.current.policy.def.Name, Binding: s.run.current.binding.Name, Need: "authorizer",
			Detail: fmt.Sprintf("the policy asks the authorizer whether %s; say what is allowed with an allow list, which may be empty", question(a))})
	}
	for _, p := range s.allow {
		if p.covers(a) {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (s stubAuthorizer) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(s.Authorize(ctx, a))
}

func (stubAuthorizer) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

func (p Permission) covers(a authorizer.Attributes) bool {
	if p.User != "" && p.User != "*" && p.User != a.GetUser().GetName() {
		return false
	}
	if p.Group != "" && p.Group != "*" && !slices.Contains(a.GetUser().GetGroups(), p.Group) {
		return false
	}
	is := func(pattern, value string) bool { return pattern == "*" || pattern == value }
	if !a.IsResourceRequest() {
		return is(p.Verb, a.GetVerb()) && p.Path != "" && is(p.Path, a.GetPath())
	}
	return p.Path == "" &&
		is(p.Verb, a.GetVerb()) && is(p.APIGroup, a.GetAPIGroup()) &&
		is(p.Resource, a.GetResource()) && is(p.Subresource, a.GetSubresource()) &&
		is(p.Namespace, a.GetNamespace()) && is(p.Name, a.GetName())
}

func question(a authorizer.Attributes) string {
	if !a.IsResourceRequest() {
		return fmt.Sprintf("%q may %s %s", a.GetUser().GetName(), a.GetVerb(), a.GetPath())
	}
	resource := a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	if a.GetAPIGroup() != "" {
		resource += "." + a.GetAPIGroup()
	}
	return fmt.Sprintf("%q may %s %s", a.GetUser().GetName(), a.GetVerb(), resource)
}
