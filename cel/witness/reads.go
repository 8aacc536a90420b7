package witness

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
)

// collect notes what the expressions read and mention.
func (s *Search) collect() {
	seen := map[string]bool{}
	for _, field := range s.order {
		s.visit(s.expressions[field], nil, seen)
	}
}

func (s *Search) visit(x ast.Expr, sc *scope, seen map[string]bool) {
	switch x.Kind() {
	case ast.SelectKind:
		s.visit(x.AsSelect().Operand(), sc, seen)
	case ast.CallKind:
		if x.AsCall().IsMemberFunction() {
			s.visit(x.AsCall().Target(), sc, seen)
		}
		for _, a := range x.AsCall().Args() {
			s.visit(a, sc, seen)
		}
	case ast.ListKind:
		for _, e := range x.AsList().Elements() {
			s.visit(e, sc, seen)
		}
	case ast.MapKind:
		for _, e := range x.AsMap().Entries() {
			s.visit(e.AsMapEntry().Key(), sc, seen)
			s.visit(e.AsMapEntry().Value(), sc, seen)
		}
	case ast.ComprehensionKind:
		c := x.AsComprehension()
		s.visit(c.IterRange(), sc, seen)
		inner := s.iteration(c, sc)
		s.visit(c.LoopStep(), inner, seen)
		s.visit(c.Result(), inner, seen)
	case ast.LiteralKind:
		if v, ok := jsonOf(x.AsLiteral()); ok && v != nil && !seen[fmt.Sprintf("literal %v", v)] {
			seen[fmt.Sprintf("literal %v", v)] = true
			s.literals = append(s.literals, v)
		}
		return
	}
	for _, t := range s.terms(x, sc) {
		if !t.isPath() || len(t.at) < 2 && t.at.root() != "params" {
			continue
		}
		if c := canonical(t.at); c != nil && !seen["path "+c.String()] {
			seen["path "+c.String()] = true
			s.reads = append(s.reads, t.at)
		}
	}
}
