package profile

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

var (
	worldIdentities = []string{"writer", "reader", "group"}
	operations      = []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}
	methods         = []string{"POST", "PUT", "PATCH", "DELETE"}
	// resource is a plural with an optional group and subresource.
	resource = regexp.MustCompile(`^[a-z0-9]+(\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?(/[a-z0-9]+)?$`)
)

func (p *Profile) checkClosedWorld(f *problems) {
	_, given := f.lines["closedWorld.allow"]
	if _, item := f.lines["closedWorld.allow[0]"]; given && !item {
		f.add("closedWorld.allow", "is empty: leave it out for what sessions need, or list what may be written")
	}
	for i, a := range p.ClosedWorld.Allow {
		field := fmt.Sprintf("closedWorld.allow[%d]", i)
		f.oneOf(field+".identity", a.Identity, worldIdentities)
		f.nonEmpty(field+".operations", len(a.Operations))
		for n, o := range a.Operations {
			f.oneOf(fmt.Sprintf("%s.operations[%d]", field, n), o, operations)
		}
		f.nonEmpty(field+".resources", len(a.Resources))
		for n, r := range a.Resources {
			f.resource(fmt.Sprintf("%s.resources[%d]", field, n), r)
		}
		f.each(field+".namespaces", a.Namespaces, "a namespace or a pattern such as app-*", invalidPattern)
	}
	for i, x := range p.ClosedWorld.Proxies {
		field := fmt.Sprintf("closedWorld.proxies[%d]", i)
		f.account(field+".service", x.Service)
		f.required(field+".port", x.Port)
		f.path(field+".path", x.Path)
	}
	for i, a := range p.Accepted {
		field := fmt.Sprintf("accepted[%d]", i)
		f.oneOf(field+".identity", a.Identity, worldIdentities)
		f.oneOf(field+".operation", a.Operation, operations)
		f.resource(field+".resource", a.Resource)
		if a.Reason == "" {
			f.add(field+".reason", "is missing: say why the gap is accepted")
		}
	}
}

// lifetimes of a token in seconds. The API server issues none below 600 (kubernetes
// pkg/apis/authentication/validation); above an hour a token is no longer short-lived.
const minLifetime, maxLifetime = 600, 3600

// checkActor keeps the right to ask for tokens to one ServiceAccount, which the policies and the roles
// name.
func (p *Profile) checkActor(f *problems) {
	if actors := p.actors(); p.Home && len(actors) > 1 {
		f.add("federation.accounts", "names %s besides the portal: expected one, whose tokens the portal asks for", strings.Join(actors, " and "))
	}
}

func (d Federation) check(f *problems) {
	f.httpsURL("federation.issuer", d.Issuer, false)
	if d.Lifetime < minLifetime || d.Lifetime > maxLifetime {
		f.add("federation.lifetime", "is %d: expected %d to %d seconds", d.Lifetime, minLifetime, maxLifetime)
	}
	for i, a := range d.Accounts {
		f.account(fmt.Sprintf("federation.accounts[%d]", i), a)
	}
	var targets []string
	for i, t := range d.Targets {
		field := fmt.Sprintf("federation.targets[%d]", i)
		f.valid(field+".name", t.Name, "a name such as ground", validation.IsDNS1123Label)
		if slices.Contains(targets, t.Name) {
			f.add(field+".name", "is %q for the second time", t.Name)
		}
		targets = append(targets, t.Name)
		f.httpsURL(field+".server", t.Server, true)
		if t.Audience == "" {
			f.add(field+".audience", "is missing: without it the token could be used elsewhere")
		}
	}
	for i, a := range d.Actions {
		field := fmt.Sprintf("federation.actions[%d]", i)
		f.valid(field+".name", a.Name, "a name such as rerun", validation.IsDNS1123Label)
		if !slices.Contains(targets, a.Target) {
			f.add(field+".target", "is %q: expected the name of one of federation.targets", shorten(a.Target))
		}
		f.oneOf(field+".method", a.Method, methods)
		f.path(field+".path", a.Path)
	}
}

func (r Recording) check(f *problems) {
	f.httpsURL("recording.anchor", r.Anchor, false)
	if r.RetentionDays < 1 || r.RetentionDays > 3650 {
		f.add("recording.retentionDays", "is %d: expected 1 to 3650", r.RetentionDays)
	}
	if r.Store == "" {
		return
	}
	u, err := url.Parse(r.Store)
	switch {
	case err == nil && u.Scheme == "dir" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
	case err == nil && u.Scheme == "s3" && u.Host != "" && u.User == nil:
	default:
		f.add("recording.store", "is %q: expected dir:///PATH or s3://BUCKET?endpoint=URL", shorten(r.Store))
	}
}

func (f *problems) oneOf(field, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		f.add(field, "is %q: expected one of %s", shorten(value), strings.Join(allowed, ", "))
	}
}

func (f *problems) nonEmpty(field string, length int) {
	if length == 0 {
		f.add(field, "is missing: list at least one")
	}
}

func (f *problems) resource(field, value string) {
	if !resource.MatchString(value) {
		f.add(field, "is %q: expected a plural such as pods/attach or rolebindings.rbac.authorization.k8s.io", shorten(value))
	}
}

// path refuses paths whose meaning depends on who reads them.
func (f *problems) path(field, value string) {
	if !strings.HasPrefix(value, "/") || strings.Contains(value, "..") || strings.Contains(value, "//") || strings.ContainsAny(value, `%?#\`) {
		f.add(field, "is %q: expected a plain path that begins with /, such as /v1/", shorten(value))
	}
}
