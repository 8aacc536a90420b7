package lint

import (
	"slices"

	"hangar.io/holdshort/cel/witness"
)

// mostCases bounds the cases in which a witness of one node is looked for.
const mostCases = 4

// site is one node that may fail, in all cases in which it may.
type site struct {
	Open
	cases []Case
	whens map[Case][]witness.Condition
}

func sitesOf(p Proof) []site {
	var all []site
	for _, o := range p.Open {
		i := slices.IndexFunc(all, func(s site) bool { return s.Field == o.Field && s.Node == o.Node })
		if i < 0 {
			i = len(all)
			all = append(all, site{Open: o, whens: map[Case][]witness.Condition{}})
		}
		all[i].cases = append(all[i].cases, o.Case)
		all[i].whens[o.Case] = o.When
	}
	return all
}

// witness looks for a request on which an expression fails at a site.
func (in *input) witness(p Proof, at site) (*witness.Witness, Case) {
	for _, c := range at.cases[:min(len(at.cases), mostCases)] {
		s := in.search(c)
		if s == nil {
			continue
		}
		w, err := s.Find(in.ctx, witness.Target{Expression: p.Field, Field: at.Field, Node: at.Node, Hints: at.whens[c]})
		if err == nil && w != nil {
			return w, c
		}
	}
	return nil, Case{}
}
