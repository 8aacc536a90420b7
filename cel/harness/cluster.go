package harness

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"hangar.io/holdshort/cel/schema"
)

// Cluster is what a policy can see besides the request. The zero value is a cluster nothing is
// known about: a policy that would have to look at it is undecided, never guessed.
// It is read only once it is given to the harness.
type Cluster struct {
	// Resources tells kinds, scopes and equivalent versions; nil is schema.BuiltIn of the
	// newest version. Custom resources come from schema.Table.WithCRDs.
	Resources *schema.Table
	// Namespaces by name. One that is not described is assumed to exist with only the label
	// kubernetes.io/metadata.name; where a selector or an expression needs more, the policy
	// is undecided.
	Namespaces map[string]*corev1.Namespace
	// Params are the objects that bindings may refer to. nil: unknown. Empty: there are none.
	Params []*unstructured.Unstructured
	// Allow is what the authorizer answers yes to; everything else has no opinion. nil:
	// unknown. Empty: nothing is allowed.
	Allow []Permission
}

// Permission is one line of the authorizer stub, in the terms of a SubjectAccessReview.
// An empty field matches the empty value only, except User and Group (empty: anybody);
// "*" matches everything.
type Permission struct {
	User        string // user name
	Group       string
	Verb        string
	APIGroup    string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	Path        string // non-resource path; then Resource is empty
}
