package mutate

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// negationOperator drops a !, or writes one before a truth. Comparisons have an operator of their own.
var negationOperator = &Operator{
	Name:    "negation",
	Summary: "a ! is dropped, or added before a truth",
	expression: func(s *site) []edit {
		var out []edit
		truths := s.truths()
		for _, n := range s.nodes {
			at, ok := s.at(n)
			switch function := functionOf(n); {
			case !ok:
			case function == operators.LogicalNot:
				if operand, ok := s.around(n.AsCall().Args()[0]); ok {
					out = append(out, edit{span{at.start, operand.start}, ""})
				}
			case !truths[n.ID()] || n.Kind() == ast.LiteralKind || compared[function]:
			case function == operators.In:
				out = append(out, edit{at, "!(" + s.of(at) + ")"})
			default:
				out = append(out, edit{span{at.start, at.start}, "!"})
			}
		}
		return out
	},
}

// compared are the calls that are made of truths, or that the comparison operator changes.
var compared = map[string]bool{
	operators.LogicalAnd: true, operators.LogicalOr: true, operators.Conditional: true,
	operators.Equals: true, operators.NotEquals: true,
	operators.Less: true, operators.LessEquals: true, operators.Greater: true, operators.GreaterEquals: true,
}

// predicates are the macros whose last argument is a truth.
var predicates = map[string]bool{"all": true, "exists": true, "exists_one": true, "existsOne": true, "filter": true}

// truths are the nodes that are used as a truth, apart from the operands of !.
func (s *site) truths() map[int64]bool {
	all := map[int64]bool{}
	if s.truth {
		all[s.root.ID()] = true
	}
	for _, n := range s.nodes { // what surrounds comes before what it surrounds
		if n.Kind() != ast.CallKind {
			continue
		}
		args := n.AsCall().Args()
		switch function := n.AsCall().FunctionName(); {
		case function == operators.LogicalAnd, function == operators.LogicalOr:
			for _, a := range args {
				all[a.ID()] = true
			}
		case function == operators.Conditional:
			all[args[0].ID()] = true
			if all[n.ID()] {
				all[args[1].ID()], all[args[2].ID()] = true, true
			}
		case n.AsCall().IsMemberFunction() && predicates[function] && len(args) >= 2:
			all[args[len(args)-1].ID()] = true
		}
	}
	return all
}

// functionOf is the function of a call, empty for another node.
func functionOf(e ast.Expr) string {
	if e.Kind() != ast.CallKind {
		return ""
	}
	return e.AsCall().FunctionName()
}
