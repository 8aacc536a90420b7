package lint

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"hangar.io/holdshort/cel/schema"
)

// rule says when an overload fails on arguments of its kinds, and what is known of its result. It
// returns why the overload may fail, "" for never, and the result, nil for anything of the type that
// it is declared with.
type rule func(e *evaluation, s *state, args []*term) (fails string, result *schema.Shape)

// never is the rule of overloads that do not fail.
func never(*evaluation, *state, []*term) (string, *schema.Shape) { return "", nil }

// may is the rule of overloads that can fail on some arguments.
func may(why string) rule {
	return func(*evaluation, *state, []*term) (string, *schema.Shape) { return why, nil }
}

// transfer is what an overload does on arguments that it takes.
func (e *evaluation) transfer(o overload, node int64, function string, s *state, args []*term) []outcome {
	r, ok := rules[o.id]
	if !ok {
		return []outcome{e.unknown(s, node, "the analysis has no rule for %s", o.id)}
	}
	fails, known := r(e, s, args)
	var out []outcome
	if fails != "" {
		out = append(out, e.fault(s, node, "%s: %s", display(function), fails))
	}
	shape := shapeOf(o.result)
	if o.ambiguous {
		shape = schema.Unknown
	}
	var result *term
	switch function {
	case "size":
		result = e.size(args[0])
		if least, most := e.sizeBounds(s, args[0]); s.bound(result, least, most) != nil {
			s = s.bound(result, least, most)
		}
	case "reverse", "distinct", "sort", "@sortByAssociatedKeys":
		result = e.kept(args[0], fmt.Sprint(function, ids(args)))
	case "max", "min":
		result = e.terms.call(function, itemShape(args[0]).With(e.itemKinds(s, args[0])), args...)
	case "sum":
		if k := e.itemKinds(s, args[0]); k != 0 && k&(k-1) == 0 {
			if least, _ := e.sizeBounds(s, args[0]); least > 0 {
				shape = &schema.Shape{Kinds: k, Min: minInt, Max: maxInt}
			}
		}
		result = e.terms.call(function, shape, args...)
	case "first", "last":
		result = e.terms.call(function, schema.OptionalOf(itemShape(args[0])), args...)
	case "value":
		result = e.terms.call(function, itemShape(args[0]), args...)
	case "optional.ofNonZeroValue":
		result = e.terms.call(function, schema.OptionalOf(args[0].shape), args...)
	case operators.Add:
		if o.id == "add_list" {
			shape = schema.ListOf(schema.Join(itemShape(args[0]), itemShape(args[1])))
		}
		result = e.terms.call(function, shape, args...)
	default:
		result = e.terms.call(function, shape, args...)
	}
	return append(out, value(e.knowing(s, result, known), result))
}

// knowing is the state that knows of a result what a rule found out. It is no part of the term's
// shape: the rule has looked at the state, and the term is the same in others.
func (e *evaluation) knowing(s *state, result *term, known *schema.Shape) *state {
	next := s
	switch {
	case known == nil:
	case known.Kinds == schema.Int:
		next = s.bound(result, known.Min, known.Max)
	case known.NonEmpty:
		next = s.bound(e.size(result), 1, maxInt)
	}
	if next == nil {
		return s
	}
	return next
}

func ids(args []*term) []int32 {
	out := make([]int32, len(args))
	for i, a := range args {
		out[i] = a.id
	}
	return out
}

// ints is the rule of arithmetic that fails on overflow.
func ints(f func(a, b int64) (int64, bool)) rule {
	return func(_ *evaluation, s *state, args []*term) (string, *schema.Shape) {
		a, b := [2]int64{}, [2]int64{}
		a[0], a[1] = s.bounds(args[0])
		b[0], b[1] = s.bounds(args[len(args)-1])
		shape := &schema.Shape{Kinds: schema.Int, Min: math.MaxInt64, Max: math.MinInt64}
		for _, x := range a {
			for _, y := range b {
				v, ok := f(x, y)
				if !ok {
					return "the result may not fit an int", &schema.Shape{Kinds: schema.Int, Min: minInt, Max: maxInt}
				}
				shape.Min, shape.Max = min(shape.Min, v), max(shape.Max, v)
			}
		}
		return "", shape
	}
}

func addInts(a, b int64) (int64, bool) {
	v := a + b
	return v, (v > a) == (b > 0)
}

func subtractInts(a, b int64) (int64, bool) {
	v := a - b
	return v, (v < a) == (b > 0)
}

func multiplyInts(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	v := a * b
	return v, v/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
}

// divides is the rule of division and remainder: not by zero, nor the least int by -1.
func divides(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	least, most := s.bounds(args[1])
	a, _ := s.bounds(args[0])
	switch {
	case least <= 0 && most >= 0:
		return "the divisor may be 0", nil
	case least <= -1 && most >= -1 && a == math.MinInt64:
		return "the result may not fit an int", nil
	}
	return "", nil
}

// parses is the rule of a conversion of text: it does not fail on text of a format, or that a
// predicate has accepted, or that the function itself does not fail on now.
func parses(format schema.Text, predicate string, ok func(string) bool) rule {
	return func(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
		t := args[0]
		if format != schema.AnyText && t.shape.Text == format {
			return "", nil
		}
		if texts := e.options(s, t); ok != nil && len(texts) > 0 && !slices.ContainsFunc(texts, func(text string) bool { return !ok(text) }) {
			return "", nil
		}
		if predicate != "" {
			if v, known := s.find(e.terms.call(predicate, boolShape, args...), truthFact); known && v == 1 {
				return "", nil
			}
		}
		why := "the text may be malformed"
		if predicate != "" {
			why += ", ask " + predicate + "() before"
		}
		return why, nil
	}
}

// options are the texts that a term is one of: a constant, or those of a list of constants that it is in.
// None if they are not known.
func (e *evaluation) options(s *state, t *term) []string {
	if c := s.equal(t, e.terms); c != nil {
		if text, ok := c.value.(types.String); ok {
			return []string{string(text)}
		}
		return nil
	}
	for _, f := range s.facts {
		in := e.terms.all[f.key.term()]
		if f.key.aspect() != truthFact || f.value != 1 || in.kind != callTerm || in.name != operators.In || in.args[0] != t || in.args[1].kind != listTerm {
			continue
		}
		var texts []string
		for _, a := range in.args[1].args {
			if text, ok := a.value.(types.String); ok && a.kind == constTerm {
				texts = append(texts, string(text))
			}
		}
		if len(texts) == len(in.args[1].args) {
			return texts
		}
	}
	return nil
}

// found is the rule of a search for text, which gives -1 or an index.
func found(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	_, most := e.sizeBounds(s, args[0])
	return "", &schema.Shape{Kinds: schema.Int, Min: -1, Max: most}
}

// held is the rule of value(), which fails on an optional without one.
func held(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	if v, ok := s.find(e.terms.call("hasValue", boolShape, args...), truthFact); ok && v == 1 {
		return "", nil
	}
	return "there may be no value, ask hasValue() before", nil
}

// digits is the rule of conversions of text to numbers: text that a regular expression restricts to a
// few digits is one.
func digits(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	for _, f := range s.facts {
		t := e.terms.all[f.key.term()]
		if f.key.aspect() != truthFact || f.value != 1 || t.kind != callTerm || t.name != "matches" || len(t.args) != 2 || t.args[0] != args[0] {
			continue
		}
		if pattern, ok := t.args[1].value.(types.String); ok && onlyDigits(string(pattern)) {
			return "", nil
		}
	}
	return parses(schema.AnyText, "", isDigits)(e, s, args)
}

var digitPattern = regexp.MustCompile(`^\^(?:\[0-9\]|\\d)(?:\{(?:\d+,)?(\d+)\})?\$$`)

// onlyDigits tells whether a regular expression matches nothing but digits, few enough for an int.
// In cel-go's expressions $ is the end of the text, not of a line.
func onlyDigits(pattern string) bool {
	m := digitPattern.FindStringSubmatch(pattern)
	if m == nil {
		return false
	}
	if m[1] == "" {
		return true
	}
	n, err := strconv.Atoi(m[1])
	return err == nil && n > 0 && n <= 18
}

// pattern is the rule of functions whose argument at a place is a regular expression.
func pattern(place int) rule {
	return func(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
		if c := s.equal(args[place], e.terms); c != nil {
			if text, ok := c.value.(types.String); ok {
				if _, err := regexp.Compile(string(text)); err == nil {
					return "", nil
				}
			}
		}
		return "the regular expression may be malformed", nil
	}
}

// itemKinds are the kinds that items of a list can have.
func (e *evaluation) itemKinds(s *state, l *term) schema.Kinds {
	if l.kind == listTerm {
		var k schema.Kinds
		for _, a := range l.args {
			k |= s.kinds(a)
		}
		return k
	}
	if l.kind == callTerm && l.name == operators.Add {
		return e.itemKinds(s, l.args[0]) | e.itemKinds(s, l.args[1])
	}
	return s.kinds(e.every(l))
}

// convertsInt is the rule of conversions of numbers that fail out of a range.
func convertsInt(least, most int64) rule {
	return func(_ *evaluation, s *state, args []*term) (string, *schema.Shape) {
		if a, b := s.bounds(args[0]); a >= least && b <= most {
			return "", nil
		}
		return "the number may be out of range", nil
	}
}

// parts is the rule of split, which gives at least one part: all of the text if the separator is not
// in it. Only an empty separator cuts an empty text into none.
func parts(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	l := *schema.ListOf(textShape)
	text, _ := e.sizeBounds(s, args[0])
	separator, _ := e.sizeBounds(s, args[1])
	l.NonEmpty = text > 0 || separator > 0
	return "", &l
}

// notEmpty is the rule of functions that refuse empty text.
func notEmpty(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	if least, _ := e.sizeBounds(s, args[len(args)-1]); least < 1 {
		return "the text may be empty", nil
	}
	return "", nil
}

// zone is the rule of the parts of a timestamp in a time zone.
func zone(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	if c := s.equal(args[1], e.terms); c != nil {
		if text, ok := c.value.(types.String); ok && (text == "UTC" || text == "") {
			return "", nil
		}
	}
	return "the time zone may be unknown", nil
}

// formats is the rule of format: the verbs take the kinds of the arguments.
func formats(e *evaluation, s *state, args []*term) (string, *schema.Shape) {
	c := s.equal(args[0], e.terms)
	if c == nil || args[1].kind != listTerm {
		return "the arguments may not fit the verbs", nil
	}
	text, ok := c.value.(types.String)
	if !ok {
		return "the arguments may not fit the verbs", nil
	}
	verbs := regexp.MustCompile(`%(?:%|(?:\.\d+)?([a-zA-Z]))`).FindAllStringSubmatch(string(text), -1)
	if strings.Count(strings.ReplaceAll(string(text), "%%", ""), "%") != len(verbs)-strings.Count(string(text), "%%") {
		return "a verb may be malformed", nil
	}
	i := 0
	for _, v := range verbs {
		if v[0] == "%%" {
			continue
		}
		if i >= len(args[1].args) {
			return "there are fewer arguments than verbs", nil
		}
		k := s.kinds(args[1].args[i])
		i++
		takes := schema.Int | schema.Uint
		switch v[1] {
		case "s":
			takes = schema.Null | schema.Bool | schema.Int | schema.Uint | schema.Double | schema.String | schema.Bytes | schema.Timestamp | schema.Duration | schema.Type
			if a := args[1].args[i-1]; k&(schema.List|schema.Map) != 0 && printable(a.shape, itemShape(a), 4) {
				takes |= schema.List | schema.Map
			}
		case "d":
		case "f", "e":
			takes = schema.Double
		case "b":
			takes |= schema.Bool
		case "x", "X":
			takes |= schema.String | schema.Bytes
		case "o":
		default:
			return "%" + v[1] + " is no verb", nil
		}
		if rest := k &^ takes; rest != 0 {
			return "%" + v[1] + " may get " + kindNames(rest), nil
		}
	}
	return "", nil
}

// rules has one entry for every overload of every environment that policies are evaluated in. An
// overload that is left out is reported as unknown, and a test fails. Where a rule says that an
// overload may fail although it does not, a proof is lost; where it says never although it does,
// proofs are wrong: when in doubt, may.
var rules = map[string]rule{
	// Operators. Those that read keys, compare for equality and decide are in eval.go and call.go.
	"add_int64": ints(addInts), "subtract_int64": ints(subtractInts), "multiply_int64": ints(multiplyInts),
	"negate_int64": ints(func(a, _ int64) (int64, bool) { return -a, a != math.MinInt64 }),
	"divide_int64": divides, "modulo_int64": divides,
	"add_uint64": may("the result may not fit a uint"), "subtract_uint64": may("the result may be negative"),
	"multiply_uint64": may("the result may not fit a uint"), "divide_uint64": may("the divisor may be 0"), "modulo_uint64": may("the divisor may be 0"),
	"add_double": never, "subtract_double": never, "multiply_double": never, "divide_double": never, "negate_double": never,
	"add_string": never, "add_bytes": never, "add_list": never,
	"add_duration_duration": may("the result may be out of range"), "subtract_duration_duration": may("the result may be out of range"),
	"add_duration_timestamp": may("the result may be out of range"), "add_timestamp_duration": may("the result may be out of range"),
	"subtract_timestamp_duration": may("the result may be out of range"), "subtract_timestamp_timestamp": may("the result may be out of range"),

	// Text.
	"contains_string": never, "starts_with_string": never, "ends_with_string": never,
	"matches": pattern(1), "matches_string": pattern(1),
	"string_find_string": pattern(1), "string_find_all_string": pattern(1), "string_find_all_string_int": pattern(1),
	"string_char_at_int": within, "string_substring_int": within, "string_substring_int_int": within,
	"string_index_of_string": found, "string_last_index_of_string": found,
	"string_index_of_string_int": offset, "string_last_index_of_string_int": offset,
	"string_lower_ascii": never, "string_upper_ascii": never, "string_trim": never,
	"string_replace_string_string": never, "string_replace_string_string_int": never,
	"string_split_string": parts, "string_split_string_int": never,
	"strings_quote": never, "string_format": formats,
	"list_join": never, "list_join_string": never,

	// Sizes.
	"size_string": never, "size_bytes": never, "size_list": never, "size_map": never,
	"string_size": never, "bytes_size": never, "list_size": never, "map_size": never,

	// Conversions.
	"bool_to_bool": never, "bytes_to_bytes": never, "double_to_double": never, "int64_to_int64": never, "uint64_to_uint64": never,
	"string_to_string": never, "duration_to_duration": never, "timestamp_to_timestamp": never, "to_dyn": never, "type": never,
	"string_to_bool":   parses(schema.AnyText, "", func(s string) bool { return s == "true" || s == "false" }),
	"string_to_int64":  digits,
	"string_to_uint64": digits,
	"string_to_double": digits,
	"string_to_bytes":  never, "bytes_to_string": may("the bytes may not be UTF-8"),
	"int64_to_double": never, "uint64_to_double": never,
	"int64_to_uint64": convertsInt(0, math.MaxInt64), "uint64_to_int64": may("the number may be out of range"),
	"double_to_int64": may("the number may be out of range"), "double_to_uint64": may("the number may be out of range"),
	"bool_to_string": never, "double_to_string": never, "int64_to_string": never, "uint64_to_string": never,
	"duration_to_string": never, "timestamp_to_string": never,
	"duration_to_int64": never, "timestamp_to_int64": never,
	"int64_to_timestamp": convertsInt(0, 253402300799), // to the end of the year 9999
	"string_to_timestamp": parses(schema.TimeText, "", func(s string) bool {
		t, err := time.Parse(time.RFC3339, s)
		return err == nil && t.Year() > 1 && t.Year() < 9999
	}),
	"string_to_duration": parses(schema.DurationText, "", func(s string) bool {
		_, err := time.ParseDuration(s)
		return err == nil
	}),

	// Times.
	"timestamp_to_year": never, "timestamp_to_month": never, "timestamp_to_day_of_month": never, "timestamp_to_day_of_month_1_based": never,
	"timestamp_to_day_of_week": never, "timestamp_to_day_of_year": never, "timestamp_to_hours": never, "timestamp_to_minutes": never,
	"timestamp_to_seconds": never, "timestamp_to_milliseconds": never,
	"timestamp_to_year_with_tz": zone, "timestamp_to_month_with_tz": zone, "timestamp_to_day_of_month_with_tz": zone,
	"timestamp_to_day_of_month_1_based_with_tz": zone, "timestamp_to_day_of_week_with_tz": zone, "timestamp_to_day_of_year_with_tz": zone,
	"timestamp_to_hours_with_tz": zone, "timestamp_to_minutes_with_tz": zone, "timestamp_to_seconds_tz": zone, "timestamp_to_milliseconds_with_tz": zone,
	"duration_to_hours": never, "duration_to_minutes": never, "duration_to_seconds": never, "duration_to_milliseconds": never,

	// Lists. An overload for a list of one type gets no other items than of that type (see itemsTaken);
	// one for ints stands for all, where it is not known which.
	"list_a_index_of_int": never, "list_a_last_index_of_int": never, "list_includes_dyn_dyn": never,
	"list_bool_is_sorted_bool": never, "list_bytes_is_sorted_bool": never, "list_double_is_sorted_bool": never, "list_duration_is_sorted_bool": never,
	"list_int_is_sorted_bool": never, "list_string_is_sorted_bool": never, "list_timestamp_is_sorted_bool": never, "list_uint_is_sorted_bool": never,
	"list_bool_max_bool": notNothing, "list_bytes_max_bytes": notNothing, "list_double_max_double": notNothing, "list_duration_max_duration": notNothing,
	"list_int_max_int": notNothing, "list_string_max_string": notNothing, "list_timestamp_max_timestamp": notNothing, "list_uint_max_uint": notNothing,
	"list_bool_min_bool": notNothing, "list_bytes_min_bytes": notNothing, "list_double_min_double": notNothing, "list_duration_min_duration": notNothing,
	"list_int_min_int": notNothing, "list_string_min_string": notNothing, "list_timestamp_min_timestamp": notNothing, "list_uint_min_uint": notNothing,
	"list_double_sum_double": never, "list_duration_sum_duration": may("the sum may be out of range"), "list_int_sum_int": sums, "list_uint_sum_uint": may("the sum may not fit a uint"),
	"list_distinct": never, "list_reverse": never, "list_flatten": never, "list_flatten_int": depth,
	"list_first": never, "list_last": never, "list_slice": within, "lists_range": lengths,
	"list_bool_sort": never, "list_bytes_sort": never, "list_double_sort": never, "list_int_sort": oneType(0),
	"list_string_sort": never, "list_uint_sort": never,
	"list_google.protobuf.Duration_sort": never, "list_google.protobuf.Timestamp_sort": never,
	"list_bool_sortByAssociatedKeys": never, "list_bytes_sortByAssociatedKeys": never, "list_double_sortByAssociatedKeys": never,
	"list_int_sortByAssociatedKeys": oneType(1), "list_string_sortByAssociatedKeys": never, "list_uint_sortByAssociatedKeys": never,
	"list_google.protobuf.Duration_sortByAssociatedKeys": never, "list_google.protobuf.Timestamp_sortByAssociatedKeys": never,
	"list_sets_contains_list": never, "list_sets_equivalent_list": never, "list_sets_intersects_list": never,

	// Optionals.
	"optional_none": never, "optional_of": never, "optional_ofNonZeroValue": never, "optional_hasValue": never,
	"optional_value": held, "optional_or_optional": never, "optional_orValue_value": never,
	"optional_unwrap": never, "optional_unwrapOpt": never,

	// Quantities.
	"string_to_quantity": parses(schema.QuantityText, "isQuantity", isQuantity), "is_quantity_string": never,
	"quantity_add": never, "quantity_add_int": never, "quantity_sub": never, "quantity_sub_int": never,
	"quantity_compare_to": never, "quantity_is_greater_than": never, "quantity_is_less_than": never, "quantity_is_integer": never, "quantity_sign": never,
	"quantity_get_float": never, "quantity_get_int": parses(schema.AnyText, "isInteger", nil),

	// Semantic versions.
	"string_to_semver": parses(schema.AnyText, "isSemver", isSemver), "string_bool_to_semver": parses(schema.AnyText, "isSemver", nil),
	"is_semver_string": never, "is_semver_string_bool": never,
	"semver_major": never, "semver_minor": never, "semver_patch": never, "semver_compare_to": never, "semver_is_greater_than": never, "semver_is_less_than": never,

	// URLs and addresses.
	"string_to_url": parses(schema.AnyText, "isURL", isURL), "is_url_string": never,
	"url_get_escaped_path": never, "url_get_host": never, "url_get_hostname": never, "url_get_port": never, "url_get_query": never, "url_get_scheme": never,
	"string_to_ip": parses(schema.AnyText, "isIP", isIP), "is_ip": never, "ip_is_canonical": parses(schema.AnyText, "isIP", nil),
	"ip_family": never, "ip_is_global_unicast": never, "ip_is_link_local_multicast": never, "ip_is_link_local_unicast": never, "ip_is_loopback": never, "ip_is_unspecified": never,
	"ip_to_string": never, "cidr_to_string": never,
	"string_to_cidr": parses(schema.AnyText, "isCIDR", isCIDR), "is_cidr": never,
	"cidr_contains_cidr": never, "cidr_contains_cidr_string": may("the text may be no CIDR"), "cidr_contains_ip_ip": never, "cidr_contains_ip_string": may("the text may be no IP address"),
	"cidr_ip": never, "cidr_masked": never, "cidr_prefix_length": never,

	// Formats.
	"format.byte": never, "format.date": never, "format.datetime": never, "format.dns1035Label": never, "format.dns1035LabelPrefix": never,
	"format.dns1123Label": never, "format.dns1123LabelPrefix": never, "format.dns1123Subdomain": never, "format.dns1123SubdomainPrefix": never,
	"format.labelValue": never, "format.qualifiedName": never, "format.uri": never, "format.uuid": never, "format-named": never, "format-validate": never,

	// The authorizer.
	"authorizer_path": notEmpty, "authorizer_group": never, "authorizer_serviceaccount": may("the names may be malformed"),
	"groupcheck_resource": never, "resourcecheck_subresource": never, "resourcecheck_namespace": never, "resourcecheck_name": never,
	"resourcecheck_check": never, "pathcheck_check": never, "authorizer_fieldselector": never, "authorizer_labelselector": never,
	"decision_allowed": never, "decision_reason": never, "decision_error": never, "decision_errored": never,
}

// ordering is the rule of comparisons: of doubles with NaN nothing is less, and nothing fails.
func init() {
	for _, operator := range []string{"less", "less_equals", "greater", "greater_equals"} {
		for _, kinds := range []string{
			"bool", "bytes", "double", "double_int64", "double_uint64", "duration", "int64", "int64_double", "int64_uint64",
			"string", "timestamp", "uint64", "uint64_double", "uint64_int64",
		} {
			rules[operator+"_"+kinds] = never
		}
	}
}

// elsewhere are the overloads that are no calls of values: eval.go and call.go have their rules. Only
// the macros transformMap and transformMapEntry call @mapInsert, and comprehension.go follows neither.
var elsewhere = []string{
	"@mapInsert_map_key_value", "@mapInsert_map_map",
	"logical_and", "logical_or", "logical_not", "conditional", "not_strictly_false", "__not_strictly_false__", "equals", "not_equals",
	"in_list", "in_map", "index_list", "index_map", "optional_list_index_int", "optional_map_index_value",
	"select_optional_field", "list_optindex_optional_int", "map_optindex_optional_value", "optional_list_optindex_optional_int", "optional_map_optindex_optional_value",
}

func isDigits(s string) bool { return len(s) > 0 && len(s) < 18 && strings.Trim(s, "0123456789") == "" }

func isQuantity(s string) bool {
	_, err := resource.ParseQuantity(s)
	return err == nil
}

// These are the usual forms of what the libraries of the API server parse: more would do.
var (
	plainURL    = regexp.MustCompile(`^https?://[a-z0-9.-]+(:[0-9]{1,5})?(/[a-zA-Z0-9/._-]*)?$`)
	plainSemver = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$`)
)

func isURL(s string) bool    { return plainURL.MatchString(s) }
func isSemver(s string) bool { return plainSemver.MatchString(s) }

func isIP(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Zone() == "" && !a.Is4In6()
}

func isCIDR(s string) bool {
	p, err := netip.ParsePrefix(s)
	return err == nil && !p.Addr().Is4In6()
}

// printable tells whether a list or map has only values that %s takes: those of JSON, and no values of
// libraries. item is the shape of what it holds.
func printable(s, item *schema.Shape, depth int) bool {
	const takes = schema.Any | schema.Uint | schema.Bytes | schema.Timestamp | schema.Duration | schema.Type
	switch {
	case s.Closed():
		return s.Name != "" // an object; a map that is written may hold anything
	case s.Dynamic || item == nil || item.Kinds&^takes != 0 || depth == 0:
		return false
	case item.Kinds&(schema.List|schema.Map) != 0:
		return printable(item, item.Elem(), depth-1)
	}
	return true
}
