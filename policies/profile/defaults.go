package profile

import "strings"

// setDefaults fills in everything that a file may leave out; the docstrings of the types name
// the same values.
func (p *Profile) setDefaults() {
	n := &p.Names
	setDefault(&n.LabelDomain, "hangar.io")
	setDefault(&n.ManagedBy, strings.TrimSuffix(n.Prefix, "-"))
	setDefault(&n.Roles.Live, n.Prefix+"debug-live")
	setDefault(&n.Roles.Copy, n.Prefix+"debug-copy")
	setDefault(&n.Roles.Binder, n.Prefix+"binder")
	setDefault(&n.Bindings.Binder, n.Roles.Binder)
	setDefault(&n.Bindings.Reader, n.ManagedBy+"-reader")

	if o := &p.Identities.Operators; len(o.Groups)+len(o.Users) == 0 {
		o.Groups = []string{"system:masters"}
	}

	l := &p.Namespaces.Labels
	setDefault(&l.App, n.LabelDomain+"/app")
	setDefault(&l.Env, n.LabelDomain+"/env")
	setDefault(&l.Preview, n.LabelDomain+"/ephemeral-env")
	if len(p.Namespaces.Sidecar) == 0 {
		p.Namespaces.Sidecar = []string{"holdshort"}
	}
	if len(p.Namespaces.Apps) == 0 {
		p.Namespaces.Apps = []string{"app-*"}
	}

	setDefault(&p.TTL.Label, "cleanup.kyverno.io/ttl")
	setDefault(&p.TTL.Extension, "15m")
	if len(p.TTL.Allowed) == 0 {
		p.TTL.Allowed = []string{"15m", "30m", "45m", "60m", "75m"}
	}
	if p.ClosedWorld.Allow == nil {
		p.ClosedWorld.Allow = p.leastWorld()
	}
	setDefault(&p.Federation.Lifetime, 600)
	setDefault(&p.Recording.RetentionDays, 365)
}

// leastWorld is what sessions and the portal's token requests need. Other policies hold each of it to
// its shape.
func (p *Profile) leastWorld() []Allowance {
	inApps := func(resource string, operations ...string) Allowance {
		return Allowance{Identity: "writer", Operations: operations, Resources: []string{resource}, Namespaces: p.Namespaces.Apps}
	}
	least := []Allowance{
		inApps("rolebindings.rbac.authorization.k8s.io", "CREATE", "DELETE"),
		inApps("pods", "CREATE", "UPDATE", "DELETE"),
		inApps("pods/ephemeralcontainers", "UPDATE"),
		inApps("pods/attach", "CONNECT"),
	}
	namespace, _, ok := strings.Cut(p.Actor(), "/")
	if p.Home && ok && p.Identities.Portal.Username() == p.Identities.Reader.Username() {
		least = append(least, Allowance{
			Identity: "reader", Operations: []string{"CREATE"}, Resources: []string{"serviceaccounts/token"}, Namespaces: []string{namespace},
		})
	}
	return least
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
