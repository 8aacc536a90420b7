package rights_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/e2e/kit/scratch"
	"hangar.io/holdshort/e2e/rights"
	"hangar.io/holdshort/policies/profile"
)

func TestRights(t *testing.T) {
	for _, x := range profile.Builtin() {
		t.Run(x.Name, func(t *testing.T) {
			stage, err := rights.NewStage(t.Context(), scratch.Dir(t), x)
			if err != nil {
				t.Fatal(err)
			}
			defer stage.Close()
			t.Run("at rest", func(t *testing.T) { atRest(t, stage) })
			t.Run("a session in a running pod", func(t *testing.T) { path(t, stage, "live") })
			t.Run("a session in a copy", func(t *testing.T) { path(t, stage, "copy") })
			t.Run("attacks", func(t *testing.T) { attacks(t, stage) }) // last: it opens sessions everywhere
		})
	}
}

// atRest compares what each identity may do besides reading with testdata/at-rest-<profile>.txt.
// UPDATE=1 writes the file.
func atRest(t *testing.T, s *rights.Stage) {
	x := s.Profile
	identities := map[string]user.DefaultInfo{}
	for _, word := range []string{"writer", "reader", "portal", "pipeline"} {
		u, err := x.User(word)
		if err != nil {
			t.Fatal(err)
		}
		identities[word] = u
	}
	identities["group"] = user.DefaultInfo{Name: "somebody", Groups: []string{x.Federation.Group}}
	var b strings.Builder
	b.WriteString("# What the identities may do while no session is open, besides what everybody may and reading.\n")
	for _, word := range []string{"writer", "reader", "portal", "pipeline", "group"} {
		lines, err := s.AtRest(t.Context(), s.A, identities[word])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", word)
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		if len(lines) == 0 {
			b.WriteString("  nothing\n")
		}
	}
	golden := filepath.Join("testdata", "at-rest-"+x.Name+".txt")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the rights at rest are not those of %s:\n%s", golden, b.String())
	}
}

func path(t *testing.T, s *rights.Stage, kind string) {
	run := s.Live
	if kind == "copy" {
		run = s.Copy
	}
	steps, err := run(t.Context())
	fmt.Printf("\n%s, a %s session:\n", s.Profile.Name, kind)
	for _, step := range steps {
		outcome := "done"
		if step.By != "" {
			outcome = "refused by " + step.By
		}
		fmt.Printf("  %-34s %s\n", step.Name, outcome)
		if step.Fault != "" {
			t.Errorf("%s: %s", step.Name, step.Fault)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func attacks(t *testing.T, s *rights.Stage) {
	all := s.Attacks()
	haveNamed(t, s.Profile, all)
	if err := s.Launch(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	type row struct{ attacks, refused, atRest, session int }
	rows := map[string]*row{}
	refused := 0
	for _, a := range all {
		r := rows[a.Policy]
		if r == nil {
			r = &row{}
			rows[a.Policy] = r
		}
		r.attacks++
		if a.AtRest == "RBAC" {
			r.atRest++
		}
		if a.Session == "RBAC" {
			r.session++
		}
		if len(a.Faults) > 0 {
			t.Errorf("%s:%d: %s: %s", a.File, a.Line, a.Name, strings.Join(a.Faults, "; "))
			continue
		}
		r.refused++
		refused++
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%s\tattacks\trefused\tby RBAC at rest\tby RBAC in a session\tby the policy alone\n", s.Profile.Name)
	for _, policy := range slices.Sorted(maps.Keys(rows)) {
		r := rows[policy]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", policy, r.attacks, r.refused, r.atRest, r.session, r.refused)
	}
	w.Flush()
	fmt.Printf("attacks refused (%s): %d/%d\n", s.Profile.Name, refused, len(all))
	if refused < 50 {
		t.Errorf("only %d attacks", refused)
	}
}
