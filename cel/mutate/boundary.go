package mutate

import (
	"math"
	"strconv"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// boundaryOperator moves a boundary by as little as there is.
var boundaryOperator = &Operator{
	Name:    "boundary",
	Summary: "< and <=, > and >= are exchanged; a whole number is one less or one more",
	expression: func(s *site) []edit {
		out := s.exchange(map[string]string{
			operators.Less: "<=", operators.LessEquals: "<", operators.Greater: ">=", operators.GreaterEquals: ">",
		})
		for _, n := range s.nodes {
			if n.Kind() != ast.LiteralKind {
				continue
			}
			at, ok := s.at(n)
			v, isInt := n.AsLiteral().(types.Int)
			if !ok || !isInt {
				continue
			}
			if v > math.MinInt64 {
				out = append(out, edit{at, strconv.FormatInt(int64(v)-1, 10)})
			}
			if v < math.MaxInt64 {
				out = append(out, edit{at, strconv.FormatInt(int64(v)+1, 10)})
			}
		}
		return out
	},
}
