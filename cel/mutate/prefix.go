package mutate

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"hangar.io/holdshort/cel"
)

// prefixOperator loosens what a text has to begin or end with: the part is shorter or may stand
// anywhere, and a pattern is not anchored.
var prefixOperator = &Operator{
	Name:    "prefix",
	Summary: "startsWith and endsWith become contains, their text is shorter, a pattern loses its anchors",
	expression: func(s *site) []edit {
		out := s.rename(map[string]string{"startsWith": "contains", "endsWith": "contains"}, 1)
		for _, n := range s.nodes {
			if part, fromEnd := partOf(n); part != nil {
				out = append(out, s.shorter(part, fromEnd)...)
			}
			if n.Kind() == ast.LiteralKind {
				out = append(out, s.unanchored(n)...)
			}
		}
		return out
	},
}

// partOf is the text that a call looks for in another, and whether its end is what matters.
func partOf(n ast.Expr) (part ast.Expr, fromEnd bool) {
	if n.Kind() != ast.CallKind || !n.AsCall().IsMemberFunction() || len(n.AsCall().Args()) != 1 {
		return nil, false
	}
	switch n.AsCall().FunctionName() {
	case "startsWith", "contains":
		return n.AsCall().Args()[0], false
	case "endsWith":
		return n.AsCall().Args()[0], true
	}
	return nil, false
}

// parts are the literals that stand for a part of a text.
func (s *source) parts() map[int64]bool {
	all := map[int64]bool{}
	for _, n := range s.nodes {
		if part, _ := partOf(n); part != nil {
			all[part.ID()] = true
		}
	}
	return all
}

func (s *source) shorter(part ast.Expr, fromEnd bool) []edit {
	text, ok := textOf(part)
	at, found := s.at(part)
	if !ok || !found || text == "" {
		return nil
	}
	letters := []rune(text)
	if fromEnd {
		letters = letters[1:]
	} else {
		letters = letters[:len(letters)-1]
	}
	return s.write(at, string(letters))
}

func (s *source) unanchored(n ast.Expr) []edit {
	text, _ := textOf(n)
	at, ok := s.at(n)
	if !ok || !isPattern(text) {
		return nil
	}
	return s.write(at, strings.TrimSuffix(strings.TrimPrefix(text, "^"), "$"))
}

// write puts a text literal at a place.
func (s *source) write(at span, text string) []edit {
	quoted, err := cel.Quote(text)
	if err != nil {
		return nil // the text cannot be written, so nobody writes it by mistake
	}
	return []edit{{at, quoted}}
}

// textOf is the value of a text literal.
func textOf(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

// isPattern tells whether a text is anchored as a regular expression.
func isPattern(text string) bool {
	return strings.HasPrefix(text, "^") || strings.HasSuffix(text, "$") && !strings.HasSuffix(text, `\$`)
}
