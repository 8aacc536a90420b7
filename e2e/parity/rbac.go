package parity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/e2e/kit/wait"
)

const rbacLabel = "e2e.hangar.io/rbac"

// permit gives R the RBAC objects of the case's authorizer stub, and the right to send the
// request itself, and waits until R has them and none of an earlier case.
func (j *Judge) permit(ctx context.Context, c fixture.Case) error {
	j.rbac++
	mine := metav1.ListOptions{LabelSelector: rbacLabel}
	client := j.servers.Admin.RbacV1()
	err := errors.Join(
		client.ClusterRoles().DeleteCollection(ctx, metav1.DeleteOptions{}, mine),
		client.ClusterRoleBindings().DeleteCollection(ctx, metav1.DeleteOptions{}, mine),
	)
	for _, ns := range j.granted {
		err = errors.Join(err, client.RoleBindings(ns).DeleteCollection(ctx, metav1.DeleteOptions{}, mine))
	}
	if err != nil {
		return err
	}
	j.granted = nil
	for i, p := range append([]harness.Permission{sending(c.Request)}, c.Cluster.Allow...) {
		if err := j.grant(ctx, fmt.Sprintf("e2e-%d-%d", j.rbac, i), p); err != nil {
			return fmt.Errorf("permission %+v: %w", p, err)
		}
	}
	return j.rbacArrived(ctx, c.Request.Namespace)
}

// sending is the permission to send a request.
func sending(r harness.Request) harness.Permission {
	p := harness.Permission{
		User: r.User.Name, APIGroup: r.Resource.Group, Resource: r.Resource.Resource, Subresource: r.Subresource,
		Namespace: r.Namespace, Name: r.Name,
	}
	switch r.Operation {
	case admission.Create:
		p.Verb = "create"
		if r.Subresource == "" {
			p.Name = "" // the name of a create is not authorized
		}
	case admission.Update:
		p.Verb = "update"
	case admission.Delete:
		p.Verb = "delete"
		if r.Collection {
			p.Verb = "deletecollection"
		}
	case admission.Connect:
		p.Verb = "create"
	}
	return p
}

// grant makes the role and the binding of one permission.
func (j *Judge) grant(ctx context.Context, name string, p harness.Permission) error {
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{rbacLabel: ""}}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule(p)}}
	client := j.servers.Admin.RbacV1()
	if _, err := client.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	if p.Namespace == "" || p.Namespace == "*" {
		_, err := client.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects(p)}, metav1.CreateOptions{})
		return err
	}
	j.granted = append(j.granted, p.Namespace)
	if err := j.world.Namespace(ctx, p.Namespace); err != nil {
		return err
	}
	_, err := client.RoleBindings(p.Namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects(p)}, metav1.CreateOptions{})
	return err
}

func rule(p harness.Permission) rbacv1.PolicyRule {
	if p.Path != "" {
		return rbacv1.PolicyRule{Verbs: []string{p.Verb}, NonResourceURLs: []string{p.Path}}
	}
	r := rbacv1.PolicyRule{Verbs: []string{p.Verb}, APIGroups: []string{p.APIGroup}, Resources: []string{p.Resource}}
	if p.Subresource != "" {
		r.Resources[0] += "/" + p.Subresource
	}
	if p.Name != "" && p.Name != "*" {
		r.ResourceNames = []string{p.Name}
	}
	return r
}

func subjects(p harness.Permission) []rbacv1.Subject {
	group := func(name string) rbacv1.Subject {
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
	}
	switch {
	case p.User != "" && p.User != "*":
		return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: p.User}}
	case p.Group != "" && p.Group != "*":
		return []rbacv1.Subject{group(p.Group)}
	}
	return []rbacv1.Subject{group(user.AllAuthenticated), group(user.AllUnauthenticated)}
}

// rbacArrived waits for two markers, written last: a ClusterRoleBinding and a RoleBinding of a
// user that nobody is. A server that has seen them has seen every grant and deletion before.
func (j *Judge) rbacArrived(ctx context.Context, namespace string) error {
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	marker := fmt.Sprintf("marker-%d", j.rbac)
	wide := harness.Permission{User: marker, Verb: "wide", APIGroup: "e2e.hangar.io", Resource: "markers"}
	narrow := harness.Permission{User: marker, Verb: "narrow", APIGroup: "e2e.hangar.io", Resource: "markers", Namespace: namespace}
	client, err := kubernetes.NewForConfig(j.servers.R.Config())
	if err != nil {
		return err
	}
	for _, p := range []harness.Permission{wide, narrow} {
		if err := j.grant(ctx, strings.Join([]string{"e2e", marker, p.Verb}, "-"), p); err != nil {
			return err
		}
	}
	return wait.Until(ctx, 20*time.Second, "RBAC to reach R", func(ctx context.Context) error {
		for _, p := range []harness.Permission{wide, narrow} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: p.User, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: p.Verb, Group: p.APIGroup, Resource: p.Resource, Namespace: p.Namespace,
				},
			}}
			got, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			if !got.Status.Allowed {
				return errors.New("the marker is not there")
			}
		}
		return nil
	})
}
