package mutate

import "github.com/google/cel-go/common/ast"

// quantifierOperator asks for one item instead of all, and back.
var quantifierOperator = &Operator{
	Name:    "quantifier",
	Summary: "all and exists are exchanged; exists_one becomes exists",
	expression: func(s *site) []edit {
		return s.rename(map[string]string{"all": "exists", "exists": "all", "exists_one": "exists", "existsOne": "exists"}, 2)
	},
}

// rename calls other member functions, where they have at least so many arguments.
func (s *source) rename(names map[string]string, arguments int) []edit {
	var out []edit
	for _, n := range s.nodes {
		if n.Kind() != ast.CallKind || !n.AsCall().IsMemberFunction() || len(n.AsCall().Args()) < arguments {
			continue
		}
		after, ok := names[n.AsCall().FunctionName()]
		if !ok {
			continue
		}
		if at, ok := s.operator(n); ok && at > 0 { // the bracket behind the name
			out = append(out, s.replace(at-1, after))
		}
	}
	return out
}
