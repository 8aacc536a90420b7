package project

import (
	"fmt"
	"slices"
	"strings"
)

// module is the import path of the product's module.
const module = "hangar.io/holdshort"

// importRules says for each package of the module which others of the module it may import. The
// first rule whose pattern fits a package is the one for it. A pattern is a path below the module,
// or one that ends in "/..." and also stands for everything below.
//
// The order is the order of the layers, lowest first. ARCHITECTURE.md explains it.
var importRules = []struct {
	pkg  string
	uses []string
}{
	// A leaf that everything may import.
	{"policies/profile", nil},

	{"cel", nil},
	{"cel/schema", []string{"cel"}},
	{"cel/manifest", []string{"cel"}},
	{"cel/harness/...", []string{"cel", "cel/schema"}},
	{"cel/request", []string{"cel", "cel/harness", "cel/manifest", "cel/schema"}},
	{"cel/fixture", []string{"cel", "cel/harness", "cel/manifest", "cel/request", "cel/schema"}},
	{"cel/witness", []string{"cel", "cel/harness", "cel/schema"}},
	{"cel/lint", []string{"cel", "cel/harness", "cel/schema", "cel/witness"}},
	{"cel/mutate", []string{"cel", "cel/fixture", "cel/harness", "cel/schema", "cel/witness"}},

	{"policies", []string{"cel", "policies/profile"}},
	{"policies/kyverno", []string{"cel", "policies", "policies/profile"}},

	{"internal/project", nil},
	{"internal/serve", nil},
	{"internal/trust", []string{"policies/profile", "cel/...", "internal/authn"}},
	{"internal/session", []string{"policies/profile", "cel/...", "internal/trust", "internal/recording"}},
	{"internal/...", []string{"policies/profile", "cel/..."}},

	{"cmd/policygen", []string{"policies/...", "cel/...", "internal/authn", "internal/live"}},
	{"cmd/webhook", []string{"internal/imageverify", "internal/serve"}},
	{"cmd/reaper", []string{"internal/reaper", "internal/serve"}},
	{"cmd/sidecar", []string{"internal/trust", "internal/recording", "internal/session", "internal/serve"}},
}

// linkRules says what must not be linked into a package, directly or through others.
var linkRules = []struct {
	pkg    string
	never  []string
	reason string
}{
	{"...", []string{"k8s.io/kubernetes/..."},
		"its API is not for others to use; what is needed of it is a table made by hack/gen"},
	{"cel/...", []string{"github.com/sigstore/...", "github.com/aws/...", "sigs.k8s.io/controller-runtime/..."},
		"the evaluator is a library for others: it must stay small"},
	{"cmd/policygen", []string{"github.com/sigstore/...", "github.com/aws/...", "sigs.k8s.io/controller-runtime/..."},
		"the command line tool must start fast and stay small"},
}

// A goPackage is what the rules need to know of one: imports without those of its tests.
type goPackage struct {
	ImportPath string
	Imports    []string
}

// violations applies the import and link rules to packages, which must hold the module's own and
// everything they link. The result is sorted.
func violations(packages []goPackage) []string {
	imports := make(map[string][]string, len(packages))
	for _, p := range packages {
		imports[p.ImportPath] = p.Imports
	}
	var found []string
	for _, p := range packages {
		name, own := below(p.ImportPath)
		if !own {
			continue
		}
		found = append(found, importViolations(name, p.Imports)...)
		found = append(found, linkViolations(name, linked(p.ImportPath, imports))...)
	}
	slices.Sort(found)
	return found
}

func importViolations(name string, imports []string) []string {
	for _, rule := range importRules {
		if !fits(rule.pkg, name) {
			continue
		}
		var found []string
		for _, path := range imports {
			other, own := below(path)
			if own && !slices.ContainsFunc(rule.uses, func(pattern string) bool { return fits(pattern, other) }) {
				found = append(found, fmt.Sprintf("%s must not import %s", name, other))
			}
		}
		return found
	}
	return []string{fmt.Sprintf("%s has no import rule: add one to importRules", name)}
}

func linkViolations(name string, linked map[string]string) []string {
	var found []string
	for _, rule := range linkRules {
		if !fits(rule.pkg, name) {
			continue
		}
		for path, importer := range linked {
			if slices.ContainsFunc(rule.never, func(pattern string) bool { return fits(pattern, path) }) {
				found = append(found, fmt.Sprintf("%s must not link %s (imported by %s): %s", name, path, importer, rule.reason))
			}
		}
	}
	return found
}

// linked returns everything that root links, each with the package that imports it.
func linked(root string, imports map[string][]string) map[string]string {
	seen := map[string]string{}
	queue := []string{root}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, path := range imports[next] {
			if _, done := seen[path]; !done {
				seen[path] = next
				queue = append(queue, path)
			}
		}
	}
	return seen
}

// below returns a path's part below the module, and whether it is a package of the module.
func below(path string) (string, bool) {
	return strings.CutPrefix(path, module+"/")
}

// fits tells whether a pattern stands for a path, both as in importRules.
func fits(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	if folder, all := strings.CutSuffix(pattern, "/..."); all {
		return path == folder || strings.HasPrefix(path, folder+"/")
	}
	return pattern == path
}
