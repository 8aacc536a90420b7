package mutate

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"hangar.io/holdshort/cel"
)

// literalOperator drops literals from lists, and changes the text and the truths that stand elsewhere.
// Empty text stands for what is absent, and is as good as any other that nobody sends.
// Numbers are left to boundaryOperator, and what is part of a longer text to prefixOperator.
var literalOperator = &Operator{
	Name:    "literal",
	Summary: "a literal is dropped from a list, a text has more characters, true and false are exchanged",
	expression: func(s *site) []edit {
		var out []edit
		others := s.parts() // literals that are not changed here
		for _, n := range s.nodes {
			switch n.Kind() {
			case ast.ListKind:
				items := n.AsList().Elements()
				for i, item := range items {
					if item.Kind() == ast.LiteralKind {
						others[item.ID()] = true
						out = append(out, s.without(items, i))
					}
				}
			case ast.LiteralKind:
				if at, ok := s.at(n); ok && !others[n.ID()] {
					if after := changed(n); after != "" {
						out = append(out, edit{at, after})
					}
				}
			}
		}
		return out
	},
}

func changed(n ast.Expr) string {
	switch v := n.AsLiteral().(type) {
	case types.Bool:
		if v {
			return "false"
		}
		return "true"
	case types.String:
		if v == "" || isPattern(string(v)) {
			return ""
		}
		quoted, err := cel.Quote(string(v) + "-x")
		if err != nil {
			return ""
		}
		return quoted
	}
	return ""
}
