package profile_test

import (
	"errors"
	"strings"
	"testing"

	"hangar.io/holdshort/policies/profile"
)

// replace changes one text of the minimal file, which must be there.
func replace(t *testing.T, old, new string) string {
	t.Helper()
	if !strings.Contains(minimal, old) {
		t.Fatalf("the minimal file has no %q", old)
	}
	return strings.Replace(minimal, old, new, 1)
}

func TestRefusalsNameFileLineFieldAndRemedy(t *testing.T) {
	appended := func(text string) string { return minimal + text }
	cases := map[string]struct{ text, want string }{
		"an empty file":       {"", "p.yaml:1: the file is empty: start with tier: ground or tier: flight"},
		"a broken file":       {"tier: [flight", "p.yaml:1: not YAML: did not find expected ',' or ']'"},
		"a list":              {"- tier", "p.yaml:1: is a list: expected a mapping"},
		"a second document":   {appended("---\ntier: ground\n"), "p.yaml:7: a second document: put each profile into a file of its own"},
		"invalid UTF-8":       {appended("# \xff"), "p.yaml:7: invalid UTF-8: save the file as UTF-8"},
		"a huge file":         {strings.Repeat("#", 1<<21), "p.yaml: the file is larger than 1048576 bytes: this is no profile"},
		"an unknown key":      {appended("ttl: {permitted: [15m]}\n"), "p.yaml:7: ttl.permitted is not a field of a profile: expected one of label, allowed, extension"},
		"a name of the code":  {appended("Name: x\n"), "p.yaml:7: Name is not a field of a profile"},
		"a duplicate key":     {appended("tier: ground\n"), "p.yaml:7: tier is given a second time, first in line 1: remove one"},
		"a merge key":         {appended("<<: {home: true}\n"), "p.yaml:7: has a merge key <<: write the values out"},
		"an alias":            {appended("ttl: &a {}\nimages: *a\n"), "p.yaml:8: images is an alias: write the value out"},
		"a number as a key":   {appended("tiers: {1: []}\n"), "p.yaml:7: tiers has the number 1 as a key: expected a name"},
		"a null":              {appended("ttl:\n"), "p.yaml:7: ttl has no value: give it one or remove the key"},
		"a null in a list":    {replace(t, "[tower]", "[~]"), "p.yaml:6: namespaces.portal[0] has no value"},
		"a number as string":  {replace(t, "Tower", "7"), "p.yaml:2: names.portal is the number 7 and not a string: put it in quotes"},
		"a bool as string":    {replace(t, "Tower", "true"), "p.yaml:2: names.portal is the bool true and not a string: put it in quotes"},
		"a string as bool":    {appended("home: 'yes'\n"), `p.yaml:7: home is "yes": expected true or false`},
		"a string as number":  {appended("federation: {lifetime: 600s}\n"), `p.yaml:7: federation.lifetime is "600s": expected a number`},
		"a string as list":    {replace(t, "[tower]", "tower"), `p.yaml:6: namespaces.portal is "tower": expected a list`},
		"a mapping as string": {replace(t, "Tower", "{}"), "p.yaml:2: names.portal is a mapping: expected a string"},
		"a tag of its own":    {replace(t, "Tower", "!x Tower"), `p.yaml:2: names.portal is !x "Tower" and not a string`},

		"no tier":               {replace(t, "tier: flight\n", ""), "p.yaml:1: tier is missing: expected ground or flight"},
		"a bad tier":            {replace(t, "flight", "prod"), `p.yaml:1: tier is "prod": expected ground or flight`},
		"a bad tier override":   {appended("tiers:\n  no-exec: [prod]\n"), `p.yaml:8: tiers.no-exec[0] is "prod": expected ground or flight`},
		"no portal name":        {replace(t, "portal: Tower, ", ""), "p.yaml:2: names.portal is missing: give the portal's display name"},
		"an empty prefix":       {replace(t, "prefix: tower-breakglass-", "prefix: ''"), "p.yaml:2: names.prefix is missing"},
		"an open prefix":        {replace(t, "tower-breakglass-}", "tower}"), `p.yaml:2: names.prefix is "tower": expected at most 40 lower-case letters, digits and hyphens, the last a hyphen`},
		"a bad label domain":    {replace(t, "portal: Tower", "portal: Tower, labelDomain: hangar_io"), `p.yaml:2: names.labelDomain is "hangar_io": expected a DNS name`},
		"a label domain as URL": {replace(t, "portal: Tower", "portal: Tower, labelDomain: 'https://hangar.io'"), "expected a DNS name such as hangar.io"},
		"one role for two":      {replace(t, "portal: Tower", "portal: Tower, roles: {live: x, binder: x}"), "names.roles has one name twice"},
		"a NUL":                 {replace(t, "Tower", `"To\0wer"`), `p.yaml:2: names.portal has a character that does not print: "To\x00wer"`},
		"a newline":             {replace(t, "Tower", `"To\nwer"`), "p.yaml:2: names.portal has a character that does not print"},
		"a line separator":      {replace(t, "Tower", `"To\u2028wer"`), `p.yaml:2: names.portal has a character that does not print: "To\u2028wer"`},
		"a space at the end":    {replace(t, "Tower", `"Tower "`), "p.yaml:2: names.portal begins or ends with a space"},
		"a very long value":     {replace(t, "Tower", strings.Repeat("x", 513)), "p.yaml:2: names.portal is 513 bytes long: at most 512 are allowed"},

		"no writer":                  {replace(t, "  writer: {serviceAccount: tower/tower-writer}\n", ""), "p.yaml:3: identities.writer names nobody: give user or serviceAccount"},
		"an empty writer":            {replace(t, "tower/tower-writer", "''"), "p.yaml:4: identities.writer names nobody: give user or serviceAccount"},
		"a writer of groups alone":   {replace(t, "serviceAccount: tower/tower-writer", "groups: [x]"), "p.yaml:4: identities.writer names nobody"},
		"a writer of two forms":      {replace(t, "{serviceAccount", "{user: x, serviceAccount"), "p.yaml:4: identities.writer names a user and a serviceAccount"},
		"an account without space":   {replace(t, "tower/tower-writer", "tower-writer"), `p.yaml:4: identities.writer.serviceAccount is "tower-writer": expected namespace/name`},
		"an account as user":         {replace(t, "example:reader", "system:serviceaccount:a:b"), "p.yaml:5: identities.reader.user is a ServiceAccount: write serviceAccount: namespace/name"},
		"a system user":              {replace(t, "example:reader", "system:admin"), "p.yaml:5: identities.reader.user is \"system:admin\", a name that Kubernetes keeps"},
		"groups of an account":       {replace(t, "tower/tower-writer", "tower/tower-writer, groups: [x]"), "p.yaml:4: identities.writer.groups is for users only"},
		"an empty group":             {replace(t, `user: "example:reader"`, "user: x, groups: ['']"), "p.yaml:5: identities.reader.groups[0] is empty"},
		"no portal at home":          {appended("home: true\n"), "p.yaml:3: identities.portal names nobody"},
		"an operator who writes":     {replace(t, "  reader:", "  operators: {users: ['system:serviceaccount:tower:tower-writer']}\n  reader:"), "p.yaml:5: identities.operators.users[0] is the writer"},
		"a writer who operates":      {strings.Replace(replace(t, "  reader:", "  operators: {groups: [ops]}\n  reader:"), "serviceAccount: tower/tower-writer", "user: w, groups: [ops]", 1), "p.yaml:4: identities.writer.groups[0] is a group of operators"},
		"a role of the cluster's":    {replace(t, "portal: Tower", "portal: Tower, roles: {live: admin}"), `p.yaml:2: names.roles.live is "admin", a name of the cluster's own, which would be overwritten: expected a name such as tower-breakglass-admin`},
		"the role of readers":        {replace(t, "portal: Tower", "portal: Tower, roles: {copy: view}"), `names.roles.copy is "view", a name of the cluster's own`},
		"the role of editors":        {replace(t, "portal: Tower", "portal: Tower, roles: {binder: edit}"), `names.roles.binder is "edit", a name of the cluster's own`},
		"a system role":              {replace(t, "portal: Tower", "portal: Tower, roles: {live: 'system:node'}"), `names.roles.live is "system:node": expected the name of an object`},
		"a binding of the cluster's": {replace(t, "portal: Tower", "portal: Tower, bindings: {binder: cluster-admin}"), `names.bindings.binder is "cluster-admin", a name of the cluster's own`},
		"all users operate":          {replace(t, "  reader:", "  operators: {groups: ['system:authenticated']}\n  reader:"), `p.yaml:5: identities.operators.groups[0] is "system:authenticated", which is no group of people: the policies would hold nobody; name the group`},
		"strangers operate":          {replace(t, "  reader:", "  operators: {groups: ['system:unauthenticated']}\n  reader:"), `identities.operators.groups[0] is "system:unauthenticated"`},
		"all accounts operate":       {replace(t, "  reader:", "  operators: {groups: ['system:serviceaccounts']}\n  reader:"), `identities.operators.groups[0] is "system:serviceaccounts"`},
		"a namespace operates":       {replace(t, "  reader:", "  operators: {groups: [ops, 'system:serviceaccounts:tower']}\n  reader:"), `p.yaml:5: identities.operators.groups[1] is "system:serviceaccounts:tower", a group of the writer's ServiceAccount`},
		"the federated operate":      {strings.Replace(appended("federation: {group: far}\n"), "  reader:", "  operators: {groups: [far]}\n  reader:", 1), "p.yaml:5: identities.operators.groups[0] is federation.group"},
		"a pipeline that writes":     {replace(t, "  reader:", "  pipeline: {serviceAccount: tower/tower-writer}\n  reader:"), "p.yaml:5: identities.pipeline is the writer: give the pipeline API an identity of its own"},
		"a reader who operates":      {replace(t, "  reader:", "  operators: {users: ['example:reader']}\n  reader:"), `p.yaml:5: identities.operators.users[0] is "example:reader", an identity of the portal's own`},
		"nobody operates":            {replace(t, "  reader:", "  operators: {users: ['system:anonymous']}\n  reader:"), `p.yaml:5: identities.operators.users[0] is "system:anonymous", which is whoever sends no credentials`},
		"a label of all namespaces":  {replace(t, "[tower]", "[tower], labels: {app: kubernetes.io/metadata.name}"), `p.yaml:6: namespaces.labels.app is "kubernetes.io/metadata.name", a label that other namespaces have too: expected a key of your own, such as hangar.io/app`},
		"a label of many namespaces": {replace(t, "[tower]", "[tower], labels: {app: pod-security.kubernetes.io/enforce}"), `namespaces.labels.app is "pod-security.kubernetes.io/enforce"`},
		"pipelines everywhere":       {replace(t, "[tower]", "[tower], pipeline: [ci, '*']"), `p.yaml:6: namespaces.pipeline[1] is "*", which covers all of namespaces.apps[0], "app-*", so that no session could start there: name the namespaces of the platform alone`},
		"pipelines in all apps":      {replace(t, "[tower]", "[tower], pipeline: ['a*-*']"), `namespaces.pipeline[0] is "a*-*", which covers all of namespaces.apps[0]`},
		"an app that is the portal":  {replace(t, "[tower]", "[tower], apps: ['app-*', tower]"), `namespaces.portal[0] is "tower", which covers all of namespaces.apps[1], "tower"`},
		"an app that is the sidecar": {replace(t, "[tower]", "[tower], apps: [holdshort]"), `namespaces.sidecar[0] is "holdshort", which covers all of namespaces.apps[0]`},
		"the manager's label as TTL": {appended("ttl: {label: app.kubernetes.io/managed-by}\n"), `p.yaml:7: ttl.label is "app.kubernetes.io/managed-by", which break-glass objects carry for something else: expected a key such as cleanup.kyverno.io/ttl`},
		"the copy label as TTL":      {appended("ttl: {label: hangar.io/breakglass-copy}\n"), `ttl.label is "hangar.io/breakglass-copy"`},
		"an empty closed world":      {appended("closedWorld: {allow: []}\n"), "p.yaml:7: closedWorld.allow is empty: leave it out for what sessions need"},
		"two actors at home":         {strings.Replace(appended("home: true\nfederation:\n  accounts: [tower/portal, tower/a, tower/b]\n"), "  reader:", "  portal: {serviceAccount: tower/portal}\n  reader:", 1), "p.yaml:10: federation.accounts names tower/a and tower/b besides the portal: expected one"},
		"no portal namespace":        {replace(t, "[tower]", "[]"), "p.yaml:6: namespaces.portal is missing"},
		"a pattern for the portal":   {replace(t, "[tower]", "['tower-*']"), `p.yaml:6: namespaces.portal[0] is "tower-*": expected a namespace`},
		"a bad pattern":              {replace(t, "[tower]", "[tower], pipeline: ['^app-.*$']"), "p.yaml:6: namespaces.pipeline[0]"},
		"a bad label key":            {replace(t, "[tower]", "[tower], labels: {app: 'a b'}"), `p.yaml:6: namespaces.labels.app is "a b": expected a label key`},
		"hours as TTL":               {appended("ttl:\n  allowed: [30m, 1h]\n"), `p.yaml:8: ttl.allowed[1] is "1h": expected whole minutes from 1m to 1440m`},
		"seconds as TTL":             {appended("ttl: {allowed: [75m0s]}\n"), `ttl.allowed[0] is "75m0s": expected whole minutes`},
		"an empty TTL":               {appended("ttl: {allowed: ['']}\n"), `ttl.allowed[0] is "": expected whole minutes`},
		"zero as TTL":                {appended("ttl: {allowed: [0m]}\n"), `ttl.allowed[0] is "0m"`},
		"two days as TTL":            {appended("ttl: {allowed: [2880m]}\n"), `ttl.allowed[0] is "2880m"`},
		"TTLs out of order":          {appended("ttl: {allowed: [30m, 15m]}\n"), `ttl.allowed[1] is "15m": expected a longer time than the one before it`},
		"a TTL twice":                {appended("ttl: {allowed: [30m, 30m]}\n"), "expected a longer time than the one before it"},
		"a bad extension":            {appended("ttl: {extension: 1h}\n"), `ttl.extension is "1h"`},
		"a tag for a digest":         {appended("images: {repository: r.example.com/a, digests: [v1.2]}\n"), `p.yaml:7: images.digests[0] is "v1.2", a tag and not a digest`},
		"a reference for a digest":   {appended("images: {repository: r.example.com/a, digests: ['r.example.com/a@sha256:00']}\n"), "expected the part behind the @ alone"},
		"a short digest":             {appended("images: {repository: r.example.com/a, digests: ['sha256:00']}\n"), "expected sha256: and 64 lower-case hexadecimal digits"},
		"a repository with a tag":    {appended("images: {repository: 'r.example.com/a:v1'}\n"), `images.repository is "r.example.com/a:v1": expected a registry and a path without a tag`},
		"a repository with a digest": {appended("images: {repository: 'r.example.com/a@sha256:00'}\n"), "put the digest into images.digests"},
		"digests of nothing":         {appended("images: {digests: ['sha256:" + strings.Repeat("0", 64) + "']}\n"), "images.repository is missing"},
		"a plain issuer":             {appended("signer: {issuer: 'http://x.example.com', subject: y}\n"), "signer.issuer is \"http://x.example.com\": expected an https URL"},
		"a signer without subject":   {appended("signer: {issuer: 'https://x.example.com'}\n"), "signer has issuer or subject alone"},
		"a catalog that is no name":  {appended("pipeline: {catalog: A}\n"), `pipeline.catalog is "A": expected a namespace`},
		"an account with a slash":    {appended("pipeline: {serviceAccount: a/b}\n"), `pipeline.serviceAccount is "a/b"`},
		"an unknown identity":        {appended("closedWorld: {allow: [{identity: root, operations: [CREATE], resources: [pods]}]}\n"), `closedWorld.allow[0].identity is "root": expected one of writer, reader, group`},
		"a verb for an operation":    {appended("closedWorld: {allow: [{identity: writer, operations: [patch], resources: [pods]}]}\n"), `operations[0] is "patch": expected one of CREATE, UPDATE, DELETE, CONNECT`},
		"an allowance of nothing":    {appended("closedWorld: {allow: [{identity: writer, operations: [CREATE]}]}\n"), "closedWorld.allow[0].resources is missing: list at least one"},
		"a kind for a resource":      {appended("closedWorld: {allow: [{identity: writer, operations: [CREATE], resources: [Pod]}]}\n"), `resources[0] is "Pod": expected a plural`},
		"a path that climbs":         {appended("closedWorld: {proxies: [{service: a/b, port: http, path: /v1/../v2}]}\n"), `closedWorld.proxies[0].path is "/v1/../v2": expected a plain path`},
		"an encoded path":            {appended("closedWorld: {proxies: [{service: a/b, port: http, path: /v1%2f}]}\n"), "expected a plain path"},
		"a proxy without a port":     {appended("closedWorld: {proxies: [{service: a/b, path: /v1/}]}\n"), "closedWorld.proxies[0].port is empty"},
		"a gap without a reason":     {appended("accepted: [{identity: writer, operation: CREATE, resource: pods}]\n"), "accepted[0].reason is missing: say why the gap is accepted"},
		"a lifetime below the least": {appended("federation: {lifetime: 60}\n"), "federation.lifetime is 60: expected 600 to 3600 seconds"},
		"a target twice":             {appended("federation:\n  targets:\n  - {name: a, server: 'https://a.example.com', audience: a}\n  - {name: a, server: 'https://b.example.com', audience: b}\n"), `p.yaml:10: federation.targets[1].name is "a" for the second time`},
		"a target without audience":  {appended("federation: {targets: [{name: a, server: 'https://a.example.com'}]}\n"), "federation.targets[0].audience is missing"},
		"an action on nothing":       {appended("federation: {actions: [{name: a, target: b, method: POST, path: /x}]}\n"), `federation.actions[0].target is "b"`},
		"an action that reads":       {appended("federation: {targets: [{name: a, server: 'https://a.example.com', audience: a}], actions: [{name: a, target: a, method: GET, path: /x}]}\n"), `method is "GET": expected one of POST, PUT, PATCH, DELETE`},
		"a store of another kind":    {appended("recording: {store: 'https://x.example.com'}\n"), "recording.store is \"https://x.example.com\": expected dir:///PATH or s3://BUCKET"},
		"a retention of nothing":     {appended("recording: {retentionDays: -1}\n"), "recording.retentionDays is -1: expected 1 to 3650"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := profile.Parse("p.yaml", []byte(c.text))
			if err == nil {
				t.Fatal("is accepted")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("have %s\nwant %s", err, c.want)
			}
			var field *profile.FieldError
			if !errors.As(err, &field) || field.File != "p.yaml" {
				t.Errorf("%v is no FieldError of the file", err)
			}
		})
	}
}

func TestPipelinesMayRunInSomeNamespacesOfApps(t *testing.T) {
	for _, namespaces := range []string{"pipeline: ['app-*-cicd']", "pipeline: [app-ci]", "apps: ['*'], pipeline: ['ci-*']", "apps: ['team-*-app'], pipeline: ['team-*-ci']"} {
		if _, err := profile.Parse("p.yaml", []byte(replace(t, "[tower]", "[tower], "+namespaces))); err != nil {
			t.Errorf("%s: %v", namespaces, err)
		}
	}
}

func TestAllThatIsWrongIsReportedAtOnceInTheOrderOfLines(t *testing.T) {
	_, err := profile.Parse("p.yaml", []byte("tier: prod\nttl: {allowed: [1h]}\nnames: {portal: Tower, prefix: x}\n"))
	lines := strings.Split(err.Error(), "\n")
	want := []string{"p.yaml:1: tier", "p.yaml:1: identities.writer", "p.yaml:1: identities.reader", "p.yaml:1: namespaces.portal", "p.yaml:2: ttl.allowed[0]", "p.yaml:3: names.prefix"}
	if len(lines) != len(want) {
		t.Fatalf("have %d errors, want %d:\n%v", len(lines), len(want), err)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("error %d is %q, want %q", i, lines[i], want[i])
		}
	}
}

// FuzzParse holds the parser to three promises: it returns, its errors name the file, and what it
// accepts is complete, so that parsing has nothing left to fill in or refuse.
func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	for _, s := range []string{"", "tier: [", "a: &a [*a]", "tiers: {\"\\0\": []}", "? {a: b}\n: c", "\xff", "%YAML 1.1\n--- !!map {}", "names: {prefix: !!binary aGk=}", "!a%0Ab", "tier: !!int \"1\\n2\"", "tier: !!bool \"a\\nb\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := profile.Parse("p.yaml", data)
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				if !strings.HasPrefix(line, "p.yaml:") {
					t.Fatalf("an error without its place: %q", line)
				}
			}
			return
		}
		again, err := p.Complete()
		if err != nil || again.Hash() != p.Hash() {
			t.Fatalf("accepted but not complete: %v", err)
		}
	})
}
