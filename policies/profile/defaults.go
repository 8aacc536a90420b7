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
	setDefault(&p.Federation.Lifetime, 600)
	setDefault(&p.Recording.RetentionDays, 365)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
