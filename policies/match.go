package policies

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// Operations is a set of operations, joined with |.
type Operations uint8

// The operations of the API server.
const (
	Create Operations = 1 << iota
	Update
	Delete
	Connect
)

// Every operation.
const Every = Create | Update | Delete | Connect

var operationTypes = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect}

func (o Operations) types() []admissionv1.OperationType {
	if o == Every {
		return []admissionv1.OperationType{admissionv1.OperationAll}
	}
	var types []admissionv1.OperationType
	for i, t := range operationTypes {
		if o&(1<<i) != 0 {
			types = append(types, t)
		}
	}
	return types
}

// Match is the requests that a policy looks at.
type Match []Rule

// Rule is some operations on some resources of one group.
type Rule struct {
	Operations Operations
	Group      string
	Versions   []string
	Resources  []string
}

// On matches operations on resources: a plural with an optional group and subresource, such as
// pods, pods/attach, rolebindings.rbac.authorization.k8s.io or pipelineruns.tekton.dev/status, in
// version v1 (and those that convert to it). "*" is every resource and subresource there is.
func On(operations Operations, resources ...string) Match {
	var m Match
	for _, r := range resources {
		if r == "*" {
			m = append(m, Rule{Operations: operations, Group: "*", Versions: []string{"*"}, Resources: []string{"*/*"}})
			continue
		}
		name, subresource, sub := strings.Cut(r, "/")
		plural, group, _ := strings.Cut(name, ".")
		if sub {
			plural += "/" + subresource
		}
		i := slices.IndexFunc(m, func(x Rule) bool { return x.Group == group })
		if i < 0 {
			i = len(m)
			m = append(m, Rule{Operations: operations, Group: group, Versions: []string{"v1"}})
		}
		m[i].Resources = append(m[i].Resources, plural)
	}
	return m
}

// Or matches what either matches.
func (m Match) Or(other Match) Match { return append(slices.Clone(m), other...) }

// In matches in these versions instead of v1.
func (m Match) In(versions ...string) Match {
	m = slices.Clone(m)
	for i := range m {
		m[i].Versions = versions
	}
	return m
}

func (r Rule) rule() admissionv1.NamedRuleWithOperations {
	every := admissionv1.AllScopes
	return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: r.Operations.types(),
		Rule: admissionv1.Rule{
			APIGroups: []string{r.Group}, APIVersions: r.Versions, Resources: r.Resources, Scope: &every,
		},
	}}
}

// String says what a rule matches, as in "CREATE, UPDATE of rolebindings.rbac.authorization.k8s.io".
func (r Rule) String() string {
	var operations, resources []string
	for _, t := range r.Operations.types() {
		operations = append(operations, string(t))
	}
	for _, name := range r.Resources {
		plural, subresource, sub := strings.Cut(name, "/")
		if r.Group != "" && r.Group != "*" {
			plural += "." + r.Group
		}
		if sub {
			plural += "/" + subresource
		}
		resources = append(resources, plural)
	}
	return strings.Join(operations, ", ") + " of " + strings.Join(resources, ", ")
}
