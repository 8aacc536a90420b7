package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Reference times of the same work, in CPU seconds, from the project's requirements: the fastest
// public tool on 2,000 single-policy cases, and a public CLI on 20 policies and 1,000 pods.
const (
	casesReference = 2.0
	podsReference  = 108.0
)

// BenchmarkTestCases is `policygen test` on 2,000 single-policy cases in 2,000 files over ten
// policies. The aim is half of the reference.
func BenchmarkTestCases(b *testing.B) {
	dir := b.TempDir()
	writePolicies(b, dir, 10)
	for i := range 2000 {
		write(b, filepath.Join(dir, "cases", fmt.Sprintf("case-%04d.yaml", i)), fmt.Sprintf(
			"policy: policy-%02d\ncases:\n- name: case %d is admitted\n  operation: CREATE\n  object:\n%s  expect: allow\n",
			i%10, i, strings.ReplaceAll("    "+strings.TrimSpace(pod(i)), "\n", "\n    ")+"\n"))
	}
	measure(b, casesReference, "2000 cases, 0 failed", "test", "-f", filepath.Join(dir, "policies"), filepath.Join(dir, "cases"))
}

// BenchmarkEvalPods is `policygen eval` of 1,000 pods in one file under 20 policies. The aim is 3
// CPU seconds.
func BenchmarkEvalPods(b *testing.B) {
	dir := b.TempDir()
	writePolicies(b, dir, 20)
	var pods strings.Builder
	for i := range 1000 {
		pods.WriteString(pod(i) + "---\n")
	}
	write(b, filepath.Join(dir, "pods.yaml"), pods.String())
	measure(b, podsReference, "1000 verdicts: 1000 allowed", "eval", "-f", filepath.Join(dir, "policies"), filepath.Join(dir, "pods.yaml"))
}

// measure runs the program in process; what the libraries do before main is not in it.
func measure(b *testing.B, reference float64, want string, args ...string) {
	for b.Loop() {
		var stdout, stderr bytes.Buffer
		before := cpuTime()
		status := run(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
		spent := (cpuTime() - before).Seconds()
		if status != 0 || !strings.Contains(stdout.String(), want) {
			b.Fatalf("exit status %d, want the summary %q\n%s%s", status, want, stdout.String(), stderr.String())
		}
		b.ReportMetric(spent, "cpu-s/op")
		b.ReportMetric(spent/reference, "of-reference")
	}
}

// cpuTime is what the process has used so far, of all its threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func writePolicies(b *testing.B, dir string, n int) {
	rules := []string{
		"has(object.metadata.labels) && 'owner' in object.metadata.labels",
		"variables.containers.all(c, c.image.startsWith('registry.example.com/'))",
		"!has(object.spec.hostNetwork) || !object.spec.hostNetwork",
		"variables.containers.all(c, has(c.resources.limits) && 'memory' in c.resources.limits)",
		"object.metadata.name.matches('^[a-z0-9-]+$')",
	}
	for i := range n {
		write(b, filepath.Join(dir, "policies", fmt.Sprintf("policy-%02d.yaml", i)), fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: policy-%02[1]d}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  matchConditions:
  - {name: not-system, expression: "request.namespace != 'kube-system'"}
  variables:
  - {name: containers, expression: object.spec.containers}
  validations:
  - {expression: "%[2]s", message: first}
  - {expression: "%[3]s", message: second}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: policy-%02[1]d-binding}
spec: {policyName: policy-%02[1]d, validationActions: [Deny]}
`, i, rules[i%len(rules)], rules[(i+2)%len(rules)]))
	}
}

func pod(i int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: web-%[1]d, namespace: shop, labels: {owner: ann, app: web}}
spec:
  containers:
  - name: app
    image: registry.example.com/app:%[1]d
    ports: [{containerPort: 8080}]
    env: [{name: MODE, value: fast}]
    resources: {limits: {memory: 64Mi, cpu: "1"}}
`, i)
}

func write(b *testing.B, path, text string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		b.Fatal(err)
	}
}
