package profile

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// IsZero reports whether no identity is given.
func (i Identity) IsZero() bool {
	return i.User == "" && i.ServiceAccount == "" && len(i.Groups) == 0
}

// Username is the name under which the API server knows the identity; empty if there is none.
func (i Identity) Username() string {
	if i.ServiceAccount == "" {
		return i.User
	}
	namespace, name, _ := strings.Cut(i.ServiceAccount, "/")
	return serviceaccount.MakeUsername(namespace, name)
}

// Subject is the one form in which a binding may name the identity, as the API server stores it.
func (i Identity) Subject() rbacv1.Subject {
	if i.ServiceAccount == "" {
		return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: i.User}
	}
	namespace, name, _ := strings.Cut(i.ServiceAccount, "/")
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// Actor is namespace/name of the ServiceAccount that the portal writes to other clusters with: the
// one that federation accepts besides the portal's own. On the home cluster the portal asks for its
// tokens, and no pod runs as it. Empty if there is none.
func (p Profile) Actor() string {
	if actors := p.actors(); len(actors) > 0 {
		return actors[0]
	}
	return ""
}

func (p Profile) actors() []string {
	return slices.DeleteFunc(slices.Clone(p.Federation.Accounts), func(a string) bool { return a == p.Identities.Portal.ServiceAccount })
}

// User is who a word stands for in fixtures and on the command line: writer, reader, portal,
// pipeline or operator. Groups that the API server implies are not among the user's.
func (p Profile) User(word string) (user.DefaultInfo, error) {
	if word == "operator" {
		return p.operator(), nil
	}
	i, known := p.identity(word)
	if !known {
		return user.DefaultInfo{}, fmt.Errorf("no identity %q: expected writer, reader, portal, pipeline or operator", word)
	}
	if i.IsZero() {
		return user.DefaultInfo{}, fmt.Errorf("profile %s has no identities.%s", p.Name, word)
	}
	return user.DefaultInfo{Name: i.Username(), Groups: slices.Clone(i.Groups)}, nil
}

// operator is somebody for whom all that the Profile says about operators holds.
func (p Profile) operator() user.DefaultInfo {
	o := p.Identities.Operators
	u := user.DefaultInfo{Name: "operator", Groups: slices.Clone(o.Groups)}
	if len(o.Users) > 0 {
		u.Name = o.Users[0]
	}
	return u
}

func (p Profile) identity(word string) (Identity, bool) {
	switch word {
	case "writer":
		return p.Identities.Writer, true
	case "reader":
		return p.Identities.Reader, true
	case "portal":
		return p.Identities.Portal, true
	case "pipeline":
		return p.Identities.Pipeline, true
	}
	return Identity{}, false
}
