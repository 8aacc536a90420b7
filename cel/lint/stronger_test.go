package lint

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"hangar.io/holdshort/cel/schema"
)

// claim is a rule that says more than is true: that a function takes what it does not take, or that
// its result has narrower bounds. The expression fails, and with the claim it would be proved. In it
// $ is the label of a pod, or the size of a widget, which is between the bounds if there are any.
type claim struct {
	overload   string
	rule       rule
	expression string
	between    []int64
}

// claims are too strong by one fact each.
func claims() []claim {
	all := []claim{
		// Results of arithmetic, without the least and without the greatest.
		{"add_int64", shrunk("add_int64", 1, 0), "10 / ($ + 1) > 1", []int64{-1, 1}},
		{"add_int64", shrunk("add_int64", 0, 1), "10 / ($ + -1) > 1", []int64{-1, 1}},
		{"subtract_int64", shrunk("subtract_int64", 1, 0), "10 / ($ - -1) > 1", []int64{-1, 1}},
		{"subtract_int64", shrunk("subtract_int64", 0, 1), "10 / ($ - 1) > 1", []int64{-1, 1}},
		{"multiply_int64", shrunk("multiply_int64", 1, 0), "10 / ($ * 2) > 1", []int64{0, 1}},
		{"multiply_int64", shrunk("multiply_int64", 0, 1), "10 / ($ * 2) > 1", []int64{-1, 0}},
		{"negate_int64", shrunk("negate_int64", 1, 0), "10 / -$ > 1", []int64{-1, 0}},
		{"negate_int64", shrunk("negate_int64", 0, 1), "10 / -$ > 1", []int64{0, 1}},
		{"list_int_sum_int", shrunk("list_int_sum_int", 1, 0), "10 / [$, $].sum() > 1", []int64{0, 1}},
		{"list_int_sum_int", shrunk("list_int_sum_int", 0, 1), "10 / [$, $].sum() > 1", []int64{-1, 0}},
		{"string_index_of_string", shrunk("string_index_of_string", 1, 0), "10 / ($.indexOf('-') + 1) > 1", nil},
		{"string_last_index_of_string", shrunk("string_last_index_of_string", 1, 0), "10 / ($.lastIndexOf('-') + 1) > 1", nil},
		{"string_last_index_of_string", shrunk("string_last_index_of_string", 0, 1), "$.size() == 1 ? 10 / ($.lastIndexOf('') - 1) < 1 : true", nil},
		// Text that is cut into parts may have none.
		{"string_split_string", func(*evaluation, *state, []*term) (string, *schema.Shape) {
			l := *schema.ListOf(textShape)
			l.NonEmpty = true
			return "", &l
		}, "$.split('')[0] != 'x'", nil},
		// One more number at each end.
		{"int64_to_uint64", convertsInt(-1, math.MaxInt64), "uint($) > 1u", []int64{-1, math.MaxInt64}},
		{"int64_to_timestamp", convertsInt(0, 253402300800), "timestamp($) > timestamp('2020-01-01T00:00:00Z')", []int64{0, 253402300800}},
		// A regular expression that text matches does not make it few digits.
		{"string_to_int64", matched, "$.matches('^[0-9]{1,20}') ? int($) > 1 : true", nil},
		{"string_to_uint64", matched, "$.matches('^[0-9]{1,20}') ? uint($) > 1u : true", nil},
		{"string_to_double", matched, "$.matches('^[a-z]') ? double($) > 1.0 : true", nil},
	}
	for _, id := range []string{"divide_int64", "modulo_int64"} {
		operator := map[string]string{"divide_int64": "/", "modulo_int64": "%"}[id]
		all = append(all,
			claim{id, without("be 0", divides), "10 " + operator + " $ > 1", []int64{0, 1}},
			claim{id, without("fit an int", divides), "$ " + operator + " -1 > 1", []int64{math.MinInt64, -1}})
	}
	// That text is one of some does not make it well formed.
	for id, expression := range map[string]string{
		"string_to_bool": "bool($)", "string_to_int64": "int($) > 1", "string_to_uint64": "uint($) > 1u", "string_to_double": "double($) > 1.0",
		"string_to_timestamp": "timestamp($) > timestamp('2020-01-01T00:00:00Z')", "string_to_duration": "duration($) > duration('1s')",
		"string_to_quantity": "quantity($).isInteger()", "string_to_semver": "semver($).major() == 1", "string_to_url": "url($).getHost() != ''",
		"string_to_ip": "ip($).family() == 4", "string_to_cidr": "cidr($).prefixLength() == 8", "ip_is_canonical": "ip.isCanonical($)",
	} {
		all = append(all, claim{id, listed, among("$ in ['a', @words] ? ") + expression + " : true", nil})
	}
	slices.SortStableFunc(all, func(a, b claim) int { return strings.Compare(a.overload, b.overload) })
	return all
}

// shrunk is the rule of an overload whose result has other bounds than it has.
func shrunk(id string, least, most int64) rule {
	was := rules[id]
	return func(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
		fails, result := was(e, s, args)
		if result != nil {
			c := *result
			c.Min, c.Max = c.Min+least, c.Max-most
			result = &c
		}
		return fails, result
	}
}

// without is a rule that does not know of one reason to fail.
func without(reason string, of rule) rule {
	return func(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
		if fails, result := of(e, s, args); !strings.Contains(fails, reason) {
			return fails, result
		}
		return "", nil
	}
}

// listed is the rule of a function that takes any text that is one of some constants.
func listed(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	if len(e.options(s, args[len(args)-1])) > 0 {
		return "", nil
	}
	return "the text may be malformed", nil
}

// matched is the rule of a function that takes any text that matches some pattern.
func matched(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	for _, f := range s.facts {
		if t := e.terms.all[f.key.term()]; f.key.aspect() == truthFact && f.value == 1 && t.name == "matches" && t.args[0] == args[0] {
			return "", nil
		}
	}
	return "the text may be malformed", nil
}

// TestRulesClaimNoMore makes rules claim more than is true, one at a time: an expression that the
// evaluator makes fail must then be proved, so that the soundness run can see such a claim.
func TestRulesClaimNoMore(t *testing.T) {
	kinds := plainKinds(t)
	label := "has(object.metadata.labels) && 'a' in object.metadata.labels"
	all := claims()
	for _, c := range all {
		k, guard, operand := kinds["pods"], label, "object.metadata.labels['a']"
		if c.between != nil {
			k, operand = kinds["widgets.example.com"], "object.spec.size"
			guard = fmt.Sprintf("has(object.spec.size) && type(object.spec.size) == int && object.spec.size >= %d && object.spec.size <= %d", c.between[0], c.between[1])
		}
		p := judged(t, k, guard+" ? ("+of(c.expression, operand)+") : true")
		switch {
		case p == nil:
			t.Errorf("%s: the server does not take it", c.expression)
		case !p.failed["validations[0]"]:
			t.Errorf("%s: the evaluator does not make it fail", c.expression)
		case !weakened(t, c.overload, c.rule, []*soundPolicy{p}):
			t.Errorf("%s: a rule of %s that claims too much goes unnoticed", c.expression, c.overload)
		}
	}
	t.Logf("%d claims of rules are each as strong as can be", len(all))
}

// TestFormatsTakeWhatTheyTake asks the evaluator about each verb and each kind of value: where it fails
// the rule has to say so.
func TestFormatsTakeWhatTheyTake(t *testing.T) {
	k := valued(t, "pods", typeTree[struct{}](), []map[string]any{{}})
	values := map[string]string{
		"null": "null", "bool": "true", "int": "1", "uint": "2u", "double": "1.5", "text": "'a'", "bytes": "b'a'", "timestamp": "timestamp('2020-01-01T00:00:00Z')",
		"duration": "duration('1s')", "type": "int", "list": "object.spec.containers", "map": "object.metadata", "list of addresses": "[ip('1.2.3.4')]", "address": "ip('1.2.3.4')",
		"optional": "optional.of(1)",
	}
	fail, lost := 0, 0
	for _, verb := range []string{"s", "d", "f", "e", "b", "x", "X", "o", ".2f", ".3e", "q", "%"} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			// The format is a variable, since the server refuses constant formats that always fail.
			p := judged(t, k, fmt.Sprintf("'%%%s'.format([object.metadata.name == 'x' ? dyn(%s) : dyn(%s)]) != ''", verb, values[name], values[name]))
			switch {
			case p == nil:
			case p.failed["validations[0]"]:
				fail++
			case !p.proved("validations[0]"):
				lost++
			}
		}
	}
	if fail < 60 {
		t.Errorf("only %d of the formats fail", fail)
	}
	t.Logf("%d formats fail, and are not proved; %d do not and are not proved either", fail, lost)
}
