package policies_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

func TestExplainTellsScopeDemandsAndReasons(t *testing.T) {
	e, err := policies.Explain("breakglass-rolebinding")
	if err != nil {
		t.Fatal(err)
	}
	text := e.String()
	for _, want := range []string{
		"breakglass-rolebinding: the writer grants",
		"Profiles: ground, flight\nMatches: CREATE, UPDATE of rolebindings.rbac.authorization.k8s.io\n",
		"only if grant-or-writer:\n    (has(object.metadata.name) && object.metadata.name.startsWith('tower-breakglass-')) ||",
		"  second-person (flight)\n    A Flight break-glass RoleBinding names a requester (hangar.io/breakglass-requester)",
		"Why: Production is opened by two people",
		"Source: policies/breakglass-rolebinding.go\nCases: policies/testdata/breakglass-rolebinding.yaml\nSee: https://kubernetes.io/",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the explanation lacks %q:\n%s", want, text)
		}
	}
	data, err := json.Marshal(e)
	if err != nil || !strings.Contains(string(data), `"name":"second-person","profiles":["flight"]`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestExplainUsesTheProfilesThatItIsGiven(t *testing.T) {
	p := profile.Builtin()[0]
	p.Names.Portal = "Beacon"
	e, err := policies.Explain("breakglass-pod-delete", p)
	if err != nil || !strings.HasPrefix(e.Validations[0].Message, "Beacon may delete only") || !slices.Equal(e.Profiles, []string{"ground"}) {
		t.Errorf("%+v, %v", e, err)
	}
	p.Tiers = map[string][]profile.Tier{"breakglass-pod-delete": nil}
	if e, err := policies.Explain("breakglass-pod-delete", p); err != nil || !strings.Contains(e.String(), "Profiles: none\n") {
		t.Errorf("switched off: %s, %v", e, err)
	}
}

func TestTheReferenceHoldsEveryRuleWithItsMessageAndReason(t *testing.T) {
	reference, err := policies.Reference()
	if err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile(`\\(.)`).ReplaceAllString(reference, "$1")
	for _, name := range policies.Names() {
		e, err := policies.Explain(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			fmt.Sprintf("| [%s](#%s) | %s | %s | %d |\n", name, name, strings.Join(e.Profiles, ", "), e.Summary, len(e.Validations)),
			"\n## " + name + "\n", e.Doc,
		} {
			if !strings.Contains(plain, want) {
				t.Errorf("the reference lacks %q", want)
			}
		}
		for _, v := range e.Validations {
			on := ""
			if len(v.Profiles) < len(e.Profiles) {
				on = " (" + strings.Join(v.Profiles, ", ") + ")"
			}
			if want := fmt.Sprintf("- **%s**%s: “%s” %s\n", v.Name, on, v.Message, v.Why); !strings.Contains(plain, want) {
				t.Errorf("%s: the reference lacks %q", name, want)
			}
		}
	}
	if strings.Contains(reference, "debug-*") || !strings.Contains(reference, `debug-\*`) {
		t.Error("plain text becomes markup")
	}
}

func TestWhatIsNoPolicyIsSaidToBeNone(t *testing.T) {
	_, err := policies.Explain("no-such")
	var unknown *policies.UnknownError
	if !errors.As(err, &unknown) || unknown.Name != "no-such" || !strings.Contains(err.Error(), "expected one of "+strings.Join(policies.Names(), ", ")) {
		t.Error(err)
	}
}

func TestEveryPolicyHasItsTwoFiles(t *testing.T) {
	for _, p := range policies.All() {
		for _, file := range []string{p.Name + ".go", "testdata/" + p.Name + ".yaml"} {
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}

func TestANewPolicyCostsTwoFilesAndCompiles(t *testing.T) {
	files, err := policies.New("no-2nd-service")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || files[0].Path != "policies/no-2nd-service.go" || files[1].Path != "policies/testdata/no-2nd-service.yaml" {
		t.Fatalf("the files are %v", files)
	}
	if formatted, err := format.Source(files[0].Data); err != nil || string(formatted) != string(files[0].Data) {
		t.Errorf("the source is not as gofmt writes it: %v\n%s", err, files[0].Data)
	}
	for _, want := range []string{"var No2ndService = policy(Policy{", "policy: no-2nd-service\n"} {
		if !strings.Contains(string(files[0].Data)+string(files[1].Data), want) {
			t.Errorf("the scaffold lacks %q", want)
		}
	}
	if out, err := buildWith(t, files[0].Data); err != nil {
		t.Errorf("the package with the new policy: %v\n%s", err, out)
	}
	if out, err := buildWith(t, bytes.Replace(files[0].Data, []byte("Summary:"), []byte("Precis:"), 1)); err == nil {
		t.Errorf("a field that does not exist compiles: %s", out)
	}
}

// buildWith compiles this package with one more source file in it, which is not written here.
func buildWith(t *testing.T, source []byte) (string, error) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "new.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(dir, "new.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{file: source, file + ".json": overlay} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", file+".json", ".").CombinedOutput()
	return string(out), err
}

func TestNamesThatCannotBeAPolicysAreRefused(t *testing.T) {
	for _, name := range []string{"", "No-Exec", "../evil", "a_test", "a.b", strings.Repeat("a", 64), "breakglass-pod-delete"} {
		if files, err := policies.New(name); err == nil {
			t.Errorf("%q becomes %v", name, files[0].Path)
		}
	}
	if _, err := policies.New("breakglass-pod-delete"); !errors.Is(err, policies.ErrExists) {
		t.Error(err)
	}
}
