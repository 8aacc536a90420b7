package project

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageKeepsTheImportRules(t *testing.T) {
	for _, violation := range violations(listPackages(t)) {
		t.Error(violation)
	}
}

// The product's go.mod is also what users of cel/... get: no second copy of Kubernetes' own module
// and no replacement, which would hold in this repository only.
func TestTheModuleRequiresNoKubernetesAndReplacesNothing(t *testing.T) {
	content, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		if len(words) > 0 && words[0] == "replace" {
			t.Errorf("go.mod replaces a module: %s", line)
		}
		if slices.Contains(words, "k8s.io/kubernetes") {
			t.Errorf("go.mod requires k8s.io/kubernetes: %s", line)
		}
	}
}

func TestViolations(t *testing.T) {
	const sigstore = "github.com/sigstore/sigstore-go/pkg/verify"
	own := func(name string, imports ...string) goPackage {
		return goPackage{ImportPath: module + "/" + name, Imports: imports}
	}
	tests := []struct {
		name     string
		packages []goPackage
		want     []string
	}{
		{"what the layers allow is no violation",
			[]goPackage{
				own("policies", module+"/cel", module+"/policies/profile", "k8s.io/api/core/v1"),
				own("cmd/policygen", module+"/policies", module+"/cel/harness"),
				own("internal/session", module+"/internal/trust", sigstore),
			}, nil},
		{"cel does not know the rule set",
			[]goPackage{own("cel/harness", module+"/policies")},
			[]string{"cel/harness must not import policies"}},
		{"the profile is a leaf",
			[]goPackage{own("policies/profile", module+"/cel")},
			[]string{"policies/profile must not import cel"}},
		{"trust and recording do not know each other",
			[]goPackage{
				own("internal/recording", module+"/internal/trust"),
				own("internal/trust", module+"/internal/recording"),
			},
			[]string{
				"internal/recording must not import internal/trust",
				"internal/trust must not import internal/recording",
			}},
		{"nothing imports a command",
			[]goPackage{own("internal/trust", module+"/cmd/policygen")},
			[]string{"internal/trust must not import cmd/policygen"}},
		{"a new package needs a rule",
			[]goPackage{own("util")},
			[]string{"util has no import rule: add one to importRules"}},
		{"a heavy package is found behind another",
			[]goPackage{
				own("cel", "example.com/middle"),
				{ImportPath: "example.com/middle", Imports: []string{sigstore}},
			},
			[]string{"cel must not link " + sigstore + " (imported by example.com/middle): the evaluator is a library for others: it must stay small"}},
		{"Kubernetes itself is linked nowhere",
			[]goPackage{own("internal/serve", "k8s.io/kubernetes/pkg/apis/core")},
			[]string{"internal/serve must not link k8s.io/kubernetes/pkg/apis/core (imported by hangar.io/holdshort/internal/serve): " +
				"its API is not for others to use; what is needed of it is a table made by hack/gen"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if have := violations(test.packages); !slices.Equal(have, test.want) {
				t.Errorf("have %q\nwant %q", have, test.want)
			}
		})
	}
}

// listPackages asks the go command for the module's packages and all that they link.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	watchSources(t, "../..")
	command := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports", "./...")
	command.Dir = "../.."
	var diagnostics strings.Builder
	command.Stderr = &diagnostics
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, diagnostics.String())
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 100 {
		t.Fatalf("go list named %d packages only: the rules would hold for nothing", len(packages))
	}
	return packages
}
