// Package parity proves that three answers to every fixture case are equal: a real API server's,
// the harness's on the request as the fixture has it, and the harness's on the AdmissionReview
// that a real API server made of that request.
package parity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/manifest"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

// Suite is policies that can be installed together, and their cases.
type Suite struct {
	Name     string // "corpus", "ground", "flight"
	Policies []*admissionv1.ValidatingAdmissionPolicy
	Bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	Set      *harness.Set // of all of them
	// Cases by policy, in the order of the policies' names.
	Groups []Group
	// Together: the cases are also judged by the whole set, as a cluster runs it.
	Together bool
}

// Group is the cases of one policy.
type Group struct {
	Policy string
	Cases  []fixture.Case
}

// root is the folder of the main module, seen from this package.
var root = filepath.Join("..", "..")

// RuleSet loads the rule set's fixtures for one built-in profile.
func RuleSet(x profile.Profile, now time.Time) (*Suite, error) {
	rendered, err := policies.Render(x, policies.Options{})
	if err != nil {
		return nil, err
	}
	s := &Suite{Name: x.Name, Policies: rendered.Policies, Bindings: rendered.Bindings, Together: true}
	inputs := fixture.Inputs{
		Now:     now,
		Users:   func(word string) (user.DefaultInfo, error) { return x.User(word) },
		Profile: x.Value,
	}
	for _, p := range s.Policies {
		cases, err := load(filepath.Join(root, "policies", "testdata", p.Name+".yaml"), p.Name, inputs)
		if err != nil {
			return nil, err
		}
		cases = slices.DeleteFunc(cases, func(c fixture.Case) bool { return !c.In(string(x.Tier)) })
		s.Groups = append(s.Groups, Group{p.Name, cases})
	}
	return s, s.compile()
}

// Corpus loads the foreign policies and their cases.
func Corpus(now time.Time) (*Suite, error) {
	base := filepath.Join(root, "cel", "fixture", "testdata", "corpus")
	folders, err := os.ReadDir(base)
	if err != nil {
		return nil, err
	}
	s := &Suite{Name: "corpus"}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		if err := s.add(filepath.Join(base, folder.Name()), now); err != nil {
			return nil, fmt.Errorf("corpus: %s: %w", folder.Name(), err)
		}
	}
	return s, s.compile()
}

// add loads the policies and cases of one folder of the corpus.
func (s *Suite) add(folder string, now time.Time) error {
	bundle, err := manifest.Collect(manifest.Read(manifest.Source{Paths: []string{filepath.Join(folder, "policy.yaml")}}))
	if err != nil {
		return err
	}
	if len(bundle.Policies) != 1 {
		return fmt.Errorf("%d policies, expected one", len(bundle.Policies))
	}
	policy := bundle.Policies[0]
	table, err := schema.BuiltIn(schema.Newest).WithCRDs(bundle.CRDs...)
	if err != nil {
		return err
	}
	cluster := harness.Cluster{Resources: table, Namespaces: map[string]*corev1.Namespace{}}
	for _, ns := range bundle.Namespaces {
		cluster.Namespaces[ns.Name] = ns
	}
	if len(bundle.Objects) > 0 {
		cluster.Params = bundle.Objects
	}
	cases, err := load(filepath.Join(folder, "cases.yaml"), policy.Name, fixture.Inputs{Now: now, Cluster: cluster})
	if err != nil {
		return err
	}
	for i := range cases {
		cases[i].Seed = slices.Concat(bundle.Objects, cases[i].Seed)
	}
	s.Policies = append(s.Policies, policy)
	s.Bindings = append(s.Bindings, bundle.Bindings...)
	s.Groups = append(s.Groups, Group{policy.Name, cases})
	return nil
}

func load(path, policy string, in fixture.Inputs) ([]fixture.Case, error) {
	file, err := fixture.LoadFile(path)
	if err != nil {
		return nil, err
	}
	if file.Policy != policy {
		return nil, fmt.Errorf("%s: is about %s, expected %s", path, file.Policy, policy)
	}
	return file.Resolve(in)
}

func (s *Suite) compile() error {
	var err error
	if s.Set, err = harness.Compile(s.Policies, s.Bindings); err != nil {
		return err
	}
	var problems []error
	for _, p := range s.Set.Problems() {
		problems = append(problems, p)
	}
	return errors.Join(problems...)
}

// CRDs are the CustomResourceDefinitions of all cases.
func (s *Suite) CRDs() []*unstructured.Unstructured {
	var crds []*unstructured.Unstructured
	for _, g := range s.Groups {
		for _, c := range g.Cases {
			for _, o := range c.Seed {
				if o.GetKind() == "CustomResourceDefinition" {
					crds = append(crds, o)
				}
			}
		}
	}
	return crds
}

// bindings of one policy.
func (s *Suite) bindings(policy string) []*admissionv1.ValidatingAdmissionPolicyBinding {
	var out []*admissionv1.ValidatingAdmissionPolicyBinding
	for _, b := range s.Bindings {
		if b.Spec.PolicyName == policy {
			out = append(out, b)
		}
	}
	return out
}
