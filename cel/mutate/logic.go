package mutate

import "github.com/google/cel-go/common/operators"

// logicOperator writes || for && and back, and leaves it to the precedence of the two what belongs
// together then, as the mistake would.
var logicOperator = &Operator{
	Name:    "logic",
	Summary: "&& and || are exchanged",
	expression: func(s *site) []edit {
		return s.exchange(map[string]string{operators.LogicalAnd: "||", operators.LogicalOr: "&&"})
	},
}
