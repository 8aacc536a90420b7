package rights_test

import (
	"slices"
	"testing"

	"hangar.io/holdshort/e2e/rights"
	"hangar.io/holdshort/policies/profile"
)

// named are the attacks that any rule set of this kind has to withstand, by the cases that are
// them. Cases can be added without an entry; none of these may go.
var named = []struct {
	attack, policy, name string
	profile              string // the one that has the case; empty: both
}{
	{"deletecollection", "writer-closed-world", "the deletion of a collection is refused", ""},
	{"deletecollection of pods", "breakglass-pod-delete", "a pod in a collection is refused", ""},
	{"generateName", "breakglass-rolebinding", "a generated name without the prefix is refused", ""},
	{"generateName of a copy", "breakglass-debug-container", "a copy under a generated name is judged", ""},
	{"an update that swaps a subject", "writer-closed-world", "swapping the subject of a grant is refused", ""},
	{"ServiceAccount and User of one name", "breakglass-rolebinding", "a ServiceAccount of the name of a writer who is a user is refused", "ground"},
	{"User and ServiceAccount of one name", "breakglass-rolebinding", "a user of the name of a writer who is a ServiceAccount is refused", "flight"},
	{"an approver equal up to case", "breakglass-rolebinding", "an approver who differs only in upper case is refused", "flight"},
	{"a digest under another repository", "breakglass-debug-container", "the digest under another repository is refused", ""},
	{"capabilities spelled all", "breakglass-debug-container", "all in small letters is refused", ""},
	{"init-container mounts", "breakglass-debug-container", "a writable mount of an init container is refused", ""},
	{"a debug container beside an old one", "breakglass-debug-container", "the new container beside an old one is judged", ""},
	{"an annotation removed in the same update", "breakglass-pod-annotate", "an annotation removed while the one of the session is added is refused", ""},
	{"a label removed in the same update", "breakglass-pod-annotate", "a label removed while the annotation is added is refused", ""},
	{"empty text against an absent field", "breakglass-pod-annotate", "a removed label without a value is refused", ""},
	{"envFrom a Secret", "breakglass-debug-container", "the variables of a Secret are refused", ""},
	{"a raw block device", "breakglass-debug-container", "a raw block device is refused", ""},
	{"mounting over /bin", "breakglass-debug-container", "a mount over /bin is refused", ""},
	{"a copy with the pipeline's account", "breakglass-copy-pod", "a copy that runs as a pipeline's ServiceAccount is refused", ""},
	{"a copy with the app's labels", "breakglass-copy-pod", "the app's labels are refused", ""},
	{"a copy on a node of the control plane", "breakglass-copy-pod", "a toleration of the control plane is refused", ""},
	{"the status subresource", "writer-closed-world", "the status of a pod is refused", ""},
	{"the resize subresource", "writer-closed-world", "a resize of a pod is refused", ""},
	{"eviction", "writer-closed-world", "an eviction is refused", ""},
	{"binding", "writer-closed-world", "binding a pod to a node is refused", ""},
	{"impersonation by groups", "writer-closed-world", "a ConfigMap by somebody who only has the federated group is refused", ""},
	{"a token for a year", "token-request", "a token for a year is refused", "flight"},
	{"a service proxy with ..", "service-proxy", "a way up is refused", ""},
	{"a service proxy with %2f", "service-proxy", "a slash that is encoded twice is refused", ""},
}

// haveNamed checks that the attacks have all that are named.
func haveNamed(t *testing.T, x profile.Profile, all []*rights.Attack) {
	t.Helper()
	for _, n := range named {
		if n.profile != "" && n.profile != x.Name {
			continue
		}
		if !slices.ContainsFunc(all, func(a *rights.Attack) bool { return a.Policy == n.policy && a.Name == n.name }) {
			t.Errorf("no attack is %q: the case %q of %s", n.attack, n.name, n.policy)
		}
	}
}
