package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	policyText = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: p
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  validations:
  - expression: "true"
    message: m
`
	bindingText = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, validationActions: [Deny]}
`
	crdText = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.x.io}
spec: {group: x.io}
`
)

func collect(text string) (*Bundle, error) {
	return Collect(Parse("in", strings.NewReader(text), Limits{}))
}

func TestCollectSortsDocuments(t *testing.T) {
	b, err := collect(strings.Join([]string{policyText, bindingText, crdText,
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: ns, labels: {a: b}}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
		"apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: e}\n",
	}, "---\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(len(b.Policies), len(b.Bindings), len(b.CRDs), len(b.Namespaces), len(b.Objects), b.Skipped)
	if want := "1 1 1 1 4 map[Deployment:2 Service:1]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if p := b.Policies[0]; p.Spec.Validations[0].Message != "m" || b.Source(p).Line != 1 || b.Source(p).LineOf("spec", "validations", "0") != 8 {
		t.Errorf("%+v from %s", p, b.Source(p))
	}
	if got := b.Source(b.Objects[0]).String(); got != "in:25" {
		t.Errorf("the config map is from %s", got)
	}
	if b.Namespaces[0].Labels["a"] != "b" || b.Bindings[0].Spec.PolicyName != "p" || b.CRDs[0].Spec.Group != "x.io" {
		t.Error("fields are lost")
	}
}

func TestV1beta1PoliciesAreReadAsV1(t *testing.T) {
	b, err := collect(strings.Replace(policyText, "k8s.io/v1", "k8s.io/v1beta1", 1))
	if err != nil || len(b.Policies) != 1 || b.Policies[0].APIVersion != "admissionregistration.k8s.io/v1" {
		t.Fatal(b, err)
	}
	if len(b.Notes) != 1 || b.Notes[0] != "in:1: ValidatingAdmissionPolicy p is of version v1beta1, read as v1" {
		t.Errorf("%q", b.Notes)
	}
}

func TestBrokenPoliciesAreErrorsWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"an unknown field", strings.Replace(policyText, "    message: m", "    mesage: m", 1), "in:9: spec.validations[0].mesage: ValidatingAdmissionPolicy has no field of this name (check the spelling and the indentation; names are case-sensitive)"},
		{"the wrong case", strings.Replace(policyText, "validations:", "Validations:", 1), "in:7: spec.Validations: ValidatingAdmissionPolicy has no field of this name (check the spelling and the indentation; names are case-sensitive)"},
		{"two unknown fields", strings.Replace(policyText, "    message: m", "    mesage: m\n    reson: x", 1), "in:9: spec.validations[0].mesage: ValidatingAdmissionPolicy has no field of this name (check the spelling and the indentation; names are case-sensitive)\n" +
			"in:10: spec.validations[0].reson: ValidatingAdmissionPolicy has no field of this name (check the spelling and the indentation; names are case-sensitive)"},
		{"an expression that is a boolean", strings.Replace(policyText, `"true"`, "true", 1), "in:8: spec.validations[0].expression: expected text, found a boolean (YAML reads y, n, yes, no, on and off as booleans: quote the text)"},
		{"validations that are an object", strings.Replace(policyText, "- expression", "  expression", 1), "in:7: spec.validations: expected a list, found an object"},
		{"an alpha version", strings.Replace(policyText, "k8s.io/v1", "k8s.io/v1alpha1", 1), "in:1: apiVersion: expected admissionregistration.k8s.io/v1, found admissionregistration.k8s.io/v1alpha1 (write the policy for v1, served since Kubernetes 1.30)"},
		{"no name", strings.Replace(bindingText, "name: b", "labels: {a: b}", 1), "in:3: metadata.name: expected a name for the ValidatingAdmissionPolicyBinding"},
		{"one name twice", bindingText + "---\n" + bindingText, "in:8: metadata.name: ValidatingAdmissionPolicyBinding b is given twice, first in in:1 (a cluster can hold one of them)"},
		{"an old definition", strings.Replace(crdText, "k8s.io/v1", "k8s.io/v1beta1", 1), "in:1: apiVersion: expected apiextensions.k8s.io/v1, found apiextensions.k8s.io/v1beta1 (Kubernetes serves no other version since 1.22)"},
		{"values of a chart", "replicas: 3\n", "in:1: expected a Kubernetes object, found one without apiVersion and kind (give manifest files only; values of a chart are no manifest)"},
		{"no kind", "apiVersion: v1\nkind: ''\n", "in:1: expected a Kubernetes object, found one without kind (give manifest files only; values of a chart are no manifest)"},
		{"a version that is a number", "apiVersion: 1\nkind: Pod\n", "in:1: apiVersion: expected text, found a number"},
		{"a version that is none", "apiVersion: a/b/c\nkind: Pod\n", `in:1: apiVersion: expected a version or group/version, found "a/b/c"`},
		{"a name that is a boolean", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: on\n", "in:4: metadata.name: expected text, found a boolean (YAML reads y, n, yes, no, on and off as booleans: quote the text)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := collect(c.in)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestWhatIsNoObjectIsCountedInAFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"policy.yaml": policyText, "values.yaml": "replicas: 3\n", "half.yaml": "kind: Pod\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := Collect(Read(Source{Paths: []string{dir}}))
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), "half.yaml:1: expected a Kubernetes object, found one without apiVersion") {
		t.Errorf("%v", err)
	}
	if len(b.Policies) != 1 || fmt.Sprint(b.Skipped) != "map["+NoObject+":1]" {
		t.Errorf("%d policies, skipped %v", len(b.Policies), b.Skipped)
	}
	if _, err := Collect(Read(Source{Paths: []string{filepath.Join(dir, "values.yaml")}})); err == nil {
		t.Error("a file that was named is no error")
	}
}

func TestEveryErrorIsReported(t *testing.T) {
	b, err := collect("a: b\n---\n" + bindingText + "---\n{\n---\n" + policyText)
	if err == nil || strings.Count(err.Error(), "\n") != 1 || len(b.Policies) != 1 || len(b.Bindings) != 1 {
		t.Errorf("%v, %+v", err, b)
	}
	_, err = collect(strings.Repeat("a: b\n---\n", 1000))
	if err == nil || !strings.HasSuffix(err.Error(), "too many errors, the rest was not read") {
		t.Errorf("%v", err)
	}
}

func TestFieldPathsCanBeTakenApart(t *testing.T) {
	for _, path := range [][]string{{"spec"}, {"spec", "validations", "0", "expression"}, {"metadata", "labels", "a.b/c"}, {"a", "1", "2", "b"}, {"metadata", "annotations", `x"]`}} {
		text := FieldPath(path...)
		if got := splitFieldPath(text); strings.Join(got, "|") != strings.Join(path, "|") {
			t.Errorf("%q: %s: %q", path, text, got)
		}
	}
}

// FuzzDocuments: no stream panics, and every document has a place and is in JSON form.
func FuzzDocuments(f *testing.F) {
	for _, seed := range []string{policyText, bindingText, crdText, policyText + "---\n" + bindingText, "{\"a\":1}\n{\"b\":[2]}\n",
		"apiVersion: v1\nkind: List\nitems:\n- {kind: A}\n- apiVersion: v1\n  kind: PodList\n  items: [{}]\n", "{{ x }}\n---\n{a: b}\n",
		"\ufeff# c\r\n---\r\na: &x 1\r\nb: *x\r\n...\r\n", "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{},\n{\"a\":{}}]}", "%YAML 1.1\n---\na: ! 3\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := 1 + strings.Count(string(data), "\n")
		docs := func(yield func(Document, error) bool) {
			for doc, err := range Parse("in", strings.NewReader(string(data)), Limits{FileBytes: 1 << 16}) {
				if err == nil && (doc.Line < 1 || doc.Line > lines && !strings.ContainsAny(string(data), "\r\u0085\u2028\u2029")) {
					t.Errorf("%q: line %d", data, doc.Line)
				}
				if err == nil && !jsonForm(doc.Object) {
					t.Errorf("%q: %#v", data, doc.Object)
				}
				if err == nil {
					doc.LineOf("metadata", "name")
					doc.LineOf("items", "0", "kind")
				}
				if !yield(doc, err) {
					return
				}
			}
		}
		_, _ = Collect(docs) // must not panic
	})
}
