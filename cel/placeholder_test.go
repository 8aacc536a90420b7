package cel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"hangar.io/holdshort/cel"
)

func lookup(values map[string]any) func(string) (any, bool) {
	return func(name string) (any, bool) {
		v, ok := values[name]
		return v, ok
	}
}

func TestPlaceholdersAreReplacedByLiterals(t *testing.T) {
	values := lookup(map[string]any{"writer": "it's", "ttls": []string{"15m", "30m"}, "n": -1, "on": true})
	cases := map[string]struct{ expr, want string }{
		"nothing to do":              {`object.a == 'b'`, `object.a == 'b'`},
		"at the end":                 {`a == $writer`, `a == 'it\'s'`},
		"as the whole":               {`$ttls`, `['15m', '30m']`},
		"between brackets":           {`m[$writer]`, `m['it\'s']`},
		"as a receiver":              {`$ttls.exists(t, t == a)`, `['15m', '30m'].exists(t, t == a)`},
		"after a minus":              {`a-$n`, `a--1`},
		"twice":                      {`$on||$on`, `true||true`},
		"beside anchors of a regex":  {`a.matches('^x$') && b == $writer`, `a.matches('^x$') && b == 'it\'s'`},
		"an unknown name in a regex": {`a.matches(r'$foo') && $on`, `a.matches(r'$foo') && true`},
		"after an escaped quote":     {`a == 'x\'' && $on`, `a == 'x\'' && true`},
		"after a raw backslash":      {`a == r'\' && $on`, `a == r'\' && true`},
		"after a block string":       {`a == '''it's''' && $on`, `a == '''it's''' && true`},
		"after an empty string":      {`a == '' && $on`, `a == '' && true`},
		"after a comment":            {"a // isn't\n&& $on", "a // isn't\n&& true"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := cel.Expand(c.expr, values)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("have %s, want %s", got, c.want)
			}
		})
	}
}

func TestPlaceholdersThatCannotBeReplacedAreRefused(t *testing.T) {
	values := lookup(map[string]any{"writer": "w", "bad": "\xff", "odd": 1.5})
	cases := map[string]struct{ expr, want string }{
		"unknown":                  {`a == $wirter`, "unknown placeholder $wirter at offset 5"},
		"inside a string":          {`a == 'x-$writer'`, "placeholder $writer at offset 8 is inside a string literal"},
		"inside a comment":         {"a // $writer", "is inside a string literal or comment"},
		"without a name":           {`a == $ `, "a $ without a name at offset 5"},
		"with a number":            {`a == $1`, "a $ without a name"},
		"after a raw prefix":       {`a == r$writer`, "touches its neighbour"},
		"after two quotes":         {`a == ''$writer`, "touches its neighbour"},
		"before a quote":           {`a == $writer'b'`, "touches its neighbour"},
		"before another":           {`a == $writer$writer`, "touches its neighbour"},
		"behind an open string":    {`a == 'b && $writer`, "the string literal at offset 5 does not end"},
		"with a value not in UTF8": {`a == $bad`, "placeholder $bad: invalid UTF-8"},
		"with a value of no type":  {`a == $odd`, "placeholder $odd: no CEL literal"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := cel.Expand(c.expr, values)
			if err == nil {
				t.Fatalf("expanded to %s", got)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
		})
	}
}

// FuzzExpand holds Expand against the parser of cel-go: put an identifier where a placeholder
// stands, parse, put the value's constant where the identifier is; expanding first and parsing
// then must give the same tree.
func FuzzExpand(f *testing.F) {
	f.Add(`has(a.b) && a.b == $p`, "it's")
	f.Add(`$p in ['a', r'\', b'x', '''y''', "$q"] // $q`, "' || true || '")
	f.Add(`a.all(x, x.matches('^$') || x in $p)`, "\u2028")
	f.Add(`a?.b.orValue($p) == {$p: $p}[$p]`, "${")
	f.Add("`a.b` == $p", "`")
	f.Add(`rb'a' == $p`, "")
	f.Fuzz(func(t *testing.T, expr, value string) {
		const ident = "placeholder_p"
		found, err := cel.Placeholders(expr)
		if err != nil || strings.Contains(expr, ident) {
			return
		}
		marked := strings.Builder{}
		last := 0
		for _, p := range found {
			if p.Name != "p" {
				return
			}
			marked.WriteString(expr[last:p.Start] + ident)
			last = p.End
		}
		marked.WriteString(expr[last:])
		want, iss := parseEnv.Parse(marked.String())
		if iss.Err() != nil {
			return
		}
		expanded, err := cel.Expand(expr, lookup(map[string]any{"p": value}))
		if err != nil {
			return
		}
		have, iss := parseEnv.Parse(expanded)
		if iss.Err() != nil {
			t.Fatalf("%q expands to %q, which does not parse: %v", expr, expanded, iss.Err())
		}
		w := tree(want.NativeRep().Expr(), ident, value)
		if h := tree(have.NativeRep().Expr(), ident, value); h != w {
			t.Fatalf("%q expands to %q:\n%s\nwant\n%s", expr, expanded, h, w)
		}
	})
}

// tree prints the shape of an expression, with a constant in place of the identifier.
func tree(e ast.Expr, ident, value string) string {
	f := ast.NewExprFactory()
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind && e.AsIdent() == ident {
			e.SetKindCase(f.NewLiteral(e.ID(), types.String(value)))
		}
	}))
	var b strings.Builder
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		fmt.Fprintf(&b, "%d ", e.Kind())
		switch e.Kind() {
		case ast.IdentKind:
			b.WriteString(e.AsIdent())
		case ast.LiteralKind:
			fmt.Fprintf(&b, "%T %q", e.AsLiteral(), fmt.Sprint(e.AsLiteral().Value()))
		case ast.CallKind:
			fmt.Fprintf(&b, "%s %d", e.AsCall().FunctionName(), len(e.AsCall().Args()))
		case ast.SelectKind:
			fmt.Fprintf(&b, "%s %t", e.AsSelect().FieldName(), e.AsSelect().IsTestOnly())
		case ast.ListKind:
			fmt.Fprint(&b, e.AsList().Size())
		case ast.MapKind:
			fmt.Fprint(&b, e.AsMap().Size())
		}
		b.WriteByte('\n')
	}))
	return b.String()
}
