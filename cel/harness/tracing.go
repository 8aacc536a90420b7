package harness

import (
	"cmp"
	"fmt"
	"slices"
)

// trace puts together how each policy and binding came to its result.
func (s *Set) trace(r *run, calls []*call) []PolicyTrace {
	all := slices.Clone(r.skips)
	for _, p := range s.policies {
		if len(p.bindings) == 0 {
			all = append(all, PolicyTrace{Policy: p.def.Name,
				Skipped: &Skip{By: "binding", Detail: "no binding refers to the policy, so it does nothing"}})
		}
	}
	for _, c := range calls {
		t := PolicyTrace{Policy: c.policy.def.Name, Param: c.param, Expressions: c.expressions}
		if c.binding != nil {
			t.Binding = c.binding.Name
		}
		switch {
		case c.noParams:
			t.Skipped = &Skip{By: "params", InBinding: true, Detail: "the binding finds no params and its parameterNotFoundAction is Allow"}
		case c.match != nil && c.match.Error == nil && !c.match.Matches:
			t.Skipped = c.conditionSkip()
		default:
			t.Applied = c.configuration == nil
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b PolicyTrace) int {
		return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Binding, b.Binding))
	})
	return all
}

func (c *call) conditionSkip() *Skip {
	if name := c.match.FailedConditionName; name != "" {
		return &Skip{By: "matchCondition", Name: name, Detail: fmt.Sprintf("match condition %q is false", name)}
	}
	return &Skip{By: "matchCondition", Detail: "a match condition failed to evaluate and failurePolicy is Ignore"}
}

func (s *Set) traceSkipped(r *run, why *Skip) []PolicyTrace {
	if !r.trace {
		return nil
	}
	var all []PolicyTrace
	for _, p := range s.policies {
		all = append(all, PolicyTrace{Policy: p.def.Name, Skipped: why})
	}
	return all
}

func excludedSkip(p *Prepared) *Skip {
	return &Skip{By: "excluded", Detail: fmt.Sprintf("no stored policy sees %s", p.request.Resource.GroupResource())}
}
