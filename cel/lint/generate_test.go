package lint

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator writes random well-typed expressions over trees.
type generator struct {
	*rand.Rand
	// guarded is how often, of 100, a field that may be absent is read behind a guard.
	guarded int
	// risky is how often a function is applied that fails on some values.
	risky int
	names int // of variables of comprehensions
}

// operand is a value that expressions are about: its text, and what it is.
type operand struct {
	text string
	tree *tree
	// null: the value can be null.
	null bool
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// of fills the places of a pattern: $ is the operand.
func of(pattern, text string) string { return strings.ReplaceAll(pattern, "$", text) }

// truth is a bool about one of some operands.
func (g *generator) truth(operands []operand, depth int) string {
	if depth > 0 {
		a, b := operands, operands
		switch g.IntN(9) {
		case 0:
			return "(" + g.truth(a, depth-1) + " && " + g.truth(b, depth-1) + ")"
		case 1:
			return "(" + g.truth(a, depth-1) + " || " + g.truth(b, depth-1) + ")"
		case 2:
			return "!(" + g.truth(a, depth-1) + ")"
		case 3:
			return "(" + g.truth(a, 0) + " ? " + g.truth(b, depth-1) + " : " + g.truth(a, depth-1) + ")"
		}
	}
	o := operands[g.IntN(len(operands))]
	return g.about(o, 6)
}

// guard puts a test of presence around a read, if it is its turn.
func (g *generator) guard(test, read string) string {
	if !g.chance(g.guarded) {
		return read
	}
	switch g.IntN(5) {
	case 0:
		return "(" + test + " && " + read + ")"
	case 1:
		return "(!(" + test + ") || " + read + ")"
	case 2:
		return "(" + test + " ? " + read + " : " + pick(g.Rand, "true", "false") + ")"
	case 3:
		return "(" + read + " || !(" + test + "))"
	}
	return "(" + read + " && " + test + ")"
}

// about is a bool about one operand.
func (g *generator) about(o operand, depth int) string {
	if o.null {
		o.null = false
		return g.guard(o.text+" != null", g.about(o, depth))
	}
	switch o.tree.form {
	case record:
		if len(o.tree.fields) == 0 || depth <= 0 {
			return g.leaf(o, "$ != null", "type($) == map", "size($) >= 0")
		}
		f := o.tree.fields[g.IntN(len(o.tree.fields))]
		read := operand{o.text + "." + f.name, f.tree, f.nullable || f.tree.form == timeText && !f.optional}
		if f.tree.form == list && !f.optional && !filled[f.name] {
			read.null = true
		}
		switch {
		case f.optional && g.chance(15):
			return g.optional(o.text+".?"+f.name, f.tree)
		case f.optional:
			return g.guard("has("+o.text+"."+f.name+")", g.about(read, depth-1))
		}
		return g.about(read, depth-1)
	case list:
		return g.aboutList(o, depth-1)
	case mapping:
		return g.aboutMap(o, depth-1)
	}
	return g.leaf(o, g.patterns(o.tree)...)
}

// leaf is one of some patterns.
func (g *generator) leaf(o operand, patterns ...string) string {
	return of(patterns[g.IntN(len(patterns))], o.text)
}

// optional is a bool about an optional.
func (g *generator) optional(o string, n *tree) string {
	empty := map[form]string{text: "''", integer: "0", truth: "false", list: "[]", mapping: "{}", record: "{}", number: "0.0"}[n.form]
	if empty == "" {
		empty = "'x'"
	}
	inner := operand{"(" + o + ".orValue(" + empty + "))", n, false}
	switch g.IntN(4) {
	case 0:
		return o + ".hasValue()"
	case 1:
		name := g.variable()
		return o + ".optMap(" + name + ", " + g.about(operand{name, n, false}, 1) + ").orValue(true)"
	case 2:
		if !g.chance(g.guarded) {
			return g.about(operand{o + ".value()", n, false}, 1)
		}
		return "(!" + o + ".hasValue() || " + g.about(operand{o + ".value()", n, false}, 1) + ")"
	}
	if n.form == record {
		return o + ".hasValue()"
	}
	return g.about(inner, 1)
}

func (g *generator) variable() string {
	g.names++
	return fmt.Sprint("v", g.names)
}

func (g *generator) aboutList(o operand, depth int) string {
	if g.chance(25) {
		patterns := []string{"$.size() > 0", "size($) < 3", "$ != []", "$[?0].hasValue()", "$ == $", "$.all(i, x, i >= 0)", "$.exists_one(x, x != null)", "$.map(x, x).size() < 9", "$.reverse().size() > 1", "$.distinct().size() > 1", "$ + $ != []"}
		if o.tree.elem.form == text {
			patterns = append(patterns, "'a' in $", "$.indexOf('a') >= 0", "$.isSorted()", "$.join(',') != 'a'", "sets.contains($, ['a'])", "$.max() != 'a'", "($.size() > 0 && $.min() != 'a')",
				"$.filter(x, x.startsWith('a')).size() == 0", "$.map(x, x + 'b').all(x, x != 'b')", "$.map(x, x.size()).all(x, x > 0)", "$.map(x, int(x)).all(x, x > 0)", "$.map(x, x.size()).sum() < 9",
				"$.exists(x, x == 'a') && $[0] != 'b'", "('a' in $ ? $[0] != 'b' : true)", "$.slice(0, 1).size() == 1", "$.flatten().size() > 0", "'%s'.format([$]) != ''", "$.sort()[0] != ''")
		}
		return g.leaf(o, patterns...)
	}
	if depth <= 0 {
		return o.text + ".size() >= 0"
	}
	name := g.variable()
	item := operand{name, o.tree.elem, false}
	body := g.about(item, depth-1)
	if g.chance(30) {
		body = "(" + body + pick(g.Rand, " && ", " || ") + g.about(item, depth-1) + ")"
	}
	switch g.IntN(10) {
	case 0, 1, 2:
		return o.text + ".all(" + name + ", " + body + ")"
	case 3, 4:
		return o.text + ".exists(" + name + ", " + body + ")"
	case 5:
		return o.text + ".exists_one(" + name + ", " + body + ")"
	case 6:
		other := g.variable()
		return o.text + ".filter(" + name + ", " + body + ").all(" + other + ", " + g.about(operand{other, o.tree.elem, false}, depth-1) + ")"
	case 7:
		at := pick(g.Rand, "0", "0", "1")
		return g.guard(o.text+".size() > "+at, g.about(operand{o.text + "[" + at + "]", o.tree.elem, false}, depth-1))
	case 8:
		index := g.variable()
		return o.text + pick(g.Rand, ".all(", ".exists(") + index + ", " + name + ", " + index + " > 0 || " + body + ")"
	}
	return pick(g.Rand, "", "!") + o.text + ".map(" + name + ", " + body + ").exists(x, x)"
}

func (g *generator) aboutMap(o operand, depth int) string {
	key := "'" + pick(g.Rand, keys...) + "'"
	at := operand{o.text + "[" + key + "]", o.tree.elem, false}
	switch g.IntN(9) {
	case 0:
		return key + " in " + o.text
	case 1:
		return o.text + ".size() > 0"
	case 2:
		name := g.variable()
		return o.text + pick(g.Rand, ".all(", ".exists(") + name + ", " + g.about(operand{o.text + "[" + name + "]", o.tree.elem, false}, depth-1) + ")"
	case 3:
		k, v := g.variable(), g.variable()
		return o.text + pick(g.Rand, ".all(", ".exists(") + k + ", " + v + ", " + g.about(operand{v, o.tree.elem, false}, depth-1) + ")"
	case 4:
		return g.optional(o.text+"[?"+key+"]", o.tree.elem)
	case 5:
		if g.chance(30) {
			return o.text + ".map(k, k).all(k, " + o.text + "[k] != 'a')"
		}
	}
	return g.guard(key+" in "+o.text, g.about(at, depth-1))
}

// patterns are bools about a value that has no parts. Some fail for some values.
func (g *generator) patterns(n *tree) []string {
	risky := g.chance(g.risky)
	also := func(always []string, more ...string) []string {
		if risky {
			return more
		}
		return always
	}
	switch n.form {
	case text:
		return also([]string{
			"$ == 'a'", "$ != 'b'", "$.startsWith('a')", "$.endsWith('b')", "$.contains('-')", "$.size() > 1", "size($) < 5", "$ in ['a', 'b', 'main']", "$.matches('^[a-z]+$')",
			"$.split('-')[0] != 'a'", "($.split('-').size() > 1 ? $.split('-')[1] == 'b' : true)", "($.split('.').size() == 3 && $.split('.')[2] == 'c')", "$ + 'x' != 'ax'", "$ < 'b'", "string($) != ''",
			"$.lowerAscii() == 'a'", "$.upperAscii() != 'A'", "$.trim() != ''", "$.replace('a', 'b') != 'a'", "$.indexOf('-') > 0", "bytes($).size() > 0", "$.find('[0-9]+') != '1'", "$.findAll('[0-9]').size() < 3",
			"(isQuantity($) ? quantity($).isGreaterThan(quantity('1')) : true)", "(isQuantity($) && quantity($).isInteger() ? quantity($).asInteger() > 3 : true)", "(isURL($) && url($).getHost() == 'a')", "(isIP($) ? ip($).family() == 4 : true)",
			"(isCIDR($) && cidr($).prefixLength() == 8)", "('%s'.format([$]) != 'a')", "($ in ['5m', '1h'] ? duration($) > duration('1s') : true)", "format.dns1123Label().validate($).hasValue()", "($ == '10' && int($) == 10)", "(isSemver($) ? semver($).major() == 1 : true)",
			"$.split('a', 2).size() > 0", "$.substring(0) == $ || true", "!($ != 'a' && false)", "type($) == string", "($ > 'a') == ($ >= 'b')", "url('https://a').getHost() != $",
		},
			"int($) > 1", "uint($) > 1u", "double($) > 1.5", "bool($)", "duration($) > duration('1s')", "timestamp($) > timestamp('2020-01-01T00:00:00Z')", "quantity($).isInteger()", "quantity($).asInteger() > 1", "ip($).family() == 4", "cidr($).prefixLength() == 8",
			"url($).getHost() == 'a'", "semver($).major() == 1", "$.split('-')[1] == 'a'", "$.substring(0, 3) == 'a'", "$.substring(2) == 'a'", "$.charAt(4) == 'a'", "$.matches($)", "'a'.find($) != ''", "'a'.findAll($).size() < 2", "'a'.findAll($, 1).size() < 2", "$.indexOf('a', 4) > 0", "$.lastIndexOf('a', 4) > 0", "'%d'.format([$]) != ''", "$ > 1", "$ + 1 == 2", "$.x == 1", "$[0] == 'a'", "'a' in $",
			"$.all(x, x == 'a')", "!$", "-$ == 1", "$.split('')[0] != 'x'", "ip.isCanonical($)", "cidr('10.0.0.0/8').containsIP($)", "cidr('10.0.0.0/8').containsCIDR($)", "timestamp('2020-01-01T00:00:00Z').getHours($) > 1", "semver($, true).minor() > 1", "string(bytes($)) != ''", "$.split('a', 0)[0] == ''",
			"timestamp('2020-01-01T00:00:00Z').getFullYear($) > 1", "size(int($)) > 1", "duration($).getHours() > 1", "$.join() == 'a'", "dyn([$]).max() > 'a'", "quantity($).isGreaterThan(quantity('1'))", "dyn([$, 1]).isSorted()", "$.asInteger() > 1", "$.orValue('a') == 'a'", "$.hasValue()", "authorizer.path($.substring(1)).check('get').allowed()")
	case integer:
		return also([]string{"$ > 3", "$ == 1", "$ <= 80", "$ != 0", "string($) == '1'", "$ in [1, 2]", "double($) > 1.5", "$ > 1.5", "($ > 0 && 100 / $ > 3)", "($ < 1000 && $ > 0 ? $ + 1 > 3 : true)", "($ >= 0 ? uint($) > 1u : true)", "$ % 2 == 0", "'%d'.format([$]) == '1'", "type($) == int", "$ != 'a'", "($ > 0 && $ < 1000 && $ * 2 > 5)", "$ == 1 && [5, 6][$] == 6", "($ >= 0 && $ < 2 ? [5, 6][$] == 6 : true)"},
			"10 / $ > 3", "10 % $ > 3", "$ + 1 > 3", "$ - 1 > 3", "$ * 2 > 3", "-$ < 0", "uint($) > 1u", "timestamp($) > timestamp('2020-01-01T00:00:00Z')", "[5, 6][$] == 6", "$ + 1.5 > 3.0", "$.size() > 1", "$ > 'a'", "'%s'.format([$]).substring(1) == ''", "'a'.substring($) == ''", "'ab'.substring(0, $) == ''", "'ab'.charAt($) == ''", "[1, 2].slice(0, $).size() > 1", "'aa'.indexOf('a', $) > 0", "($ < 9 ? lists.range($).size() < 3 : true)", "int(double($) * 2.0) > 3", "int(uint($)) > 1", "uint($) - 1u > 3u", "10u / uint($) > 3u", "9u % uint($) > 1u", "uint($) * 4u > 3u", "[$, $].sum() > 3", "($ < 3 ? [[1]].flatten($).size() > 0 : true)", "$.matches('a')", "$ - (-9223372036854775807) > 0")
	case number:
		return also([]string{"type($) == double || type($) == int", "$ > 1.5", "$ > 1", "$ == 1.0", "string($) != ''", "double($) > 0.0", "$ < 9223372036854775807"}, "int($) > 1", "$ + 1.0 > 2.0", "$ * 2 > 3", "int($ * 1e300) > 1", "uint($) > 1u")
	case truth:
		return also([]string{"$ == true", "!$", "$ != false", "string($) == 'true'", "($ ? true : false)", "($ || false)"}, "$ > 1", "$.size() > 1", "$ + 1 > 1", "int($) == 1")
	case intOrText:
		return also([]string{"$ == 80", "$ == '50%'", "string($) != '1'", "(type($) == int ? $ > 3 : $.endsWith('%'))", "$ != 0 && $ != '0'", "(type($) == string || $ < 5)", "$ in [80, 'http']"}, "$ > 3", "$.endsWith('%')", "int($) > 3", "$ + 1 > 3", "(type($) == string ? $ > 3 : true)")
	case quantityText:
		return also([]string{"quantity($).isGreaterThan(quantity('1'))", "quantity($).compareTo(quantity('1Gi')) < 0", "quantity($).sign() == 1", "quantity($).asApproximateFloat() > 1.0", "quantity($).add(quantity('1')).isLessThan(quantity('5'))", "(quantity($).isInteger() ? quantity($).asInteger() > 1 : true)", "$ == '1'", "quantity($).sub(1).isInteger()", "isQuantity($)"},
			"$ > 1", "quantity($).asInteger() > 1", "int($) > 1", "quantity($) == 1")
	case timeText:
		return also([]string{"timestamp($) > timestamp('2020-01-01T00:00:00Z')", "timestamp($).getFullYear() > 2000", "$ != ''", "timestamp($).getHours('UTC') > 3"}, "$ > timestamp('2020-01-01T00:00:00Z')", "$.getFullYear() > 2000", "timestamp($).getHours('Nowhere') > 3", "timestamp($) - timestamp('0001-01-02T00:00:00Z') > duration('1h')", "timestamp($) + duration('1h') > timestamp($)", "timestamp($) - duration('90000h') < timestamp($)", "duration('200000000h') + duration('2500000h') > duration('1h')")
	case bytesText:
		return []string{"$ != ''", "$.size() > 0", "$ != 'YQ=='"}
	}
	return also([]string{"$ != null", "$ == {}", "$ == 1", "type($) == map", "type($) == string"}, "$ > 1", "$.size() > 0", "$.a == 1", "has($.a)", "$[0] == 1", "$.all(x, x != null)", "'a' in $", "$.a > 1", "$.a.startsWith('a')", "$ ? true : false", "$.a.b.c == 1", "$.?a.b.orValue('') == ''", "$.a[0] > 1", "$['a'].all(x, x > 1)", "has($.a.b)", "string($.a) == 'b'")
}
