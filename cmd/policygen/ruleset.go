package main

import (
	"time"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies"
	"hangar.io/holdshort/policies/profile"
)

// profiles are the one of --profile, or both built-in ones.
func profiles(nameOrFile string) ([]profile.Profile, error) {
	if nameOrFile == "" {
		return profile.Builtin(), nil
	}
	p, err := profile.Load(nameOrFile)
	if err != nil {
		return nil, err
	}
	return []profile.Profile{p}, nil
}

// ruleSet is the rule set as each profile renders it.
func ruleSet(nameOrFile string) ([]subject, error) {
	all, err := profiles(nameOrFile)
	if err != nil {
		return nil, err
	}
	subjects := make([]subject, len(all))
	for i, p := range all {
		m, err := policies.Render(p, policies.Options{})
		if err != nil {
			return nil, err
		}
		set, err := harness.Compile(m.Policies, m.Bindings)
		if err != nil {
			return nil, err
		}
		subjects[i] = subject{profile: &p, set: set}
	}
	return subjects, nil
}

// name is the name of the profile, empty for policies of -f.
func (s subject) name() string {
	if s.profile == nil {
		return ""
	}
	return s.profile.Name
}

// tier of the profile, empty for policies of -f.
func (s subject) tier() string {
	if s.profile == nil {
		return ""
	}
	return string(s.profile.Tier)
}

// inputs are what a fixture takes from the subject: words for users and values are the profile's.
func (s subject) inputs(now time.Time, c harness.Cluster) fixture.Inputs {
	in := fixture.Inputs{Now: now, Cluster: c}
	if s.profile != nil {
		in.Users, in.Profile = s.profile.User, s.profile.Value
	}
	return in
}
