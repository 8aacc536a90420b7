package policies_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

const debugContainer = "breakglass-debug-container"

// TestTheCommandsThatExplainPrintsAreAdmitted makes of the printed text the containers that kubectl
// makes of it. They are those of two cases of the fixture, which are admitted.
func TestTheCommandsThatExplainPrintsAreAdmitted(t *testing.T) {
	for _, p := range allProfiles(t) {
		x := prove(t, p)
		e, err := policies.Explain(debugContainer, p)
		if err != nil {
			t.Fatal(err)
		}
		commands := debugCommands(t, e.Example)
		for i, name := range []string{"the command that explain prints is admitted", "the command that explain prints for processes is admitted"} {
			c := x.named(t, name)
			printed := kubectlDebug(t, commands[i], e.Example)
			inFixture := ephemeralContainers(c)[0].(map[string]any)
			printed["name"] = inFixture["name"] // drawn at random, or the session's
			if !reflect.DeepEqual(printed, inFixture) {
				t.Errorf("%s: explain prints\n%v\nthe case %q has\n%v", p.Name, printed, name, inFixture)
			}
			if r := fixture.Run(t.Context(), x.set, c); !r.OK || c.Expect.Outcome != fixture.Allow {
				t.Errorf("%s: %s: %s", p.Name, name, r.Actual)
			}
		}
	}
}

// debugCommands are the words of the commands kubectl debug of a text.
func debugCommands(t *testing.T, text string) [][]string {
	t.Helper()
	var found [][]string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if strings.HasPrefix(line, "kubectl debug ") {
			found = append(found, strings.Fields(line))
		}
	}
	if len(found) != 2 {
		t.Fatalf("%d commands in\n%s", len(found), text)
	}
	return found
}

var heredoc = regexp.MustCompile(`(?s)cat > (\S+) <<'EOF'\n(.*?)\nEOF\n`)

// kubectlDebug is the ephemeral container of a command, without its name: kubectl
// pkg/cmd/debug/debug.go, generateDebugContainer, and profiles.go, restrictedProfile. A flag that it
// does not know fails the test.
func kubectlDebug(t *testing.T, words []string, text string) map[string]any {
	t.Helper()
	file := heredoc.FindStringSubmatch(text)
	if file == nil {
		t.Fatalf("no custom profile in\n%s", text)
	}
	yes, no := true, false
	c := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot: &yes, AllowPrivilegeEscalation: &no,
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}}
	for i := 2; i < len(words); i++ {
		flag, value, _ := strings.Cut(words[i], "=")
		switch flag {
		case "-it":
			c.Stdin, c.TTY = true, true
		case "POD":
		case "-n", "-c":
			i++
		case "--image":
			c.Image = value
		case "--target":
			c.TargetContainerName = strings.Replace(value, "CONTAINER", "web", 1)
		case "--profile":
			if value != "restricted" {
				t.Errorf("the profile is %s", value)
			}
		case "--custom":
			if value != file[1] {
				t.Errorf("the custom profile is %s, the file %s", value, file[1])
			}
		case "--":
			c.Command = words[i+1:]
			i = len(words)
		default:
			t.Errorf("what does %s do?", words[i])
		}
	}
	before, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, []byte(file[2]), corev1.Container{})
	if err != nil {
		t.Fatal(err)
	}
	var merged corev1.EphemeralContainer
	if err := json.Unmarshal(after, &merged); err != nil {
		t.Fatal(err)
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&merged)
	if err != nil {
		t.Fatal(err)
	}
	delete(o, "resources") // an empty struct that is always written
	return o
}

func ephemeralContainers(c fixture.Case) []any {
	return c.Request.Object["spec"].(map[string]any)["ephemeralContainers"].([]any)
}

// named is the case of that name about debug containers.
func (x proof) named(t *testing.T, name string) fixture.Case {
	t.Helper()
	i := slices.IndexFunc(x.cases[debugContainer], func(c fixture.Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no case %q", name)
	}
	return x.cases[debugContainer][i]
}

func TestWithoutAListOfImagesNoDebugContainerIsAdmitted(t *testing.T) {
	for _, p := range profile.Builtin() {
		cases := prove(t, p)
		p.Images = profile.Images{}
		m := render(t, p)
		x := proof{p, compiled(t, m), cases.cases}
		for _, name := range []string{"a debug container is admitted", "a copy with a debug container is admitted"} {
			c := x.named(t, name)
			c.Expect = fixture.Expect{Outcome: fixture.Deny, Names: []string{"image"}}
			if r := fixture.Run(t.Context(), x.set, c); !r.OK {
				t.Errorf("%s: %s: %s", p.Name, name, r.Actual)
			}
		}
		if e, err := policies.Explain(debugContainer, p); err != nil || !strings.Contains(e.Example, "--image=IMAGE ") {
			t.Errorf("%s, %v", e.Example, err)
		}
	}
}

// TestWhatAnAPIServerRefusesItselfIsRefusedAllTheSame sends requests that today's API server does
// not let through to policies: some never, some unless a feature gate is on.
func TestWhatAnAPIServerRefusesItselfIsRefusedAllTheSame(t *testing.T) {
	type object = map[string]any
	container := func(c fixture.Case, i int) object { return ephemeralContainers(c)[i].(object) }
	context := func(c fixture.Case) object { return container(c, 0)["securityContext"].(object) }
	cases := map[string]struct {
		base   string
		change func(fixture.Case)
		want   []string
	}{
		"an old container that is changed is a new one": {"an old container beside the new one is not judged again",
			func(c fixture.Case) { container(c, 0)["command"] = []any{"sh"} },
			[]string{"image", "non-root", "group", "no-escalation", "read-only-root", "capabilities", "process-access", "name"}},
		"a name that ends where the id of an empty annotation begins": {"an approved session sees the processes of a container",
			func(c fixture.Case) {
				c.Request.OldObject["metadata"].(object)["annotations"] = object{"hangar.io/breakglass-process-access": ""}
				container(c, 0)["name"] = "debug-"
			}, []string{"process-access"}},
		"a privileged container that says that it may not escalate": {"a debug container is admitted",
			func(c fixture.Case) { context(c)["privileged"] = true }, []string{"unprivileged"}},
		"a variable from a file": {"a debug container is admitted",
			func(c fixture.Case) {
				container(c, 0)["env"] = []any{object{"name": "A", "valueFrom": object{"fileKeyRef": object{"volumeName": "scratch", "path": "env", "key": "A"}}}}
			}, []string{"no-secret-env"}},
		"a certificate of the pod": {"a debug container is admitted",
			func(c fixture.Case) {
				spec := c.Request.OldObject["spec"].(object)
				spec["volumes"] = []any{object{"name": "key", "projected": object{"sources": []any{object{"podCertificate": object{"signerName": "example.com/pods", "keyType": "ED25519", "credentialBundlePath": "pod.pem"}}}}}}
				container(c, 0)["volumeMounts"] = []any{object{"name": "key", "mountPath": "/pod-volumes/key", "readOnly": true}}
			}, []string{"no-token-mount"}},
		"a part of a volume": {"a debug container is admitted",
			func(c fixture.Case) {
				container(c, 0)["volumeMounts"] = []any{object{"name": "data", "mountPath": "/pod-volumes/data", "readOnly": true, "subPath": "x"}}
			}, []string{"read-only-mounts"}},
	}
	for _, p := range profile.Builtin() {
		x := prove(t, p)
		for name, tt := range cases {
			c := x.named(t, tt.base)
			c.Request.Object = runtime.DeepCopyJSON(c.Request.Object)
			c.Request.OldObject = runtime.DeepCopyJSON(c.Request.OldObject)
			tt.change(c)
			c.Expect = fixture.Expect{Outcome: fixture.Deny, Names: slices.Sorted(slices.Values(tt.want))}
			if r := fixture.Run(t.Context(), x.set, c); !r.OK {
				t.Errorf("%s: %s: %s", p.Name, name, r.Actual)
			}
		}
	}
}

// TestWithoutDigestsTheMessageNamesNone looks at what a person reads on a cluster that pins no image.
func TestWithoutDigestsTheMessageNamesNone(t *testing.T) {
	p := profile.Builtin()[0]
	p.Images.Digests = nil
	e, err := policies.Explain(debugContainer, p)
	if err != nil {
		t.Fatal(err)
	}
	const want = "A debug container runs one of the pinned images, spelled exactly so: none."
	if got := e.Validations[0]; got.Name != "image" || got.Message != want {
		t.Errorf("%s: %q, want %q", got.Name, got.Message, want)
	}
}

// TestALargePodStaysFarFromTheCostLimits asks about a copy of fifty containers with twenty volumes
// each, and three debug containers that mount all of a hundred volumes.
func TestALargePodStaysFarFromTheCostLimits(t *testing.T) {
	type object = map[string]any
	mounts := func(from, to int, below string) []any {
		list := []any{object{"name": "no-token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}}
		for i := from; i < to; i++ {
			list = append(list, object{"name": fmt.Sprintf("volume-%d", i), "mountPath": fmt.Sprintf("%s/volume-%d", below, i), "readOnly": true})
		}
		return list
	}
	x := prove(t, profile.Builtin()[1])
	c := x.named(t, "a copy with a debug container is admitted")
	spec := runtime.DeepCopyJSON(c.Request.Object)["spec"].(object)
	volumes := spec["volumes"].([]any)
	for i := range 100 {
		volumes = append(volumes, object{"name": fmt.Sprintf("volume-%d", i), "projected": object{"sources": []any{object{"secret": object{"name": "a"}}}}})
	}
	debug := spec["containers"].([]any)[1].(object)
	var containers []any
	for i := range 50 {
		containers = append(containers, object{"name": fmt.Sprintf("app-%d", i), "image": "w", "volumeMounts": mounts(i, i+20, "/mnt")[1:]})
	}
	for i := range 3 {
		one := runtime.DeepCopyJSON(debug)
		one["name"], one["volumeMounts"] = fmt.Sprintf("debug-%d", i), mounts(0, 100, "/pod-volumes")
		containers = append(containers, one)
	}
	spec["volumes"], spec["containers"] = volumes, containers
	c.Request.Object = object{"metadata": c.Request.Object["metadata"], "spec": spec}
	r := c.Request
	if err := harness.Complete(&r, c.Cluster, c.Now); err != nil {
		t.Fatal(err)
	}
	prepared, err := harness.Prepare(r, c.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	v := x.set.Only(debugContainer).Evaluate(t.Context(), prepared, harness.Options{Trace: true})
	if v.Decision != harness.Allowed || len(v.Trace) != 1 {
		t.Fatalf("%v, %d traces: %s", v.Decision, len(v.Trace), v.Message)
	}
	total := uint64(0)
	for _, e := range v.Trace[0].Expressions {
		total += e.Cost
		if e.Cost > e.Limit/20 {
			t.Errorf("%s costs %d of %d", e.Name, e.Cost, e.Limit)
		}
	}
	if total > celconfig.RuntimeCELCostBudget/20 || total < 1000 {
		t.Errorf("all expressions cost %d of %d", total, celconfig.RuntimeCELCostBudget)
	}
	t.Logf("%d of %d", total, celconfig.RuntimeCELCostBudget)
}
