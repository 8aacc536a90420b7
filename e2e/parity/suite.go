package parity

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"hangar.io/holdshort/cel/schema"
)

// Define makes the CustomResourceDefinitions of suites. It comes before the servers with
// policies start, see pair.Servers.Policies.
func Define(ctx context.Context, w interface {
	Reach(context.Context, *schema.Table, []*unstructured.Unstructured) (bool, error)
}, suites ...*Suite,
) error {
	var crds []*unstructured.Unstructured
	for _, s := range suites {
		crds = append(crds, s.CRDs()...)
	}
	_, err := w.Reach(ctx, schema.BuiltIn(schema.Newest), crds)
	return err
}

// Run judges every case of a suite: its policy alone, and then, for a suite that belongs together,
// all policies at once.
func (j *Judge) Run(ctx context.Context, s *Suite, report *Report) error {
	begin := time.Now()
	defer func() { fmt.Printf("parity: %s took %v\n", s.Name, time.Since(begin).Round(time.Second)) }()
	refused, err := j.gate.Install(ctx, s.Policies)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	for _, g := range s.Groups {
		if err := refused[g.Policy]; err != nil {
			for _, c := range g.Cases {
				r := &Result{Case: c, Hash: hash(c)}
				r.fault("the server refuses the policy: %v", err)
				report.Add(r)
			}
			continue
		}
		if err := j.gate.Bind(ctx, s.bindings(g.Policy)); err != nil {
			return fmt.Errorf("%s: %s: %w", s.Name, g.Policy, err)
		}
		set := s.Set.Only(g.Policy)
		for _, c := range g.Cases {
			r, err := j.Judge(ctx, c, set)
			if err != nil {
				return err
			}
			report.Add(r)
		}
	}
	if !s.Together {
		return nil
	}
	if err := j.gate.Bind(ctx, s.Bindings); err != nil {
		return err
	}
	for _, g := range s.Groups {
		for _, c := range g.Cases {
			r, err := j.Judge(ctx, c, s.Set)
			if err != nil {
				return err
			}
			report.AddTogether(r)
		}
	}
	return nil
}
