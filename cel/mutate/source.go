package mutate

import (
	"fmt"
	"slices"
	"unicode"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
)

// source is an expression as it is written: its text and tokens, and a syntax tree without macros, in
// which has(x) and list.all(i, x) are calls.
type source struct {
	text   []rune
	tokens []token
	root   ast.Expr
	info   *ast.SourceInfo
	spans  map[int64]span
	nodes  []ast.Expr // in the order of their places
	// inChain are the nodes that chain has found in another.
	inChain map[int64]bool
}

// token is a part of the text that the parser takes as one.
type token struct {
	span
	text string
	kind tokenKind
}

type tokenKind int

const (
	word tokenKind = iota // an identifier, true, false, null and in
	number
	quoted
	sign // an operator or a bracket
)

// span is a part of the text, in characters.
type span struct{ start, end int }

// syntax reads what the evaluator's environment reads (apiserver pkg/cel/environment/base.go), without
// macros.
var syntax = func() *parser.Parser {
	p, err := parser.NewParser(parser.Macros(), parser.EnableOptionalSyntax(true), parser.EnableIdentEscapeSyntax(true))
	if err != nil {
		panic(err) // no option can fail
	}
	return p
}()

// read parses an expression and finds the place of each node.
func read(text string) (*source, error) {
	tree, errs := syntax.Parse(common.NewTextSource(text))
	if len(errs.GetErrors()) > 0 {
		return nil, fmt.Errorf("%s", errs.ToDisplayString())
	}
	s := &source{text: []rune(text), root: tree.Expr(), info: tree.SourceInfo(), spans: map[int64]span{}, inChain: map[int64]bool{}}
	s.tokens = tokensOf(s.text)
	ast.PostOrderVisit(s.root, ast.NewExprVisitor(func(e ast.Expr) {
		if at, ok := s.find(e); ok {
			s.spans[e.ID()] = at
			s.nodes = append(s.nodes, e)
		}
	}))
	slices.SortStableFunc(s.nodes, func(a, b ast.Expr) int {
		x, y := s.spans[a.ID()], s.spans[b.ID()]
		if x.start != y.start {
			return x.start - y.start
		}
		return y.end - x.end
	})
	return s, nil
}

// of is the text of a span.
func (s *source) of(at span) string { return string(s.text[at.start:at.end]) }

// at is the place of a node, without brackets around it.
func (s *source) at(e ast.Expr) (span, bool) {
	at, ok := s.spans[e.ID()]
	return at, ok
}

// around is the place of a node with the brackets around it.
func (s *source) around(e ast.Expr) (span, bool) {
	at, ok := s.spans[e.ID()]
	if !ok {
		return at, false
	}
	for {
		before, after := s.before(at.start), s.after(at.end)
		if before < 0 || after == len(s.tokens) || s.tokens[before].text != "(" || s.tokens[after].text != ")" {
			return at, true
		}
		if before > 0 { // the bracket of a call
			if t := s.tokens[before-1]; t.kind == word && t.text != "in" {
				return at, true
			}
		}
		at = span{s.tokens[before].start, s.tokens[after].end}
	}
}

// bare tells whether a node stands without brackets around it.
func (s *source) bare(e ast.Expr) bool {
	inner, ok := s.at(e)
	outer, _ := s.around(e)
	return ok && inner == outer
}

// operator is the token that the parser notes as the place of a node.
func (s *source) operator(e ast.Expr) (int, bool) {
	r, ok := s.info.GetOffsetRange(e.ID())
	if !ok {
		return 0, false
	}
	return s.token(int(r.Start))
}

// token is the token that starts at a place.
func (s *source) token(start int) (int, bool) {
	return slices.BinarySearchFunc(s.tokens, start, func(t token, at int) int { return t.start - at })
}

// before is the last token that ends before a place, -1 if there is none.
func (s *source) before(at int) int {
	i, _ := slices.BinarySearchFunc(s.tokens, at, func(t token, at int) int { return t.start - at })
	return i - 1
}

// after is the first token that starts at a place or behind it.
func (s *source) after(at int) int {
	i, _ := slices.BinarySearchFunc(s.tokens, at, func(t token, at int) int { return t.start - at })
	return i
}

// find is the place of a node whose parts have theirs.
func (s *source) find(e ast.Expr) (span, bool) {
	at, ok := s.operator(e)
	if !ok {
		return span{}, false
	}
	t := s.tokens[at]
	switch e.Kind() {
	case ast.LiteralKind:
		if t.text == "-" && at+1 < len(s.tokens) {
			return span{t.start, s.tokens[at+1].end}, true
		}
		return t.span, t.kind != sign
	case ast.IdentKind:
		return t.span, t.kind == word
	case ast.SelectKind:
		return s.from(e.AsSelect().Operand(), at+1)
	case ast.ListKind, ast.MapKind:
		return s.closing(t.start, at)
	case ast.CallKind:
		return s.findCall(e.AsCall(), at)
	}
	return span{}, false
}

func (s *source) findCall(c ast.CallExpr, at int) (span, bool) {
	args := c.Args()
	switch name := c.FunctionName(); {
	case c.IsMemberFunction():
		first, ok := s.around(c.Target())
		if !ok {
			return span{}, false
		}
		return s.closing(first.start, at)
	case name == operators.LogicalNot, name == operators.Negate:
		last, ok := s.around(args[0])
		return span{s.tokens[at].start, last.end}, ok
	case name == operators.Index, name == operators.OptIndex:
		first, ok := s.around(args[0])
		if !ok {
			return span{}, false
		}
		return s.closing(first.start, at)
	case name == operators.OptSelect:
		return s.from(args[0], at+1)
	case name == operators.Conditional, len(args) == 2 && s.tokens[at].text != "(":
		first, ok := s.around(args[0])
		last, also := s.around(args[len(args)-1])
		return span{first.start, last.end}, ok && also
	case at > 0 && s.tokens[at].text == "(":
		return s.closing(s.tokens[at-1].start, at)
	}
	return span{}, false
}

// from is the span from an operand to a token.
func (s *source) from(operand ast.Expr, to int) (span, bool) {
	first, ok := s.around(operand)
	if !ok || to >= len(s.tokens) {
		return span{}, false
	}
	if s.tokens[to].text == "?" { // a.?b
		to++
	}
	return span{first.start, s.tokens[to].end}, to < len(s.tokens)
}

// closing is the span from a place to the bracket that closes the one at a token.
func (s *source) closing(start, at int) (span, bool) {
	depth := 0
	for _, t := range s.tokens[at:] {
		if t.kind != sign {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
		if depth == 0 {
			return span{start, t.end}, true
		}
	}
	return span{}, false
}

// tokensOf follows the lexer of the grammar (cel-go parser/gen/CEL.g4).
func tokensOf(text []rune) []token {
	var all []token
	for i := 0; i < len(text); {
		start, kind := i, sign
		switch r := text[i]; {
		case unicode.IsSpace(r):
			i++
			continue
		case r == '/' && i+1 < len(text) && text[i+1] == '/':
			for i < len(text) && text[i] != '\n' {
				i++
			}
			continue
		case stringStart(text[i:]) > 0:
			kind, i = quoted, i+stringLength(text[i:])
		case r == '`':
			for i++; i < len(text) && text[i] != '`'; {
				i++
			}
			kind, i = word, min(i+1, len(text))
		case r == '_' || unicode.IsLetter(r):
			for i < len(text) && (text[i] == '_' || unicode.IsLetter(text[i]) || unicode.IsDigit(text[i])) {
				i++
			}
			kind = word
		case unicode.IsDigit(r), r == '.' && i+1 < len(text) && unicode.IsDigit(text[i+1]):
			kind, i = number, i+numberLength(text[i:])
		default:
			i++
			if i < len(text) && slices.Contains([]string{"&&", "||", "==", "!=", "<=", ">="}, string(text[start:i+1])) {
				i++
			}
		}
		all = append(all, token{span{start, i}, string(text[start:i]), kind})
	}
	return all
}

// stringStart is the length of what a string literal starts with, quotes included; 0: it is none.
func stringStart(text []rune) int {
	for i, r := range text {
		switch {
		case r == '\'' || r == '"':
			return i + 1
		case i < 2 && slices.Contains([]rune("rRbB"), r):
			continue
		}
		break
	}
	return 0
}

func stringLength(text []rune) int {
	i := stringStart(text)
	quote, raw := text[i-1], slices.ContainsFunc(text[:i-1], func(r rune) bool { return r == 'r' || r == 'R' })
	width := 1
	if i+1 < len(text) && text[i] == quote && text[i+1] == quote {
		width, i = 3, i+2
	}
	for i < len(text) {
		if text[i] == '\\' && !raw {
			i += 2
			continue
		}
		run := 0
		for run < width && i+run < len(text) && text[i+run] == quote {
			run++
		}
		if run == width {
			return i + width
		}
		i++
	}
	return len(text)
}

func numberLength(text []rune) int {
	i := 0
	for i < len(text) {
		r := text[i]
		exponent := i > 0 && (text[i-1] == 'e' || text[i-1] == 'E') && (r == '+' || r == '-') && !(len(text) > 1 && (text[1] == 'x' || text[1] == 'X'))
		if !exponent && r != '.' && !unicode.IsDigit(r) && !unicode.IsLetter(r) {
			break
		}
		if r == '.' && (i+1 == len(text) || !unicode.IsDigit(text[i+1])) {
			break
		}
		i++
	}
	return i
}
