package main

import "hangar.io/holdshort/cel/mutate"

// mutationJSON is what `test --mutate -o json` prints. Its lists are never null.
type mutationJSON struct {
	Mutants    int            `json:"mutants"`
	Killed     int            `json:"killed"`
	Survived   []survivorJSON `json:"survived"`
	Equivalent int            `json:"equivalent"`
	// Operators has an entry for each operator.
	Operators []operatorJSON `json:"operators"`
}

type survivorJSON struct {
	Policy   string `json:"policy"`
	Profile  string `json:"profile"`
	Operator string `json:"operator"`
	// Field is below spec of the policy, or of the binding if that is set.
	Field   string `json:"field"`
	Binding string `json:"binding"`
	Name    string `json:"name"`
	Line    int    `json:"line"`
	Before  string `json:"before"`
	After   string `json:"after"`
	// Fixture is a case that would notice the change, an item of the cases of a fixture file; empty if
	// none was found.
	Fixture string `json:"fixture"`
}

type operatorJSON struct {
	Name       string `json:"name"`
	Summary    string `json:"summary"`
	Mutants    int    `json:"mutants"`
	Killed     int    `json:"killed"`
	Equivalent int    `json:"equivalent"`
}

func (m *mutation) json() (mutationJSON, error) {
	out := mutationJSON{Survived: []survivorJSON{}}
	out.Mutants, out.Killed, _, out.Equivalent = m.totals()
	of := map[string]*operatorJSON{}
	for _, o := range mutate.Operators() {
		out.Operators = append(out.Operators, operatorJSON{Name: o.Name, Summary: o.Summary})
	}
	for i := range out.Operators {
		of[out.Operators[i].Name] = &out.Operators[i]
	}
	for _, p := range m.policies {
		for _, x := range p.mutants {
			of[x.Operator].Mutants++
			of[x.Operator].Killed++
		}
		for _, x := range p.equivalent {
			of[x.Operator].Equivalent++
			of[x.Operator].Killed--
		}
		for _, s := range p.survived {
			of[s.Operator].Killed--
			j := survivorJSON{Policy: p.name, Profile: p.subject.name(), Operator: s.Operator, Field: s.Field, Binding: s.Binding,
				Name: s.Name, Line: s.Line(), Before: s.Before, After: s.After}
			if s.fixture != nil {
				text, err := s.fixture.YAML()
				if err != nil {
					return out, err
				}
				j.Fixture = string(text)
			}
			out.Survived = append(out.Survived, j)
		}
	}
	return out, nil
}
