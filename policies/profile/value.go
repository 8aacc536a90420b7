package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Value is a value of the Profile in JSON form (map[string]any, []any, string, bool, int64) by its
// path in the file, defaults included: names.prefix, images.digests.0, ttl.allowed.last. Fixtures use
// it, so that they hold for every Profile. Besides what the file says there are
//
//	names.stem                the prefix without its hyphen
//	namespaces.platform       a name for each of the portal's, sidecar's and pipeline's namespaces
//	identities.X.username     the name that the API server knows writer, reader, portal or pipeline by
//	identities.X.subject      the one exact form of X in a binding
//	identities.X.bareSubject  the same before the API server fills in its API group
//	identities.X.impostor     another subject of the same name
//	identities.X.is.Y         there, and true, if X and Y are one identity
//	identities.X.differs.Y    or if they are two
//	namespaces.app            a name for the first of the patterns of apps
//	namespaces.appOfPlatform  a name that a pattern of apps has and one of the platform's too, if there is one
//	federation.actor          namespace and name of the ServiceAccount that Actor tells, if there is one
//	federation.beyond         a second more than the lifetime, if that is less than an hour, the API's default
//	closedWorld.proxies.N.namespace, .name
//	                          the two parts of the service
//	closedWorld.proxies.N.below, .beside
//	                          a path that may be called, and one that only begins like it; a path of / has none beside
func (p Profile) Value(name string) (any, error) {
	v, err := p.tree()
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	segments := strings.Split(name, ".")
	for i, segment := range segments {
		var ok bool
		if v, ok = step(v, segment); !ok {
			return nil, fmt.Errorf("profile %s: no value %s", p.Name, strings.Join(segments[:i+1], "."))
		}
	}
	return v, nil
}

func step(v any, segment string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[segment]
		return next, ok
	case []any:
		for i := range v {
			if fmt.Sprint(i) == segment || segment == "last" && i == len(v)-1 {
				return v[i], true
			}
		}
	}
	return nil, false
}

// tree is the Profile with what follows from it.
func (p Profile) tree() (any, error) {
	root, err := jsonForm(p)
	if err != nil {
		return nil, err
	}
	top := root.(map[string]any)
	top["names"].(map[string]any)["stem"] = strings.TrimSuffix(p.Names.Prefix, "-")
	var platform []any
	for _, n := range slices.Concat(p.Namespaces.Portal, p.Namespaces.Sidecar, p.Namespaces.Pipeline) {
		platform = append(platform, strings.ReplaceAll(n, "*", "x"))
	}
	namespaces := top["namespaces"].(map[string]any)
	namespaces["platform"] = platform
	namespaces["app"] = strings.ReplaceAll(p.Namespaces.Apps[0], "*", "x")
	for _, n := range platform {
		if slices.ContainsFunc(p.Namespaces.Apps, func(pattern string) bool { return matches(pattern, n.(string)) }) {
			namespaces["appOfPlatform"] = n
		}
	}
	for word, v := range top["identities"].(map[string]any) {
		i, known := p.identity(word)
		if !known {
			continue
		}
		of := v.(map[string]any)
		of["username"] = i.Username()
		bare := i.Subject()
		bare.APIGroup = ""
		impostor := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: i.Username()}
		if i.ServiceAccount == "" {
			impostor.Kind = rbacv1.GroupKind
		}
		for name, s := range map[string]rbacv1.Subject{"subject": i.Subject(), "bareSubject": bare, "impostor": impostor} {
			if of[name], err = jsonForm(s); err != nil {
				return nil, err
			}
		}
		same, differs := map[string]any{}, map[string]any{}
		for _, other := range []string{"writer", "reader", "portal", "pipeline"} {
			if o, _ := p.identity(other); o.Username() == i.Username() {
				same[other] = true
			} else {
				differs[other] = true
			}
		}
		of["is"], of["differs"] = same, differs
	}
	federation := top["federation"].(map[string]any)
	if namespace, name, ok := strings.Cut(p.Actor(), "/"); ok {
		federation["actor"] = map[string]any{"namespace": namespace, "name": name}
	}
	if p.Federation.Lifetime < maxLifetime {
		federation["beyond"] = int64(p.Federation.Lifetime) + 1
	}
	if world, ok := top["closedWorld"].(map[string]any); ok {
		for i, x := range p.ClosedWorld.Proxies {
			of := world["proxies"].([]any)[i].(map[string]any)
			of["namespace"], of["name"], _ = strings.Cut(x.Service, "/")
			of["below"] = strings.TrimSuffix(x.Path, "/") + "/x"
			if x.Path != "/" {
				of["beside"] = strings.TrimSuffix(x.Path, "/") + "-x"
			}
		}
	}
	return root, nil
}

// matches tells whether a pattern of namespaces has a name.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

func jsonForm(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, err
	}
	return integers(out)
}

// integers turns the numbers of a JSON value into int64: a Profile has no others.
func integers(v any) (any, error) {
	var err error
	switch t := v.(type) {
	case json.Number:
		return t.Int64()
	case map[string]any:
		for k := range t {
			if t[k], err = integers(t[k]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range t {
			if t[i], err = integers(t[i]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
