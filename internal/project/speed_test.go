package project

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Budgets of the CPU time of whole runs of policygen. docs/performance.md tells where they come
// from.
const (
	startBudget = 200 * time.Millisecond
	filesBudget = time.Second
	podsBudget  = 3 * time.Second
)

// BenchmarkStart is the whole program with as little to do as there is.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "policies.yaml"), policiesFor(1))
	write(b, filepath.Join(dir, "pod.yaml"), podNamed("web", "registry.example.com/web"))
	measure(b, startBudget, "eval", "-f", filepath.Join(dir, "policies.yaml"), filepath.Join(dir, "pod.yaml"))
}

// BenchmarkManyFiles runs 2,000 fixture files of one case each, over ten policies.
func BenchmarkManyFiles(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "policies.yaml"), policiesFor(10))
	cases := filepath.Join(dir, "cases")
	if err := os.Mkdir(cases, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 2000 {
		image, expect := "registry.example.com/web", "allow"
		if i%2 == 1 {
			image, expect = "example.org/web", "{deny: 'validations[0]'}"
		}
		write(b, filepath.Join(cases, fmt.Sprintf("case-%04d.yaml", i)), fmt.Sprintf(
			"policy: images-%d\ncases:\n- name: case %d\n  operation: CREATE\n  object:%s\n  expect: %s\n",
			i%10, i, strings.ReplaceAll("\n"+podNamed("web", image), "\n", "\n    "), expect))
	}
	measure(b, filesBudget, "test", "-f", filepath.Join(dir, "policies.yaml"), cases)
}

// BenchmarkManyPods judges 1,000 pods by 20 policies each.
func BenchmarkManyPods(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "policies.yaml"), policiesFor(20))
	var pods []string
	for i := range 1000 {
		pods = append(pods, podNamed(fmt.Sprintf("web-%d", i), "registry.example.com/web"))
	}
	write(b, filepath.Join(dir, "pods.yaml"), strings.Join(pods, "---\n"))
	measure(b, podsBudget, "eval", "-f", filepath.Join(dir, "policies.yaml"), filepath.Join(dir, "pods.yaml"))
}

// measure reports the CPU time of a run, in seconds and as a part of its budget.
func measure(b *testing.B, budget time.Duration, args ...string) {
	b.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	program := filepath.Join(buildPolicygen(b, root), "policygen")
	var spent time.Duration
	var most int64
	for b.Loop() {
		command := exec.Command(program, args...)
		if output, err := command.CombinedOutput(); err != nil {
			b.Fatalf("policygen %s: %v\n%s", strings.Join(args, " "), err, output[max(0, len(output)-2000):])
		}
		spent += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
		most = max(most, peakMemory(command.ProcessState))
	}
	cpu := spent.Seconds() / float64(b.N)
	b.ReportMetric(cpu, "cpu-s/op")
	b.ReportMetric(cpu/budget.Seconds(), "of-budget")
	b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
}

func policiesFor(n int) string {
	const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: images-%[1]d}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  matchConditions:
  - name: not-system
    expression: "!(has(request.userInfo.username) && request.userInfo.username.startsWith('system:'))"
  variables:
  - name: containers
    expression: "object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])"
  validations:
  - expression: variables.containers.all(c, c.image.startsWith('registry.example.com/'))
    message: foreign image in %[1]d
  - expression: >-
      variables.containers.all(c, !has(c.securityContext) || !has(c.securityContext.privileged) ||
      !c.securityContext.privileged)
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: images-%[1]d}
spec: {policyName: images-%[1]d, validationActions: [Deny]}
---
`
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, policy, i)
	}
	return all.String()
}

func podNamed(name, image string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, labels: {app: web}}
spec:
  initContainers:
  - {name: setup, image: %s}
  containers:
  - name: web
    image: %s
    ports: [{containerPort: 8080}]
    resources: {requests: {cpu: 100m, memory: 64Mi}}
`, name, image, image)
}

func write(b *testing.B, path, content string) {
	b.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}
