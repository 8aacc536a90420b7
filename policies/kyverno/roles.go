package kyverno

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/policies/profile"
)

// ttlLabel is the label that Kyverno's cleanup controller acts on.
const ttlLabel = "cleanup.kyverno.io/ttl"

// roles are ClusterRoles that Kyverno's own take up by their labels (charts/kyverno/templates/*/clusterrole.yaml,
// aggregationRule). Its charts grant none of these rights.
func roles(x profile.Profile) []any {
	objects := []any{
		// Kyverno looks into its own rights before it calls a policy ready, and a debug container is
		// added through a resource that reading pods does not include.
		role("holdshort:kyverno-read", []string{"admission", "background", "reports"},
			rule("", "pods/ephemeralcontainers", "get", "list", "watch")),
	}
	if x.TTL.Label == ttlLabel {
		// The verbs that the controller demands before it looks at a resource (pkg/controllers/ttl/utils.go, 45-52).
		// Without watch it never deletes anything, and says so nowhere.
		objects = append(objects, role("holdshort:kyverno-cleanup", []string{"cleanup"},
			rule("", "pods", "list", "watch", "delete"),
			rule(rbacv1.GroupName, "rolebindings", "list", "watch", "delete")))
	}
	return objects
}

func role(name string, controllers []string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	labels := map[string]string{"app.kubernetes.io/part-of": "holdshort"}
	for _, c := range controllers {
		labels["rbac.kyverno.io/aggregate-to-"+c+"-controller"] = "true"
	}
	return &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Rules:      rules,
	}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}
