package witness

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"hangar.io/holdshort/cel/schema"
)

// term is what an expression may stand for: a value of the world, or a constant.
type term struct {
	at    path
	value any // in JSON form, if at is nil
	// size of the value, and not the value; a key of the map, and not the map.
	size, isKey bool
}

func (t term) isPath() bool { return t.at != nil && !t.size && !t.isKey }

// scope are the variables of comprehensions.
type scope struct {
	name  string
	terms []term
	next  *scope
}

func (s *scope) with(name string, terms []term) *scope { return &scope{name, terms, s} }

func (s *scope) find(name string) ([]term, bool) {
	for ; s != nil; s = s.next {
		if s.name == name {
			return s.terms, true
		}
	}
	return nil, false
}

// mostTerms bounds what one expression may stand for.
const mostTerms = 24

func cut(terms []term) []term { return terms[:min(len(terms), mostTerms)] }

// terms are what an expression may stand for. It is no evaluation: a value that is computed from
// others stands for these.
func (s *Search) terms(x ast.Expr, sc *scope) []term {
	switch x.Kind() {
	case ast.LiteralKind:
		if v, ok := jsonOf(x.AsLiteral()); ok {
			return []term{{value: v}}
		}
	case ast.IdentKind:
		name := x.AsIdent()
		if t, ok := sc.find(name); ok {
			return t
		}
		switch name {
		case "object", "oldObject", "request", "params", "namespaceObject", "authorizer":
			return []term{{at: keys(name)}}
		}
	case ast.SelectKind:
		return s.selected(x.AsSelect(), sc)
	case ast.CallKind:
		return s.called(x.AsCall(), sc)
	case ast.ListKind:
		if v, ok := s.constant(x, sc); ok {
			return []term{{value: v}}
		}
	case ast.MapKind:
		if v, ok := s.constant(x, sc); ok {
			return []term{{value: v}}
		}
	case ast.ComprehensionKind:
		return s.terms(x.AsComprehension().IterRange(), sc)
	}
	return nil
}

func (s *Search) selected(sel ast.SelectExpr, sc *scope) []term {
	if v := s.variable(sel, sc); v != nil {
		return s.terms(v, nil)
	}
	return fieldOf(s.terms(sel.Operand(), sc), step{key: sel.FieldName()})
}

// variable is the expression of variables.name, nil if that is something else.
func (s *Search) variable(sel ast.SelectExpr, sc *scope) ast.Expr {
	if sel.Operand().Kind() != ast.IdentKind || sel.Operand().AsIdent() != "variables" {
		return nil
	}
	if _, local := sc.find("variables"); local {
		return nil
	}
	return s.variables[sel.FieldName()]
}

func fieldOf(of []term, at step) []term {
	var out []term
	for _, t := range of {
		switch {
		case t.isPath():
			out = append(out, term{at: t.at.then(at)})
		case t.at == nil:
			if v, ok := get(t.value, path{at}); ok {
				out = append(out, term{value: v})
			}
		}
	}
	return out
}

func (s *Search) called(c ast.CallExpr, sc *scope) []term {
	args := c.Args()
	switch name := c.FunctionName(); name {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		of := s.terms(args[0], sc)
		var out []term
		for _, k := range s.terms(args[1], sc) {
			at := step{kind: toAny}
			switch v := k.value.(type) {
			case string:
				at = step{key: v}
			case int64:
				at = step{kind: toIndex, index: int(v)}
			}
			if k.isKey {
				at = step{kind: toAny}
			}
			out = append(out, fieldOf(of, at)...)
		}
		return cut(out)
	case operators.Conditional:
		return cut(append(s.terms(args[1], sc), s.terms(args[2], sc)...))
	case "size":
		of := args
		if c.IsMemberFunction() {
			of = []ast.Expr{c.Target()}
		}
		var out []term
		for _, t := range s.terms(of[0], sc) {
			if t.isPath() {
				out = append(out, term{at: t.at, size: true})
			}
		}
		return out
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Equals, operators.NotEquals, operators.In:
		return nil
	}
	var out []term
	if c.IsMemberFunction() {
		out = s.terms(c.Target(), sc)
	}
	if !c.IsMemberFunction() || c.FunctionName() == "orValue" || c.FunctionName() == "or" {
		for _, a := range args {
			out = append(out, s.terms(a, sc)...)
		}
	}
	return cut(out)
}

// items are what the elements of a list may stand for, or the keys of a map.
func (s *Search) items(x ast.Expr, sc *scope, values bool) []term {
	switch x.Kind() {
	case ast.ListKind:
		var out []term
		for _, e := range x.AsList().Elements() {
			out = append(out, s.terms(e, sc)...)
		}
		return cut(out)
	case ast.CallKind:
		c := x.AsCall()
		switch c.FunctionName() {
		case operators.Add, operators.Conditional, "orValue", "or":
			var out []term
			if c.IsMemberFunction() {
				out = s.items(c.Target(), sc, values)
			}
			for i, a := range c.Args() {
				if c.FunctionName() != operators.Conditional || i > 0 {
					out = append(out, s.items(a, sc, values)...)
				}
			}
			return cut(out)
		}
	case ast.SelectKind:
		if v := s.variable(x.AsSelect(), sc); v != nil {
			return s.items(v, nil, values)
		}
	case ast.ComprehensionKind:
		c := x.AsComprehension()
		inner := s.iteration(c, sc)
		if mapped := mappedTo(c); mapped != nil {
			return s.terms(mapped, inner)
		}
		return s.items(c.IterRange(), sc, values)
	}
	var out []term
	for _, t := range s.terms(x, sc) {
		switch {
		case t.isPath() && !values && s.isMap(t.at):
			out = append(out, term{at: t.at, isKey: true})
		case t.isPath():
			out = append(out, term{at: t.at.then(step{kind: toAny})})
		case t.at == nil:
			switch v := t.value.(type) {
			case []any:
				for _, item := range v {
					out = append(out, term{value: item})
				}
			case map[string]any:
				for k, item := range v {
					if values {
						out = append(out, term{value: item})
					} else {
						out = append(out, term{value: k})
					}
				}
			}
		}
	}
	return cut(out)
}

// mappedTo is the expression that map() makes its items of, nil for other comprehensions.
func mappedTo(c ast.ComprehensionExpr) ast.Expr {
	x := c.LoopStep()
	if x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operators.Conditional {
		x = x.AsCall().Args()[1]
	}
	if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != operators.Add || len(x.AsCall().Args()) != 2 {
		return nil
	}
	last := x.AsCall().Args()[1]
	if last.Kind() != ast.ListKind || last.AsList().Size() != 1 {
		return nil
	}
	return last.AsList().Elements()[0]
}

// iteration is the scope of a comprehension's body.
func (s *Search) iteration(c ast.ComprehensionExpr, sc *scope) *scope {
	inner := sc.with(c.AccuVar(), nil)
	if c.HasIterVar2() {
		inner = inner.with(c.IterVar2(), s.items(c.IterRange(), sc, true))
	}
	return inner.with(c.IterVar(), s.items(c.IterRange(), sc, false))
}

// isMap tells whether what stands at a path is a map with any keys.
func (s *Search) isMap(p path) bool {
	if shape := s.shapeAt(p); shape != nil {
		return shape.Kinds&schema.Map != 0
	}
	switch last := p[len(p)-1].key; last {
	case "labels", "annotations", "data", "stringData", "binaryData", "nodeSelector", "matchLabels", "limits", "requests", "extra", "parameters", "hard", "capacity":
		return true
	default:
		return strings.HasSuffix(last, "Labels")
	}
}

// shapeAt is what is known of the value at a path of the world, nil if nothing.
func (s *Search) shapeAt(p path) *schema.Shape {
	if root := p.root(); root == "object" || root == "oldObject" {
		return shapeAt(s.shape, p[1:])
	}
	return nil
}

// constant is the value of an expression that reads nothing.
func (s *Search) constant(x ast.Expr, sc *scope) (any, bool) {
	switch x.Kind() {
	case ast.LiteralKind:
		return jsonOf(x.AsLiteral())
	case ast.ListKind:
		list := []any{}
		for _, e := range x.AsList().Elements() {
			v, ok := s.constant(e, sc)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	case ast.MapKind:
		m := map[string]any{}
		for _, e := range x.AsMap().Entries() {
			k, ok := s.constant(e.AsMapEntry().Key(), sc)
			v, okValue := s.constant(e.AsMapEntry().Value(), sc)
			name, isText := k.(string)
			if !ok || !okValue || !isText {
				return nil, false
			}
			m[name] = v
		}
		return m, true
	}
	t := s.terms(x, sc)
	if len(t) == 1 && t[0].at == nil {
		return t[0].value, true
	}
	return nil, false
}

func jsonOf(v ref.Val) (any, bool) {
	switch x := v.(type) {
	case types.Null:
		return nil, true
	case types.Bool:
		return bool(x), true
	case types.Int:
		return int64(x), true
	case types.Uint:
		return int64(x), true //nolint:gosec // any number does
	case types.Double:
		return float64(x), true
	case types.String:
		return string(x), true
	}
	return nil, false
}
