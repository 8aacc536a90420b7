package rights

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/policies/profile"
)

// reads are the verbs that change nothing. On pods/attach, services/proxy and the like get is a
// write: see AtRest.
var reads = []string{"get", "list", "watch"}

// AtRest lists every right of an identity that is more than reading, and that not everybody has, as
// a server's own authorizer tells it, one line each, sorted. A namespace that has no rights of its
// own is not listed; "*" is every namespace.
func (s *Stage) AtRest(ctx context.Context, server *cluster.APIServer, u user.DefaultInfo) ([]string, error) {
	namespaces := append([]string{"app-sky-dev"}, profileNamespaces(s.Profile)...)
	everywhere := map[string]int{}
	lines := map[string][]string{}
	for _, namespace := range namespaces {
		rights, err := s.rules(ctx, server, u, namespace)
		if err != nil {
			return nil, err
		}
		nobody, err := s.rules(ctx, server, user.DefaultInfo{Name: "nobody"}, namespace)
		if err != nil {
			return nil, err
		}
		for _, line := range rights {
			if !slices.Contains(nobody, line) {
				lines[namespace] = append(lines[namespace], line)
				everywhere[line]++
			}
		}
	}
	var out []string
	for namespace, all := range lines {
		for _, line := range all {
			where := namespace
			if everywhere[line] == len(namespaces) {
				where = "*"
			}
			if entry := where + ": " + line; !slices.Contains(out, entry) {
				out = append(out, entry)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// profileNamespaces are the namespaces in which a Profile may give rights of their own.
func profileNamespaces(x profile.Profile) []string {
	all := slices.Concat(x.Namespaces.Portal, x.Namespaces.Sidecar, x.Namespaces.Pipeline)
	for _, p := range x.ClosedWorld.Proxies {
		namespace, _, _ := strings.Cut(p.Service, "/")
		all = append(all, namespace)
	}
	all = slices.DeleteFunc(all, func(n string) bool { return strings.Contains(n, "*") })
	slices.Sort(all)
	return slices.Compact(all)
}

// rules are a user's rights in a namespace that are more than reading, as the authorizer lists them.
func (s *Stage) rules(ctx context.Context, server *cluster.APIServer, u user.DefaultInfo, namespace string) ([]string, error) {
	client, err := s.as(server, u)
	if err != nil {
		return nil, err
	}
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	if review.Status.Incomplete {
		return nil, fmt.Errorf("the rights of %s are incomplete: %s", u.Name, review.Status.EvaluationError)
	}
	var out []string
	for _, r := range review.Status.ResourceRules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				if verbs := writing(resource, r.Verbs); len(verbs) > 0 {
					name := strings.TrimSuffix(resource+"."+group, ".")
					if plural, subresource, ok := strings.Cut(resource, "/"); ok && group != "" {
						name = plural + "." + group + "/" + subresource
					}
					out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", strings.Join(verbs, ","), name, strings.Join(r.ResourceNames, ","))))
				}
			}
		}
	}
	for _, r := range review.Status.NonResourceRules {
		if verbs := writing("", r.Verbs); len(verbs) > 0 {
			out = append(out, fmt.Sprintf("%s %s", strings.Join(verbs, ","), strings.Join(r.NonResourceURLs, ",")))
		}
	}
	return out, nil
}

// writing are the verbs that are more than reading. Subresources that are connections execute on a
// get too, before Kubernetes 1.35.
func writing(resource string, verbs []string) []string {
	_, subresource, _ := strings.Cut(resource, "/")
	if slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, subresource) {
		return verbs
	}
	return slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return slices.Contains(reads, v) })
}
