package main

import (
	"errors"
	"slices"
	"testing"

	"hangar.io/holdshort/policies"
)

func TestCheckFindsWhatCannotBeRendered(t *testing.T) {
	subjects, err := ruleSet("ground")
	if err != nil {
		t.Fatal(err)
	}
	var c checkRun
	if err := c.render(subjects); err != nil || len(c.findings) > 0 {
		t.Fatalf("%v, %v", c.findings, err)
	}
	before := targets
	defer func() { targets = before }()
	targets = append(slices.Clone(before), target{name: "stone", files: func(policies.Manifests) ([]policies.File, error) {
		return nil, errors.Join(errors.New("policy a has too many words"), errors.New("policy b is too soft"))
	}})
	if err := c.render(subjects); err != nil {
		t.Fatal(err)
	}
	want := []string{"on ground: --target stone: policy a has too many words", "on ground: --target stone: policy b is too soft"}
	if len(c.findings) != 2 || c.findings[0].String() != want[0] || c.findings[1].String() != want[1] {
		t.Errorf("%v", c.findings)
	}
	if !errors.Is(c.exit(), exitFound) {
		t.Errorf("the exit status is %v", c.exit())
	}
}
