package lint

import (
	"github.com/google/cel-go/common/ast"

	"hangar.io/holdshort/cel/schema"
)

func (e *evaluation) list(x ast.Expr, s *state) []outcome {
	l := x.AsList()
	optional := map[int32]bool{}
	for _, i := range l.OptionalIndices() {
		optional[i] = true
	}
	return e.all(l.Elements(), s, func(s *state, args []*term) []outcome {
		var items []*term
		for i, a := range args {
			if !optional[int32(i)] {
				items = append(items, a)
				continue
			}
			switch held, known := e.optional(a); {
			case !known:
				return append(e.noOptional(s, a, x.ID()), value(s, e.fresh(schema.ListOf(schema.Unknown))))
			case held != nil:
				items = append(items, held)
			}
		}
		return []outcome{value(s, e.composite(listTerm, schema.List, items...))}
	})
}

// noOptional is the error of [?x] and {?k: x} for an x that is no optional.
func (e *evaluation) noOptional(s *state, t *term, node int64) []outcome {
	rest := s.narrow(t, ^schema.Optional)
	if rest == nil {
		return nil
	}
	return []outcome{e.fault(rest, node, "%s can be %s, expected an optional", t, kindNames(rest.kinds(t)))}
}

func (e *evaluation) mapping(x ast.Expr, s *state) []outcome {
	var parts []ast.Expr
	optional := map[int]bool{}
	for _, entry := range x.AsMap().Entries() {
		m := entry.AsMapEntry()
		parts = append(parts, m.Key(), m.Value())
		optional[len(parts)-2] = m.IsOptional()
	}
	return e.all(parts, s, func(s *state, args []*term) []outcome {
		var out []outcome
		var entries []*term
		known := true
		for i := 0; i < len(args); i += 2 {
			key, v := args[i], args[i+1]
			keys := schema.String | schema.Bool | schema.Int | schema.Uint
			if rest := s.kinds(key) &^ keys; rest != 0 {
				out = append(out, e.fault(s, x.ID(), "the key %s can be %s", key, kindNames(rest)))
			}
			if optional[i] {
				held, is := e.optional(v)
				if !is {
					out = append(out, e.noOptional(s, v, x.ID())...)
				}
				if known = known && is; held == nil {
					continue
				}
				v = held
			}
			entries = append(entries, key, v)
		}
		if !known {
			return append(out, value(s, e.fresh(schema.MapOf(schema.Unknown))))
		}
		return append(out, value(s, e.composite(mapTerm, schema.Map, entries...)))
	})
}
