package proof_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/e2e/kit/scratch"
	"hangar.io/holdshort/e2e/proof"
	"hangar.io/holdshort/internal/foreign"
)

// leastClasses is how many different errors have to be replayed.
const leastClasses = 40

var corpus = filepath.Join("..", "..", "cel", "lint", "testdata", "corpus")

func TestProof(t *testing.T) {
	begin := time.Now()
	server, err := proof.Start(t.Context(), scratch.Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	fmt.Printf("proof: an API server ready after %v\n", time.Since(begin).Round(time.Second))
	t.Run("skeletons are valid", func(t *testing.T) { skeletons(t, server) })
	t.Run("promises are kept", func(t *testing.T) { promises(t, server) })
	t.Run("foreign policies are accepted", func(t *testing.T) { foreignPolicies(t, server) })
	t.Run("witnesses fail with the same text", func(t *testing.T) { witnesses(t, server) })
	fmt.Printf("proof: took %v\n", time.Since(begin).Round(time.Second))
}

// foreignPolicies are those that lint is measured by, each thirteenth.
func foreignPolicies(t *testing.T, s *proof.Server) {
	all, err := foreign.Policies()
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for i := 0; i < len(all); i += 13 {
		_, err := s.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), all[i].ValidatingAdmissionPolicy, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Errorf("%s: %v", all[i].Name, err)
			continue
		}
		accepted++
	}
	fmt.Printf("proof: %d of %d foreign policies were created in a dry run\n", accepted, len(all))
	if accepted < 40 {
		t.Error("fewer than 40")
	}
}

// widgets defines the corpus' own kind.
func widgets(t *testing.T, s *proof.Server) *schema.Table {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpus, "widget-crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd, object := &apiextensionsv1.CustomResourceDefinition{}, map[string]any{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	builtIn := schema.BuiltIn(schema.Newest)
	if _, err := s.World.Reach(t.Context(), builtIn, []*unstructured.Unstructured{{Object: object}}); err != nil {
		t.Fatal(err)
	}
	table, err := builtIn.WithCRDs(crd)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func witnesses(t *testing.T, s *proof.Server) {
	ctx, table := t.Context(), widgets(t, s)
	subjects, err := proof.ReadSubjects(filepath.Join(corpus, "wrong.yaml"), filepath.Join("testdata", "errors.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var together, alone, unsent []*proof.Replay
	none := 0
	for i, subject := range subjects {
		if subject.Raw {
			continue
		}
		r, err := proof.Find(ctx, table, subject, fmt.Sprintf("witness-%d", i))
		if err != nil {
			t.Fatal(err)
		}
		if r == nil {
			none++
			continue
		}
		if r.Why == "" {
			if err := s.Prepare(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case r.Why != "":
			unsent = append(unsent, r)
		case r.InNamespace():
			together = append(together, r)
		default:
			alone = append(alone, r)
		}
	}
	ask(t, s, together...)
	for _, r := range alone {
		ask(t, s, r)
	}
	report(t, append(together, alone...), unsent, none)
}

// ask binds the policies of witnesses, sends their requests and unbinds the policies.
func ask(t *testing.T, s *proof.Server, replays ...*proof.Replay) {
	t.Helper()
	for _, r := range replays {
		if err := s.Bind(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range replays {
		if err := s.Ask(t.Context(), r); err != nil {
			t.Fatalf("%s: %v", r.Subject.Name, err)
		}
	}
	for _, r := range replays {
		if err := s.Remove(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func report(t *testing.T, asked, unsent []*proof.Replay, none int) {
	type tally struct{ same, different int }
	classes := map[string]tally{}
	same := 0
	for _, r := range asked {
		if r.Why != "" {
			unsent = append(unsent, r)
			continue
		}
		c := classes[proof.Class(r.Error)]
		if r.Same() {
			same++
			c.same++
		} else {
			c.different++
			t.Errorf("%s: the server says\n\t%s\nand the harness\n\t%s", r.Subject.Name, r.Answer, r.Expected)
		}
		classes[proof.Class(r.Error)] = c
	}
	fmt.Printf("proof: %-6s %-9s %s\n", "same", "different", "error")
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		fmt.Printf("proof: %-6d %-9d %s\n", classes[name].same, classes[name].different, name)
	}
	for _, r := range unsent {
		fmt.Printf("proof: not sent: %s: %s\n", r.Subject.Name, r.Why)
	}
	fmt.Printf("proof: %d witnesses of %d classes of errors get the same text, %d are not sent, %d expressions have none\n",
		same, len(classes), len(unsent), none)
	if len(classes) < leastClasses {
		t.Errorf("%d classes of errors, expected at least %d", len(classes), leastClasses)
	}
}

// skeletons are accepted as they are.
func skeletons(t *testing.T, s *proof.Server) {
	all, err := proof.ReadSkeletons(filepath.Join("..", "..", "cel", "witness", "skeletons.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.World.Namespace(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, k := range all {
		switch _, refusal, err := s.Try(t.Context(), k.Named("default")); {
		case err != nil:
			t.Errorf("%s, form %d: %v", k.Kind, k.Form, err)
		case refusal != "":
			t.Errorf("%s, form %d, is refused: %s", k.Kind, k.Form, refusal)
		default:
			accepted++
		}
	}
	fmt.Printf("proof: %d of %d skeletons are accepted\n", accepted, len(all))
}

// namespace that the objects of valid.yaml are in.
const namespace = "ns"

// promises takes what is promised out of objects that the server accepts: it refuses what is left, or
// fills it again.
func promises(t *testing.T, s *proof.Server) {
	all, err := proof.ReadPromises(filepath.Join("..", "..", "cel", "schema", "valid.txt"))
	if err != nil {
		t.Fatal(err)
	}
	examples, err := proof.ReadObjects(filepath.Join("..", "..", "hack", "gen", "testdata", "valid.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.World.Namespace(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	found, refused, filled := map[proof.Promise]int{}, 0, 0
	for _, e := range examples {
		stored, refusal, err := s.Try(t.Context(), e)
		if err != nil || refusal != "" {
			t.Errorf("%s is not valid: %s %v", e.GroupVersionKind(), refusal, err)
			continue
		}
		bases := []*unstructured.Unstructured{e}
		whole := e.DeepCopy() // with defaults, so that they can be taken away
		if spec, ok := stored.Object["spec"]; ok {
			whole.Object["spec"] = spec
		}
		if _, refusal, err := s.Try(t.Context(), whole); err == nil && refusal == "" {
			bases = append(bases, whole)
		}
		for _, p := range all {
			if kept, err := p.Kept(stored); err != nil || !kept {
				t.Errorf("%s: a %s is stored without it: %v", p, e.GetKind(), err)
			}
			if holders, _, err := p.Places(stored); err == nil {
				found[p] += len(holders)
			}
			for _, base := range bases {
				r, f := without(t, s, p, base)
				refused, filled = refused+r, filled+f
			}
		}
	}
	for _, p := range all {
		if found[p] == 0 {
			t.Errorf("%s: no object of valid.yaml has it", p)
		}
	}
	fmt.Printf("proof: %d promises: %d requests without what is promised are refused, in %d it is filled again\n", len(all), refused, filled)
}

// without sends an object without the field at each of its places.
func without(t *testing.T, s *proof.Server, p proof.Promise, base *unstructured.Unstructured) (refused, filled int) {
	t.Helper()
	holders, name, err := p.Places(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range holders {
		had, ok := h[name]
		if !ok {
			continue
		}
		for _, less := range p.Less(had) {
			delete(h, name)
			if less != nil {
				h[name] = less
			}
			stored, refusal, err := s.Try(t.Context(), base)
			switch {
			case err != nil:
				t.Errorf("%s: %v", p, err)
			case refusal != "":
				refused++
			default:
				if kept, err := p.Kept(stored); err != nil || !kept {
					t.Errorf("%s: a %s without it (%v) is accepted and has it not: %v", p, base.GetKind(), less, err)
				}
				filled++
			}
			h[name] = had
		}
	}
	return refused, filled
}
