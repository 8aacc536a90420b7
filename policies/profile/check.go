package profile

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// check reports everything that is wrong with a Profile whose defaults are filled in.
func (p *Profile) check(f *problems) {
	f.text(reflect.ValueOf(*p), "")
	if len(f.list) > 0 {
		return // the checks below would quote the same values again
	}
	switch p.Tier {
	case Ground, Flight:
	case "":
		f.add("tier", "is missing: expected ground or flight")
	default:
		f.add("tier", "is %q: expected ground or flight", shorten(string(p.Tier)))
	}
	p.checkNames(f)
	p.checkIdentities(f)
	p.checkNamespaces(f)
	p.TTL.check(f)
	p.checkTTLLabel(f)
	p.Images.check(f)
	p.Signer.check(f)
	p.Pipeline.check(f)
	p.checkClosedWorld(f)
	p.Federation.check(f)
	p.checkActor(f)
	p.Recording.check(f)
	p.checkTiers(f)
}

// text refuses strings that could not be shown, stored or quoted, wherever they stand.
func (f *problems) text(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.String:
		f.printable(field, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			if name := jsonName(v.Type().Field(i)); name != "" {
				f.text(v.Field(i), join(field, name))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			f.text(v.Index(i), fmt.Sprintf("%s[%d]", field, i))
		}
	case reflect.Map:
		for _, key := range slices.Sorted(maps.Keys(v.Interface().(map[string][]Tier))) {
			f.printable(field, key)
			f.text(v.MapIndex(reflect.ValueOf(key)), join(field, key))
		}
	}
}

func (f *problems) printable(field, s string) {
	switch {
	case !utf8.ValidString(s):
		f.add(field, "is not valid UTF-8: %q", shorten(s))
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		f.add(field, "has a character that does not print: %+q", shorten(s))
	case strings.TrimSpace(s) != s:
		f.add(field, "begins or ends with a space: %q", shorten(s))
	case len(s) > maxValue:
		f.add(field, "is %d bytes long: at most %d are allowed", len(s), maxValue)
	}
}

// maxValue bounds a single value: the longest legitimate ones are URLs. Messages that hold a few of
// them stay below the 5 KiB that the API server allows for a message.
const maxValue = 512

func (p *Profile) checkNames(f *problems) {
	n := p.Names
	if n.Portal == "" {
		f.add("names.portal", "is missing: give the portal's display name, for messages")
	}
	switch {
	case n.Prefix == "":
		f.add("names.prefix", "is missing: give what the names of break-glass objects begin with, such as tower-breakglass-")
	case !strings.HasSuffix(n.Prefix, "-") || len(validation.IsDNS1123Label(n.Prefix+"x")) > 0 || len(n.Prefix) > 40:
		f.add("names.prefix", "is %q: expected at most 40 lower-case letters, digits and hyphens, the last a hyphen, such as tower-breakglass-", shorten(n.Prefix))
	}
	f.valid("names.labelDomain", n.LabelDomain, "a DNS name such as hangar.io", validation.IsDNS1123Subdomain)
	f.valid("names.managedBy", n.ManagedBy, "a label value", validation.IsValidLabelValue)
	if n.Prefix != "" {
		for _, x := range [][2]string{
			{"names.roles.live", n.Roles.Live}, {"names.roles.copy", n.Roles.Copy}, {"names.roles.binder", n.Roles.Binder},
			{"names.bindings.binder", n.Bindings.Binder}, {"names.bindings.reader", n.Bindings.Reader},
		} {
			f.valid(x[0], x[1], "the name of an object", validation.IsDNS1123Subdomain)
			if slices.Contains(builtIn, x[1]) {
				f.add(x[0], "is %q, a name of the cluster's own, which would be overwritten: expected a name such as %s%s", x[1], n.Prefix, x[1])
			}
		}
	}
	if n.Roles.Binder == n.Roles.Live || n.Roles.Binder == n.Roles.Copy || n.Roles.Live == n.Roles.Copy {
		f.add("names.roles", "has one name twice: a debug role that is also the binder role would bind anything")
	}
}

// builtIn are the roles and bindings that each API server makes for itself and that an object's name
// may be; the others have a colon (kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy).
var builtIn = []string{"admin", "cluster-admin", "edit", "view"}

func (p *Profile) checkIdentities(f *problems) {
	i := p.Identities
	f.identity("identities.writer", i.Writer, true)
	f.identity("identities.reader", i.Reader, true)
	f.identity("identities.portal", i.Portal, p.Home)
	f.identity("identities.pipeline", i.Pipeline, false)
	if i.Pipeline.Username() == i.Writer.Username() && !i.Pipeline.IsZero() {
		f.add("identities.pipeline", "is the writer: give the pipeline API an identity of its own, or who steals the writer's token starts pipelines")
	}
	for n, g := range i.Operators.Groups {
		field := fmt.Sprintf("identities.operators.groups[%d]", n)
		f.required(field, g)
		switch {
		case slices.Contains(everyone, g):
			f.add(field, "is %q, which is no group of people: the policies would hold nobody; name the group of those who run the cluster", g)
		case g != "" && g == p.Federation.Group:
			f.add(field, "is federation.group, which the portal's identities are in: name the group of those who run the cluster")
		case i.Writer.isInGroup(g):
			f.add(field, "is %q, a group of the writer's ServiceAccount: the policies would not hold the writer", shorten(g))
		}
	}
	for n, u := range i.Operators.Users {
		field := fmt.Sprintf("identities.operators.users[%d]", n)
		f.required(field, u)
		switch {
		case u == "":
		case u == i.Writer.Username():
			f.add(field, "is the writer: an operator may do what the policies keep from the writer")
		case slices.Contains([]string{i.Reader.Username(), i.Portal.Username(), i.Pipeline.Username()}, u):
			f.add(field, "is %q, an identity of the portal's own: name the people who run the cluster", shorten(u))
		case u == user.Anonymous:
			f.add(field, "is %q, which is whoever sends no credentials: the policies would hold nobody; name the people who run the cluster", u)
		}
	}
	for n, g := range i.Writer.Groups {
		if slices.Contains(i.Operators.Groups, g) {
			f.add(fmt.Sprintf("identities.writer.groups[%d]", n), "is a group of operators: the policies would not hold the writer")
		}
	}
}

// everyone are groups that the API server itself puts requests into, whoever sends them.
var everyone = []string{user.AllAuthenticated, user.AllUnauthenticated, serviceaccount.AllServiceAccountsGroup}

// isInGroup tells whether the API server puts a ServiceAccount into a group.
func (i Identity) isInGroup(group string) bool {
	namespace, _, ok := strings.Cut(i.ServiceAccount, "/")
	return ok && group == serviceaccount.MakeNamespaceGroupName(namespace)
}

func (f *problems) identity(field string, i Identity, required bool) {
	switch {
	case i.User == "" && i.ServiceAccount == "":
		if required || !i.IsZero() {
			f.add(field, "names nobody: give user or serviceAccount")
		}
		return
	case i.User != "" && i.ServiceAccount != "":
		f.add(field, "names a user and a serviceAccount: expected one of them")
	case i.ServiceAccount != "":
		f.account(field+".serviceAccount", i.ServiceAccount)
		if len(i.Groups) > 0 {
			f.add(field+".groups", "is for users only: the API server alone decides the groups of a ServiceAccount")
		}
	case strings.HasPrefix(i.User, "system:serviceaccount:"):
		f.add(field+".user", "is a ServiceAccount: write serviceAccount: namespace/name")
	case strings.HasPrefix(i.User, "system:"):
		f.add(field+".user", "is %q, a name that Kubernetes keeps for itself", shorten(i.User))
	}
	for n, g := range i.Groups {
		f.required(fmt.Sprintf("%s.groups[%d]", field, n), g)
	}
}

func (p *Profile) checkNamespaces(f *problems) {
	n := p.Namespaces
	f.valid("namespaces.labels.app", n.Labels.App, "a label key", validation.IsQualifiedName)
	if domain, _, _ := strings.Cut(n.Labels.App, "/"); kubernetesDomain.MatchString(domain) {
		f.add("namespaces.labels.app", "is %q, a label that other namespaces have too: expected a key of your own, such as %s/app", n.Labels.App, p.Names.LabelDomain)
	}
	f.valid("namespaces.labels.env", n.Labels.Env, "a label key", validation.IsQualifiedName)
	f.valid("namespaces.labels.preview", n.Labels.Preview, "a label key", validation.IsQualifiedName)
	if len(n.Portal) == 0 {
		f.add("namespaces.portal", "is missing: list the namespaces of the portal")
	}
	f.each("namespaces.portal", n.Portal, "a namespace", validation.IsDNS1123Label)
	f.each("namespaces.sidecar", n.Sidecar, "a namespace", validation.IsDNS1123Label)
	f.each("namespaces.apps", n.Apps, "a namespace or a pattern such as app-*", invalidPattern)
	f.each("namespaces.pipeline", n.Pipeline, "a namespace or a pattern such as app-*-cicd", invalidPattern)
	f.disjoint("namespaces.portal", n.Portal, n.Apps)
	f.disjoint("namespaces.sidecar", n.Sidecar, n.Apps)
	f.disjoint("namespaces.pipeline", n.Pipeline, n.Apps)
}

// kubernetesDomain matches the domains of labels that Kubernetes or its tools set on all namespaces,
// such as kubernetes.io/metadata.name.
var kubernetesDomain = regexp.MustCompile(`(^|\.)(kubernetes|k8s)\.io$`)

// disjoint refuses namespaces of the platform that leave nothing of a pattern of app namespaces: no
// grant would be admitted there.
func (f *problems) disjoint(field string, platform, apps []string) {
	for i, outer := range platform {
		for n, inner := range apps {
			if covers(outer, inner) {
				f.add(fmt.Sprintf("%s[%d]", field, i), "is %q, which covers all of namespaces.apps[%d], %q, so that no session could start there: name the namespaces of the platform alone", shorten(outer), n, shorten(inner))
			}
		}
	}
}

// covers tells whether every name that inner matches is also one that outer matches: a star of inner,
// which may be anything, is matched by a star of outer alone.
func covers(outer, inner string) bool {
	parts := strings.Split(outer, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(inner)
}

// invalidPattern checks a pattern by the name that it matches with nothing for the stars.
func invalidPattern(s string) []string {
	return validation.IsDNS1123Label("x" + strings.ReplaceAll(s, "*", "") + "x")
}

// wholeMinutes is the one spelling of a TTL: 90m, not 1h30m, so that a list of values can be exact.
var wholeMinutes = regexp.MustCompile(`^[1-9][0-9]{0,3}m$`)

// maxMinutes is a day: break-glass that needs longer is no emergency.
const maxMinutes = 24 * 60

func (t TTL) check(f *problems) {
	f.valid("ttl.label", t.Label, "a label key", validation.IsQualifiedName)
	last := 0
	for i, s := range t.Allowed {
		field := fmt.Sprintf("ttl.allowed[%d]", i)
		m, ok := minutes(s)
		switch {
		case !ok:
			f.add(field, "is %q: expected whole minutes from 1m to %dm, such as 90m", shorten(s), maxMinutes)
		case m <= last:
			f.add(field, "is %q: expected a longer time than the one before it", s)
		default:
			last = m
		}
	}
	if _, ok := minutes(t.Extension); !ok {
		f.add("ttl.extension", "is %q: expected whole minutes, such as 15m", shorten(t.Extension))
	}
}

// checkTTLLabel keeps the label apart from those that mean something else on the same objects.
func (p *Profile) checkTTLLabel(f *problems) {
	d := p.Names.LabelDomain
	if taken := []string{"app.kubernetes.io/managed-by", d + "/breakglass-copy", d + "/breakglass-session"}; slices.Contains(taken, p.TTL.Label) {
		f.add("ttl.label", "is %q, which break-glass objects carry for something else: expected a key such as cleanup.kyverno.io/ttl", p.TTL.Label)
	}
}

func minutes(s string) (int, bool) {
	if !wholeMinutes.MatchString(s) {
		return 0, false
	}
	m, err := strconv.Atoi(strings.TrimSuffix(s, "m"))
	return m, err == nil && m <= maxMinutes
}

var (
	digest     = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	repository = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`)
)

func (i Images) check(f *problems) {
	switch {
	case i.Repository == "" && len(i.Digests) > 0:
		f.add("images.repository", "is missing: digests need a repository")
	case i.Repository != "" && strings.Contains(i.Repository, "@"):
		f.add("images.repository", "is %q, with a digest: put the digest into images.digests", shorten(i.Repository))
	case i.Repository != "" && !repository.MatchString(i.Repository):
		f.add("images.repository", "is %q: expected a registry and a path without a tag, such as registry.example.com/tower/debug", shorten(i.Repository))
	}
	for n, d := range i.Digests {
		field := fmt.Sprintf("images.digests[%d]", n)
		switch {
		case digest.MatchString(d):
		case strings.Contains(d, "@"):
			f.add(field, "is %q: expected the part behind the @ alone", shorten(d))
		case !strings.HasPrefix(d, "sha256:"):
			f.add(field, "is %q, a tag and not a digest: a tag can be moved to another image; write sha256: and 64 hexadecimal digits", shorten(d))
		default:
			f.add(field, "is %q: expected sha256: and 64 lower-case hexadecimal digits", shorten(d))
		}
	}
}

func (s Signer) check(f *problems) {
	f.httpsURL("signer.issuer", s.Issuer, false)
	f.httpsURL("signer.log", s.Log, false)
	if (s.Issuer == "") != (s.Subject == "") {
		f.add("signer", "has issuer or subject alone: a signature is told by both")
	}
}

func (p Pipeline) check(f *problems) {
	if p.Catalog != "" {
		f.valid("pipeline.catalog", p.Catalog, "a namespace", validation.IsDNS1123Label)
	}
	if p.ServiceAccount != "" {
		f.valid("pipeline.serviceAccount", p.ServiceAccount, "the name of a ServiceAccount", validation.IsDNS1123Subdomain)
	}
}

func (p *Profile) checkTiers(f *problems) {
	for _, policy := range slices.Sorted(maps.Keys(p.Tiers)) {
		for i, t := range p.Tiers[policy] {
			if !slices.Contains(Tiers, t) {
				f.add(fmt.Sprintf("%s[%d]", join("tiers", policy), i), "is %q: expected ground or flight", shorten(string(t)))
			}
		}
	}
}

func (f *problems) required(field, value string) {
	if value == "" {
		f.add(field, "is empty: give it a value or remove it")
	}
}

// valid applies a check of the Kubernetes API, and names what was expected with its explanation.
func (f *problems) valid(field, value, expected string, check func(string) []string) {
	if why := check(value); len(why) > 0 {
		f.add(field, "is %q: expected %s", shorten(value), expected)
	}
}

func (f *problems) each(field string, values []string, expected string, check func(string) []string) {
	for i, v := range values {
		f.valid(fmt.Sprintf("%s[%d]", field, i), v, expected, check)
	}
}

func (f *problems) account(field, value string) {
	namespace, name, ok := strings.Cut(value, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		f.add(field, "is %q: expected namespace/name", shorten(value))
	}
}

func (f *problems) httpsURL(field, value string, required bool) {
	if value == "" && !required {
		return
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		f.add(field, "is %q: expected an https URL without user, query and fragment", shorten(value))
	}
}
