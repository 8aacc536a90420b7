package witness

import (
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"hangar.io/holdshort/cel/schema"
)

// textKinds is the string kind if what stands at a path can be a string.
func (p *plan) textKinds(at path) schema.Kinds {
	if s := p.shapeAt(canonical(at)); s != nil {
		return s.Kinds & schema.String
	}
	return schema.String
}

// any is a value for a path: what a part of the skeleton has, what the expressions mention, or one at
// random.
func (p *plan) any(at path) any {
	c := canonical(at)
	if c != nil && p.chance(60) {
		if v := p.fill(c); v != nil {
			return v
		}
	}
	shape := p.shapeAt(c)
	switch {
	case shape != nil && p.chance(50):
		return sampleOf(shape, 0)
	case shape == nil && len(c) > 1 && p.chance(90):
		if p.isMap(c) {
			return map[string]any{"example": stringIn(c)}
		}
		if p.isMap(c[:len(c)-1]) {
			return p.textFor(c)
		}
	}
	if len(p.literals) > 0 && p.chance(40) {
		return p.literals[p.rng.IntN(len(p.literals))]
	}
	switch p.rng.IntN(9) {
	case 0:
		return map[string]any{}
	case 1:
		return []any{}
	case 2:
		return int64(p.rng.IntN(3))
	case 3:
		return p.chance(50)
	case 4:
		return nil
	case 5:
		v, _ := pick(p, badTexts)
		return v
	case 6:
		v, _ := pick(p, []any{int64(-1), int64(65535), int64(1 << 31), 1.5})
		return v
	case 7:
		return []any{p.otherText("")}
	}
	return p.otherText("")
}

// stringIn is a string that the values of a map can be, whatever they are.
func stringIn(at path) string {
	switch at[len(at)-1].key {
	case "limits", "requests", "hard", "capacity":
		return "1"
	}
	return "test" // a valid label, and valid Base64
}

func (p *plan) textFor(at path) string {
	if p.chance(50) {
		return stringIn(at[:len(at)-1])
	}
	if v, _ := pick(p, p.literals); p.chance(50) {
		if text, ok := v.(string); ok {
			return text
		}
	}
	text, _ := pick(p, badTexts)
	return text
}

// fitting is the value, or one like it that can stand at a path: of an allowed kind, and among the
// only ones of some strings.
func (p *plan) fitting(at path, v any) any {
	if root := at.root(); root == "object" || root == "oldObject" {
		if words := p.skeleton.Text[at[1:].String()]; words != nil {
			if s, ok := v.(string); !ok || !slices.Contains(words, s) {
				v, _ = pick(p, words)
			}
			return v
		}
	}
	s := p.shapeAt(at)
	if s == nil || kindsOf(v)&s.Kinds != 0 {
		return v
	}
	switch x := v.(type) {
	case int64:
		if s.Kinds&schema.String != 0 {
			return strconv.FormatInt(x, 10)
		}
	case string:
		if n, err := strconv.ParseInt(x, 10, 64); err == nil && s.Kinds&schema.Int != 0 {
			return n
		}
	}
	return least(s, 0)
}

// sample is a string that a regular expression matches, or the empty one.
func sample(pattern string, rng *rand.Rand) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	write(&b, re, rng)
	return b.String()
}

func write(b *strings.Builder, re *syntax.Regexp, rng *rand.Rand) {
	const longest = 200
	if b.Len() > longest {
		return
	}
	times := func(least, most int) {
		n := least
		if most < 0 || most > least+2 {
			most = least + 2
		}
		n += rng.IntN(most - least + 1)
		for range min(n, longest) {
			write(b, re.Sub[0], rng)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if n := len(re.Rune) / 2; n > 0 {
			b.WriteRune(re.Rune[2*rng.IntN(n)])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpStar:
		times(0, -1)
	case syntax.OpPlus:
		times(1, -1)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		times(re.Min, re.Max)
	case syntax.OpAlternate:
		write(b, re.Sub[rng.IntN(len(re.Sub))], rng)
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			write(b, sub, rng)
		}
	}
}
