package profile_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"hangar.io/holdshort/policies/profile"
)

// minimal is the shortest valid file; the numbers of its lines stand in the tests below.
const minimal = `tier: flight
names: {portal: Tower, prefix: tower-breakglass-}
identities:
  writer: {serviceAccount: tower/tower-writer}
  reader: {user: "example:reader"}
namespaces: {portal: [tower]}
`

func TestTheBuiltInProfilesAreGroundAndFlight(t *testing.T) {
	all := profile.Builtin()
	if len(all) != 2 || all[0].Tier != profile.Ground || all[1].Tier != profile.Flight {
		t.Fatalf("built in are %v", all)
	}
	for _, p := range all {
		loaded, err := profile.Load(p.Name)
		if err != nil || !reflect.DeepEqual(loaded, p) {
			t.Errorf("Load(%q) differs from the built-in profile: %v", p.Name, err)
		}
		if p.Name != string(p.Tier) {
			t.Errorf("the profile of tier %s is named %s", p.Tier, p.Name)
		}
	}
	if all[0].Hash() == all[1].Hash() {
		t.Error("both have the same hash")
	}
}

func TestWhatAFileLeavesOutHasDefaults(t *testing.T) {
	p, err := profile.Parse("dir/minimal.yaml", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"names.labelDomain": "hangar.io", "names.managedBy": "tower-breakglass",
		"names.roles.live": "tower-breakglass-debug-live", "names.roles.copy": "tower-breakglass-debug-copy",
		"names.roles.binder": "tower-breakglass-binder", "names.bindings.binder": "tower-breakglass-binder",
		"names.bindings.reader": "tower-breakglass-reader",
		"namespaces.labels.app": "hangar.io/app", "namespaces.labels.env": "hangar.io/env",
		"namespaces.labels.preview": "hangar.io/ephemeral-env", "namespaces.apps": []any{"app-*"}, "namespaces.sidecar": []any{"holdshort"},
		"identities.operators.groups": []any{"system:masters"},
		"ttl.label":                   "cleanup.kyverno.io/ttl", "ttl.extension": "15m",
		"ttl.allowed":         []any{"15m", "30m", "45m", "60m", "75m"},
		"federation.lifetime": int64(600), "recording.retentionDays": int64(365),
	}
	for path, v := range want {
		have, err := p.Value(path)
		if err != nil || !reflect.DeepEqual(have, v) {
			t.Errorf("%s is %v, %v; want %v", path, have, err, v)
		}
	}
	if p.Name != "minimal" || p.Home {
		t.Errorf("name %q, home %t", p.Name, p.Home)
	}
}

func TestTheHashTellsWhatAProfileSays(t *testing.T) {
	hash := func(text string) string {
		t.Helper()
		p, err := profile.Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p.Hash()
	}
	same := hash(minimal)
	for name, text := range map[string]string{
		"a comment":            "# changed\n" + minimal,
		"a default, spelled":   minimal + "ttl: {label: cleanup.kyverno.io/ttl}\n",
		"an empty list":        minimal + "images: {digests: []}\n",
		"another order":        "home: false\n" + minimal,
		"a quoted value":       strings.Replace(minimal, "portal: Tower", `portal: "Tower"`, 1),
		"the file's own name ": minimal,
	} {
		if hash(text) != same {
			t.Errorf("%s changes the hash", name)
		}
	}
	if hash(strings.Replace(minimal, "Tower", "Towers", 1)) == same {
		t.Error("another portal has the same hash")
	}
	if hash(minimal+"tiers: {no-exec: []}\n") == same {
		t.Error("a switched-off policy has the same hash")
	}
}

func TestTheClosedWorldIsLeastWhatThePortalNeeds(t *testing.T) {
	for _, p := range profile.Builtin() {
		listed := p.ClosedWorld.Allow
		p.ClosedWorld.Allow = nil
		p, err := p.Complete()
		if err != nil || !reflect.DeepEqual(p.ClosedWorld.Allow, listed) {
			t.Errorf("%s lists %v; the default is %v, %v", p.Name, listed, p.ClosedWorld.Allow, err)
		}
	}
	flight := profile.Builtin()[1]
	flight.ClosedWorld.Allow, flight.Identities.Reader.ServiceAccount = nil, "tower/tower-reader"
	if flight, err := flight.Complete(); err != nil || len(flight.ClosedWorld.Allow) != 4 {
		t.Errorf("a reader who is not the portal may ask for tokens: %v, %v", flight.ClosedWorld.Allow, err)
	}
}

func TestIdentitiesHaveOneExactForm(t *testing.T) {
	user := profile.Identity{User: "example:writer"}
	if s := user.Subject(); user.Username() != "example:writer" || s != (rbacv1.Subject{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "example:writer"}) {
		t.Errorf("user: %s, %+v", user.Username(), s)
	}
	account := profile.Identity{ServiceAccount: "tower/tower-writer"}
	if s := account.Subject(); account.Username() != "system:serviceaccount:tower:tower-writer" || s != (rbacv1.Subject{Kind: "ServiceAccount", Namespace: "tower", Name: "tower-writer"}) {
		t.Errorf("account: %s, %+v", account.Username(), s)
	}
	if none := (profile.Identity{}); none.Username() != "" || !none.IsZero() {
		t.Errorf("nobody is %q", none.Username())
	}
}

func TestTheActorIsTheAccountBesideThePortals(t *testing.T) {
	for name, c := range map[string]struct {
		portal   string
		accounts []string
		want     string
	}{
		"none without federation":    {"tower/portal", nil, ""},
		"none beside the portal":     {"tower/portal", []string{"tower/portal"}, ""},
		"the other account":          {"tower/portal", []string{"tower/portal", "tower/actor"}, "tower/actor"},
		"the only one, for a person": {"", []string{"tower/actor"}, "tower/actor"},
	} {
		p := profile.Profile{Identities: profile.Identities{Portal: profile.Identity{ServiceAccount: c.portal}}, Federation: profile.Federation{Accounts: c.accounts}}
		if have := p.Actor(); have != c.want {
			t.Errorf("%s: the actor is %q", name, have)
		}
	}
}

func TestWordsStandForUsers(t *testing.T) {
	ground := profile.Builtin()[0]
	for word, name := range map[string]string{
		"writer": "example:flight:tower-writer", "reader": "example:flight:tower-backend",
		"portal": "example:flight:tower-backend", "pipeline": "system:serviceaccount:pipeline-system:pipeline-api",
		"operator": "operator",
	} {
		u, err := ground.User(word)
		if err != nil || u.Name != name {
			t.Errorf("%s is %q, %v; want %q", word, u.Name, err, name)
		}
	}
	if u, _ := ground.User("operator"); !reflect.DeepEqual(u.Groups, []string{"system:masters"}) {
		t.Errorf("an operator has the groups %v", u.Groups)
	}
	small, err := profile.Parse("small.yaml", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if u, err := small.User("operator"); err != nil || u.Name != "operator" || !reflect.DeepEqual(u.Groups, []string{"system:masters"}) {
		t.Errorf("without operators one is %+v, %v", u, err)
	}
	for word, want := range map[string]string{
		"root":   `no identity "root": expected writer, reader, portal, pipeline or operator`,
		"portal": "profile small has no identities.portal",
	} {
		if u, err := small.User(word); err == nil || err.Error() != want {
			t.Errorf("%s is %q, %v; want the error %q", word, u.Name, err, want)
		}
	}
}

func TestValuesAreFoundByTheirPath(t *testing.T) {
	flight := profile.Builtin()[1]
	cases := map[string]any{
		"tier": "flight", "home": true, "names.prefix": "tower-breakglass-",
		"namespaces.pipeline.1":          "app-*-cicd",
		"identities.writer.username":     "system:serviceaccount:tower:tower-writer",
		"identities.writer.subject":      map[string]any{"kind": "ServiceAccount", "namespace": "tower", "name": "tower-writer"},
		"identities.writer.subject.kind": "ServiceAccount",
		"identities.writer.impostor":     map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "system:serviceaccount:tower:tower-writer"},
		"names.stem":                     "tower-breakglass",
		"namespaces.platform":            []any{"tower", "holdshort", "pipeline-system", "app-x-cicd", "infra-x-cicd"},
		"ttl.allowed.last":               "75m",
		"federation.targets.0.name":      "ground",
		"identities.portal.is":           map[string]any{"reader": true, "portal": true},
		"identities.reader.differs":      map[string]any{"writer": true, "pipeline": true},
		"namespaces.app":                 "app-x",
		"federation.actor":               map[string]any{"namespace": "tower", "name": "tower-writer"},
		"federation.beyond":              int64(601),
		"closedWorld.proxies.0":          map[string]any{"service": "pipeline-system/pipeline-api", "namespace": "pipeline-system", "name": "pipeline-api", "port": "8080", "path": "/v1/", "below": "/v1/x", "beside": "/v1-x"},
		"closedWorld.allow.0.operations": []any{"CREATE", "DELETE"},
	}
	for path, want := range cases {
		if have, err := flight.Value(path); err != nil || !reflect.DeepEqual(have, want) {
			t.Errorf("%s is %v, %v; want %v", path, have, err, want)
		}
	}
	ground := profile.Builtin()[0]
	for path, want := range map[string]any{
		"identities.writer.bareSubject": map[string]any{"kind": "User", "name": "example:flight:tower-writer"},
		"identities.writer.impostor":    map[string]any{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "example:flight:tower-writer"},
	} {
		if have, err := ground.Value(path); err != nil || !reflect.DeepEqual(have, want) {
			t.Errorf("%s is %v, %v; want %v", path, have, err, want)
		}
	}
	for path, want := range map[string]string{
		"": "no value", "name": "no value name", "names.x.y": "no value names.x", "tier.x": "no value tier.x",
		"namespaces.pipeline.9": "no value namespaces.pipeline.9", "namespaces.pipeline.-1": "no value",
		"identities.nobody.username": "no value identities.nobody",
	} {
		if have, err := flight.Value(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v, %v; want the error %q", path, have, err, want)
		}
	}
}

func TestAProfileIsNamedAfterItsFileInSafeCharacters(t *testing.T) {
	for file, want := range map[string]string{
		"a/staging.yaml": "staging", "two.words.yaml": "two.words", "a\nb: c.yaml": "a-b--c", "..yaml": "-", "noending": "noending",
	} {
		if p, err := profile.Parse(file, []byte(minimal)); err != nil || p.Name != want {
			t.Errorf("%q is named %q, %v; want %q", file, p.Name, err, want)
		}
	}
}

func TestAFileIsLoadedByItsPath(t *testing.T) {
	file := filepath.Join(t.TempDir(), "staging.yaml")
	if err := os.WriteFile(file, []byte(minimal), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := profile.Load(file); err != nil || p.Name != "staging" {
		t.Errorf("loaded %q, %v", p.Name, err)
	}
	if _, err := profile.Load("orbit"); err == nil || !strings.Contains(err.Error(), "expected ground, flight or a file") {
		t.Errorf("a name that is none: %v", err)
	}
	if _, err := profile.Load(file + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is none: %v", err)
	}
}

func TestAProfileMadeInCodeIsCheckedToo(t *testing.T) {
	p := profile.Builtin()[0]
	p.Names.Portal = "To\xffwer"
	if _, err := p.Complete(); err == nil || err.Error() != `names.portal is not valid UTF-8: "To\xffwer"` {
		t.Errorf("have %v", err)
	}
	p.Names.Portal = "Tower"
	if got, err := p.Complete(); err != nil || got.Hash() != p.Hash() {
		t.Errorf("a complete profile changes: %v", err)
	}
}
