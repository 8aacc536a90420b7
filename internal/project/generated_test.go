package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

// generated are the files that are made from the rule set and from the rules of lint, by their path in
// the repository: their documentation, and the manifests of the example profiles as policygen render prints them.
func generated(t *testing.T, root string) map[string][]byte {
	t.Helper()
	reference, err := policies.Reference()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(buildPolicygen(t, root), "policygen")
	files := map[string][]byte{"docs/policies.md": []byte(reference), "docs/lint.md": ruleReference(t, program)}
	for _, p := range profile.Builtin() {
		for _, target := range []string{"vap", "manifest", "kyverno", "rbac"} {
			output, err := exec.CommandContext(t.Context(), program, "render", "--profile", p.Name, "--target", target).Output()
			if err != nil {
				t.Fatalf("render --profile %s --target %s: %v", p.Name, target, err)
			}
			files["examples/"+p.Name+"/"+target+".yaml"] = output
		}
	}
	return files
}

// ruleReference documents the rules of policygen lint, each with what it says of its bad example.
func ruleReference(t *testing.T, program string) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString("# The rules of policygen lint\n\n")
	b.WriteString("Each rule with a policy that has the fault, what lint says of it, and the policy mended. `policygen explain RULE` prints the same. [proof.md](proof.md) is about `total`, the heart of it.\n\n")
	b.WriteString("| rule | worst finding | what it means |\n|---|---|---|\n")
	for _, rule := range lint.Rules() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", rule.Name, rule.Name, rule.Severity, rule.Summary)
	}
	for _, rule := range lint.Rules() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s\n\n```yaml\n%s```\n\n", rule.Name, rule.Summary, strings.TrimSpace(rule.Why), rule.Bad[0])
		output, err := exec.CommandContext(t.Context(), program, "explain", rule.Name).Output()
		if err != nil {
			t.Fatalf("explain %s: %v", rule.Name, err)
		}
		_, says, _ := strings.Cut(string(output), "says:\n\n")
		says, _, found := strings.Cut(says, "\n\nMended:")
		if !found || says == "" {
			t.Fatalf("explain %s does not say what lint finds:\n%s", rule.Name, output)
		}
		fmt.Fprintf(&b, "```console\n$ policygen lint -f bad.yaml\n%s\n```\n\nMended:\n\n```yaml\n%s```\n", says, rule.Good)
	}
	return []byte(b.String())
}

// stale are the files below root that are not as they are generated, and those in a folder of
// generated files that nothing generates.
func stale(t *testing.T, root string, want map[string][]byte) []string {
	t.Helper()
	var found []string
	for path, data := range want {
		have, err := os.ReadFile(filepath.Join(root, path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if !bytes.Equal(have, data) {
			found = append(found, path)
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if _, known := want[filepath.ToSlash(name)]; !known {
			found = append(found, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	watchSources(t, root)
	want := generated(t, root)
	if *update {
		writeAll(t, root, want)
	}
	for _, path := range stale(t, root, want) {
		t.Errorf("%s is not up to date: run make generate", path)
	}
	t.Run("a changed digit is found", func(t *testing.T) {
		copied := t.TempDir()
		writeAll(t, copied, want)
		const path = "examples/flight/vap.yaml"
		changed := bytes.Replace(want[path], []byte("size() == 1"), []byte("size() == 2"), 1)
		if bytes.Equal(changed, want[path]) {
			t.Fatalf("%s has no size() == 1", path)
		}
		writeAll(t, copied, map[string][]byte{path: changed, "examples/flight/forgotten.yaml": nil})
		if have := strings.Join(stale(t, copied, want), " "); have != "examples/flight/forgotten.yaml "+path {
			t.Errorf("found are %s", have)
		}
	})
}

func writeAll(t *testing.T, root string, files map[string][]byte) {
	t.Helper()
	for path, data := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
