package mutate

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// comparisonOperator turns a comparison into its contrary.
var comparisonOperator = &Operator{
	Name:    "comparison",
	Summary: "a comparison is turned into its contrary: == and !=, < and >=",
	expression: func(s *site) []edit {
		return s.exchange(map[string]string{
			operators.Equals: "!=", operators.NotEquals: "==",
			operators.Less: ">=", operators.GreaterEquals: "<",
			operators.Greater: "<=", operators.LessEquals: ">",
		})
	},
}

// exchange writes other signs for those of calls.
func (s *source) exchange(signs map[string]string) []edit {
	var out []edit
	for _, n := range s.nodes {
		if n.Kind() != ast.CallKind {
			continue
		}
		after, ok := signs[n.AsCall().FunctionName()]
		if !ok {
			continue
		}
		if at, ok := s.operator(n); ok {
			out = append(out, s.replace(at, after))
		}
	}
	return out
}
