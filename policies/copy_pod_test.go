package policies_test

import (
	"strings"
	"testing"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies/profile"
)

// unlikeTheExamples has what no built-in Profile has: identities outside of the platform's namespaces,
// ServiceAccounts that are operators, and copies that may have a token.
const unlikeTheExamples = `
tier: flight
names: {portal: Tower, prefix: tower-breakglass-}
identities:
  writer: {serviceAccount: app-sky-dev/writer}
  reader: {serviceAccount: app-sky-dev/reader}
  portal: {serviceAccount: app-sky-dev/backend}
  pipeline: {serviceAccount: app-sky-dev/pipelines}
  operators: {users: ["system:serviceaccount:app-sky-dev:deployer"], groups: ["system:serviceaccounts:app-ops"]}
namespaces: {portal: [tower]}
pipeline: {serviceAccount: runner}
copy: {mountToken: true}
`

func TestACopyActsAsNobodyThatTheProfileKnows(t *testing.T) {
	const cases = `
policy: breakglass-copy-pod
namespaces: {app-sky-dev: {hangar.io/app: sky}, app-ops: {hangar.io/app: ops}}
bases:
  copy:
    operation: CREATE
    user: writer
    namespace: app-sky-dev
    object:
      apiVersion: v1
      kind: Pod
      metadata: {name: copy, labels: {hangar.io/breakglass-copy: "true"}}
      spec: {containers: [{name: web, image: "registry.example.com/sky/web:1"}]}
cases:
- {name: an app's, base: copy, patch: {object: {spec: {serviceAccountName: web}}}, expect: allow}
- {name: the default one, base: copy, expect: allow}
- {name: the writer's name elsewhere, base: copy, namespace: app-sky-prod, patch: {object: {spec: {serviceAccountName: writer}}}, expect: allow}
- {name: the writer, base: copy, patch: {object: {spec: {serviceAccountName: writer}}}, expect: {deny: service-account}}
- {name: the reader, base: copy, patch: {object: {spec: {serviceAccountName: reader}}}, expect: {deny: service-account}}
- {name: the portal, base: copy, patch: {object: {spec: {serviceAccountName: backend}}}, expect: {deny: service-account}}
- {name: the pipeline API, base: copy, patch: {object: {spec: {serviceAccountName: pipelines}}}, expect: {deny: service-account}}
- {name: what pipelines run as, base: copy, namespace: app-sky-prod, patch: {object: {spec: {serviceAccountName: runner}}}, expect: {deny: service-account}}
- {name: an operator, base: copy, patch: {object: {spec: {serviceAccountName: deployer}}}, expect: {deny: service-account}}
- {name: a member of a group of operators, base: copy, namespace: app-ops, expect: {deny: service-account}}
- {name: by the older field, base: copy, patch: {object: {spec: {serviceAccount: deployer}}}, expect: {deny: service-account}}

# The Profile lets copies have the token, and no other.
- {name: a token, base: copy, patch: {object: {spec: {automountServiceAccountToken: true}}}, expect: allow}
- name: the token that the API server adds
  base: copy
  patch: {object: {spec: {volumes: [{name: kube-api-access-x2x4x, projected: {sources: [{serviceAccountToken: {path: token, expirationSeconds: 3607}}]}}]}}}
  expect: allow
- name: a token for somebody else
  base: copy
  patch: {object: {spec: {volumes: [{name: t, projected: {sources: [{serviceAccountToken: {path: token, audience: vault}}]}}]}}}
  expect: {deny: service-account}
- name: a certificate of the pod
  base: copy
  patch: {object: {spec: {volumes: [{name: t, projected: {sources: [{podCertificate: {signerName: example.com/pods, keyType: ED25519}}]}}]}}}
  expect: {deny: service-account}

# The API refuses these as well: the first without the node's network, the second for its seconds.
- {name: a process of a Windows node, base: copy, patch: {object: {spec: {securityContext: {windowsOptions: {hostProcess: true}}}}}, expect: {deny: baseline}}
- {name: another effect, base: copy, patch: {object: {spec: {tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoSchedule, tolerationSeconds: 300}]}}}, expect: {deny: placement}}

# A priority class of the cluster's own is no system priority.
- {name: a priority class, base: copy, patch: {object: {spec: {priorityClassName: apps, priority: 1000}}}, expect: allow}
`
	p, err := profile.Parse("unlike.yaml", []byte(unlikeTheExamples))
	if err != nil {
		t.Fatal(err)
	}
	m := render(t, p)
	set, err := harness.Compile(m.Policies, m.Bindings)
	if err != nil {
		t.Fatal(err)
	}
	file, err := fixture.Load("copies.yaml", []byte(strings.TrimSpace(cases)))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := file.Resolve(fixture.Inputs{Now: now, Users: p.User, Profile: p.Value})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range resolved {
		if r := fixture.Run(t.Context(), set, c); !r.OK {
			t.Errorf("%d: %s: expected %s, have %s\n%s", c.Line, c.Name, r.Expected, r.Actual, r.Decisive)
		}
	}
}
