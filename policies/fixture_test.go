package policies_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

// now is the time of all requests in these tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// proof is a Profile with its policies compiled and the cases of each.
type proof struct {
	profile profile.Profile
	set     *harness.Set
	cases   map[string][]fixture.Case
}

func prove(t *testing.T, p profile.Profile) proof {
	t.Helper()
	m := render(t, p)
	x := proof{p, compiled(t, m), map[string][]fixture.Case{}}
	for _, policy := range m.Policies {
		x.cases[policy.Name] = load(t, policy.Name, p)
	}
	return x
}

func compiled(t testing.TB, m policies.Manifests) *harness.Set {
	t.Helper()
	set, err := harness.Compile(m.Policies, m.Bindings)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// load returns the cases of a policy that are meant for a Profile.
func load(t *testing.T, policy string, p profile.Profile) []fixture.Case {
	t.Helper()
	return slices.DeleteFunc(resolve(t, policy, p), func(c fixture.Case) bool { return !c.In(string(p.Tier)) })
}

// resolve returns all cases of a policy.
func resolve(t *testing.T, policy string, p profile.Profile) []fixture.Case {
	t.Helper()
	file, err := fixture.LoadFile(filepath.Join("testdata", policy+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := file.Resolve(fixture.Inputs{Now: now, Users: p.User, Profile: p.Value})
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// otherProfiles are clusters unlike the built-in ones: as short as possible, with other names and
// domains, with the writer's identity in the other form, with one identity for writer and reader.
var otherProfiles = map[string]string{
	"short": `
tier: ground
names: {portal: P, prefix: p-}
identities: {writer: {serviceAccount: p/w}, reader: {user: r}}
namespaces: {portal: [p]}
images: {repository: r.example.com/d, digests: [sha256:1111111111111111111111111111111111111111111111111111111111111111]}`,
	"renamed": `
tier: flight
home: true
names: {portal: "O'Beacon", prefix: beacon-bg-, labelDomain: platform.example.com, managedBy: beacon, roles: {live: inside, copy: beside}}
identities:
  writer: {user: "beacon:writer"}
  reader: {serviceAccount: beacon/reader}
  portal: {serviceAccount: beacon/reader}
  pipeline: {user: "beacon:runs"}
  operators: {users: [root]}
namespaces: {apps: [team-*, "*-app"], portal: [beacon, beacon-data], pipeline: [runs, "*-runs"], labels: {app: team.example.com/app}}
pipeline: {catalog: library, serviceAccount: runner}
closedWorld:
  proxies: [{service: runs/api, port: http, path: /v2}, {service: beacon/store, port: "80", path: /objects/}]
federation:
  group: beacon
  accounts: [beacon/hands, beacon/reader]
  lifetime: 900
  targets: [{name: a, server: "https://a.example.com", audience: a}, {name: b, server: "https://b.example.com", audience: "b:c"}]
images:
  repository: registry.example.com:5000/beacon/tools
  digests:
  - sha256:2222222222222222222222222222222222222222222222222222222222222222
  - sha256:3333333333333333333333333333333333333333333333333333333333333333
ttl: {label: reaper.example.com/ttl, allowed: [10m, 20m]}`,
	"one-identity": `
tier: flight
home: true
names: {portal: Tower, prefix: tower-breakglass-}
identities:
  writer: {serviceAccount: tower/tower-backend-1}
  reader: {serviceAccount: tower/tower-backend-1}
  portal: {serviceAccount: tower/tower-backend-1}
namespaces: {portal: [tower], sidecar: [tower]}
federation:
  accounts: [tower/tower-backend-1, tower/tower-actor]
  targets: [{name: ground, server: "https://ground.example.com", audience: ground}]
images: {repository: registry.example.com/debug, digests: [sha256:4444444444444444444444444444444444444444444444444444444444444444]}
ttl: {allowed: [45m]}`,
}

// allProfiles are the built-in ones and the others.
func allProfiles(t *testing.T) []profile.Profile {
	t.Helper()
	all := profile.Builtin()
	for name, text := range otherProfiles {
		p, err := profile.Parse(name+".yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func TestEveryCaseGetsTheAnswerThatItExpects(t *testing.T) {
	for _, p := range allProfiles(t) {
		x := prove(t, p)
		for policy, cases := range x.cases {
			for _, c := range cases {
				if r := fixture.Run(t.Context(), x.set, c); !r.OK {
					t.Errorf("%s: %s:%d: %s\n  expected %s\n  have     %s\n  %s", p.Name, c.File, c.Line, c.Name, r.Expected, r.Actual, r.Decisive)
				}
				if c.Policy != policy {
					t.Errorf("%s:%d: the cases are about %s", c.File, c.PolicyLine, c.Policy)
				}
			}
		}
	}
}

// TestTheBuiltInProfilesHaveWhatEveryCaseNeeds keeps a misspelled need from leaving a case out for ever.
func TestTheBuiltInProfilesHaveWhatEveryCaseNeeds(t *testing.T) {
	for _, p := range profile.Builtin() {
		for _, policy := range render(t, p).Policies {
			for _, c := range resolve(t, policy.Name, p) {
				if c.LeftOut(string(p.Tier)) {
					t.Errorf("%s:%d: profile %s has no %s", c.File, c.Line, p.Name, c.Lacks)
				}
			}
		}
	}
}

// TestEveryValidationAndConditionIsProved demands, on each tier, a case that each validation alone
// refuses, a case that each condition alone skips, cases that it lets through, and an allow.
func TestEveryValidationAndConditionIsProved(t *testing.T) {
	for _, p := range profile.Builtin() {
		x := prove(t, p)
		for _, policy := range render(t, p).Policies {
			seen := map[string]int{}
			for _, c := range x.cases[policy.Name] {
				if len(c.Expect.Names) <= 1 {
					seen[c.Expect.Outcome.String()+" "+strings.Join(c.Expect.Names, "")]++
				}
			}
			want := []string{"allow "}
			for _, name := range harness.ValidationNames(policy) {
				want = append(want, "deny "+name)
			}
			for _, c := range policy.Spec.MatchConditions {
				want = append(want, "skip "+c.Name)
			}
			for _, w := range want {
				if seen[w] == 0 {
					t.Errorf("%s: %s has no case with the answer %s", p.Name, policy.Name, w)
				}
			}
		}
	}
}

// TestAloneMeansThatNothingElseRefuses takes each validation away: the cases that it alone refuses
// are admitted then, so that no case is refused for a reason that it does not name.
func TestAloneMeansThatNothingElseRefuses(t *testing.T) {
	for _, p := range profile.Builtin() {
		cases := prove(t, p).cases
		m := render(t, p)
		for i, policy := range m.Policies {
			for v, name := range harness.ValidationNames(policy) {
				without := policy.DeepCopy()
				without.Spec.Validations = slices.Delete(without.Spec.Validations, v, v+1)
				if len(without.Spec.Validations) == 0 {
					continue // a policy of one validation refuses for no other reason
				}
				without.Annotations[policies.NamesAnnotation] = strings.Join(slices.Delete(harness.ValidationNames(policy), v, v+1), ",")
				set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{without}, m.Bindings[i:i+1])
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range cases[policy.Name] {
					if c.Expect.Outcome != fixture.Deny || !slices.Equal(c.Expect.Names, []string{name}) {
						continue
					}
					c.Expect = fixture.Expect{Outcome: fixture.Allow}
					if r := fixture.Run(t.Context(), set, c); !r.OK {
						t.Errorf("%s: %s:%d: without %s: %s", p.Name, c.File, c.Line, name, r.Actual)
					}
				}
			}
		}
	}
}

// TestTheCasesAreDistinctRequests counts requests and not copies of one for several tiers.
func TestTheCasesAreDistinctRequests(t *testing.T) {
	distinct := map[string]bool{}
	for _, p := range profile.Builtin() {
		x := prove(t, p)
		here := map[string]string{}
		for _, cases := range x.cases {
			for _, c := range cases {
				r := c.Request
				key := fmt.Sprint(r.Operation, r.Resource, r.Subresource, r.Namespace, r.Name, r.Object, r.OldObject, r.Options, r.User, r.DryRun, r.Collection)
				where := fmt.Sprintf("%s:%d", c.File, c.Line)
				if first, twice := here[key]; twice {
					t.Errorf("%s: the request of %s is that of %s", p.Name, where, first)
				}
				here[key] = where
				distinct[where] = true
			}
		}
	}
	if len(distinct) < 90 {
		t.Errorf("%d distinct requests: expected at least 90", len(distinct))
	}
	t.Logf("%d distinct requests", len(distinct))
}
