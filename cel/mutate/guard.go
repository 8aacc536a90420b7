package mutate

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// guardOperator drops a test of presence from beside what it guards: from && and ||, and the condition
// of ?: with the branch for what is absent.
var guardOperator = &Operator{
	Name:    "guard",
	Summary: "a test of presence is dropped: has(), a key of a map, or null",
	expression: func(s *site) []edit {
		var out []edit
		for _, n := range s.nodes {
			if n.Kind() != ast.CallKind {
				continue
			}
			switch c := n.AsCall(); c.FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr:
				if s.inChain[n.ID()] {
					continue
				}
				chain := s.chain(n)
				for i, operand := range chain {
					if _, is := presence(operand); is {
						out = append(out, s.without(chain, i))
					}
				}
			case operators.Conditional:
				present, is := presence(c.Args()[0])
				if !is {
					continue
				}
				kept := c.Args()[2]
				if present {
					kept = c.Args()[1]
				}
				if at, ok := s.around(kept); ok {
					if whole, ok := s.at(n); ok {
						out = append(out, edit{whole, s.of(at)})
					}
				}
			}
		}
		return out
	},
}

// presence tells whether an expression is a test of presence, and what it is if the value is present.
func presence(e ast.Expr) (present, is bool) {
	if e.Kind() != ast.CallKind {
		return false, false
	}
	args := e.AsCall().Args()
	isNull := func(i int) bool { return args[i].Kind() == ast.LiteralKind && args[i].AsLiteral() == types.NullValue }
	switch e.AsCall().FunctionName() {
	case "has":
		return true, len(args) == 1
	case "hasValue":
		return true, e.AsCall().IsMemberFunction()
	case operators.In:
		return true, args[1].Kind() != ast.ListKind && args[0].Kind() == ast.LiteralKind
	case operators.Equals:
		return false, isNull(0) || isNull(1)
	case operators.NotEquals:
		return true, isNull(0) || isNull(1)
	case operators.LogicalNot:
		present, is = presence(args[0])
		return !present, is
	}
	return false, false
}

// chain are the operands of a && or || and of those within that have no brackets: a && b && c has
// three, however the parser balances them.
func (s *source) chain(e ast.Expr) []ast.Expr {
	var out []ast.Expr
	name := e.AsCall().FunctionName()
	for _, a := range e.AsCall().Args() {
		if a.Kind() == ast.CallKind && a.AsCall().FunctionName() == name && s.bare(a) {
			s.inChain[a.ID()] = true
			out = append(out, s.chain(a)...)
			continue
		}
		out = append(out, a)
	}
	return out
}

// without is the edit that drops one of several operands or items, and what separates it from its
// neighbour.
func (s *source) without(all []ast.Expr, i int) edit {
	at, _ := s.around(all[i])
	switch {
	case i > 0:
		before, _ := s.around(all[i-1])
		at.start = before.end
	case len(all) > 1:
		next, _ := s.around(all[1])
		at.end = next.start
	}
	return edit{at, ""}
}
