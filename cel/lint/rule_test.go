package lint_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/lint"
	"hangar.io/holdshort/cel/manifest"
)

// TestEveryRuleFindsItsBadExamples: and leaves the good one alone.
func TestEveryRuleFindsItsBadExamples(t *testing.T) {
	for _, rule := range lint.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			if len(rule.Bad) < 2 {
				t.Error("has fewer than two bad forms")
			}
			worst := lint.Warning
			for i, bad := range rule.Bad {
				var found []lint.Finding
				for _, f := range findings(t, bad) {
					if f.Rule == rule.Name {
						found = append(found, f)
					}
				}
				if len(found) == 0 {
					t.Errorf("finds nothing in form %d:\n%s", i, bad)
				}
				for _, f := range found {
					if f.Message == "" || f.Field == "" {
						t.Errorf("form %d: the finding does not say what and where: %+v", i, f)
					}
					if f.Severity == lint.Error {
						worst = lint.Error
					}
				}
			}
			if worst != rule.Severity {
				t.Errorf("its worst finding is of severity %s and not %s", worst, rule.Severity)
			}
			for _, f := range findings(t, rule.Good) {
				if f.Rule == rule.Name {
					t.Errorf("finds in the good example: %s: %s", f.Field, f.Message)
				}
			}
		})
	}
}

// compiled are policies and bindings in YAML as a set.
func compiled(t *testing.T, text string) *harness.Set {
	t.Helper()
	bundle, err := manifest.Collect(manifest.Read(manifest.Source{Paths: []string{"-"}, Stdin: strings.NewReader(text)}))
	if err != nil {
		t.Fatal(err)
	}
	set, err := harness.Compile(bundle.Policies, bundle.Bindings)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// findings are those of all rules in policies.
func findings(t *testing.T, text string) []lint.Finding {
	t.Helper()
	var all []lint.Finding
	for _, r := range reports(t, compiled(t, text)) {
		all = append(all, r.Findings...)
	}
	return all
}

func TestRulesAreDocumentedAndInOrder(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	all := lint.Rules()
	if !slices.IsSortedFunc(all, func(a, b *lint.Rule) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the rules are not sorted by name")
	}
	for _, rule := range all {
		if !name.MatchString(rule.Name) || !strings.HasSuffix(rule.Summary, ".") || rule.Why == "" || rule.Good == "" {
			t.Errorf("%s lacks a name, a summary that is a sentence, a why, or a good example", rule.Name)
		}
	}
}
