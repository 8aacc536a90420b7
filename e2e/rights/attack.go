package rights

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/send"
)

// Attack is a case of the rule set in which one of the privileged identities is refused.
type Attack struct {
	fixture.Case
	// AtRest, Session and Alone say who refused it: RBAC or a policy, with the identity's rights at
	// rest, with those of both kinds of session in every namespace, and with every right there is
	// and the case's own policy alone.
	AtRest, Session, Alone string
	// Faults are why the attack is not refused as it has to be; empty: it is.
	Faults []string
}

// Attacks are all cases of the rule set in which the writer, the reader, the portal, the pipeline or
// somebody in the federated group is refused.
func (s *Stage) Attacks() []*Attack {
	var names []string
	for _, word := range []string{"writer", "reader", "portal", "pipeline"} {
		if u, err := s.Profile.User(word); err == nil {
			names = append(names, u.Name)
		}
	}
	var out []*Attack
	for _, g := range s.Suite.Groups {
		for _, c := range g.Cases {
			u := c.Request.User
			privileged := slices.Contains(names, u.Name) || slices.Contains(u.Groups, s.Profile.Federation.Group)
			if c.Expect.Outcome == fixture.Deny && privileged {
				out = append(out, &Attack{Case: c})
			}
		}
	}
	return out
}

// Launch sends the attacks for real: at rest, in a session, and with every right.
func (s *Stage) Launch(ctx context.Context, attacks []*Attack) error {
	if err := s.Judge.Bind(ctx, s.Suite, ""); err != nil {
		return err
	}
	for _, a := range attacks {
		a.AtRest = s.launch(ctx, a, s.Servers.R, "")
	}
	if err := s.openSessions(ctx); err != nil {
		return err
	}
	for _, a := range attacks {
		a.Session = s.launch(ctx, a, s.Servers.R, "")
	}
	policy := ""
	for _, a := range attacks {
		if a.Policy != policy {
			policy = a.Policy
			if err := s.Judge.Bind(ctx, s.Suite, policy); err != nil {
				return err
			}
		}
		a.Alone = s.launch(ctx, a, s.Servers.P, policy)
	}
	return nil
}

// openSessions binds both debug roles to the writer in all namespaces, which is more than any
// session has, and the right to update what they may patch: attacks are sent as updates.
func (s *Stage) openSessions(ctx context.Context) error {
	client := s.Servers.Admin.RbacV1()
	update := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "update"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"update"},
	}}}
	if _, err := client.ClusterRoles().Create(ctx, update, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, role := range []string{s.Profile.Names.Roles.Live, s.Profile.Names.Roles.Copy, update.Name} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "e2e:" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{s.Profile.Identities.Writer.Subject()},
		}
		if _, err := client.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, verb := range []string{"patch", "create", "update"} { // one of each role
		if err := s.until(ctx, "writer", verb, "", "pods", true); err != nil {
			return err
		}
	}
	return nil
}

var byPolicy = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding`)

// launch sends an attack and says who refuses it. If a policy is named it has to be that one.
func (s *Stage) launch(ctx context.Context, a *Attack, server *cluster.APIServer, policy string) string {
	answer, admitted, err := s.Judge.Ask(ctx, a.Case, server)
	fault := func(format string, args ...any) string {
		a.Faults = append(a.Faults, server.Name+": "+fmt.Sprintf(format, args...))
		return "nobody"
	}
	switch {
	case err != nil:
		return fault("%v", err)
	case len(admitted) > 0 || answer.Code < http.StatusBadRequest:
		return fault("admitted: %d %s", answer.Code, answer.Status.Message)
	}
	by, ok := refusedBy(answer)
	if !ok {
		return fault("refused by something else: %d %s", answer.Code, answer.Status.Message)
	}
	if policy != "" && by != policy {
		return fault("refused by %s", by)
	}
	return by
}

// refusedBy is RBAC or the policy that refused a request; false: neither did.
func refusedBy(answer *send.Answer) (string, bool) {
	message := answer.Status.Message
	if m := byPolicy.FindStringSubmatch(message); m != nil {
		return m[1], true
	}
	// The authorizer, and the check that nobody grants more than he has (kubernetes
	// pkg/registry/rbac/validation/rule.go), which also looks for the role.
	denied := strings.Contains(message, " cannot ") || strings.Contains(message, "attempting to grant RBAC permissions not currently held")
	noRole := answer.Code == http.StatusNotFound && strings.HasPrefix(message, "rolebindings.")
	return rbac, answer.Code == http.StatusForbidden && denied || noRole
}
