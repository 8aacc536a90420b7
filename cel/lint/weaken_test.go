package lint

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/ast"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestEveryRuleCounts takes the rules of functions that can fail away, one at a time: an expression
// that the evaluator makes fail must then be proved.
func TestEveryRuleCounts(t *testing.T) {
	users := map[string][]*soundPolicy{} // overload → policies with a failing expression that uses it
	for _, p := range plainPolicies(t) {
		for id := range p.overloads(t) {
			users[id] = append(users[id], p)
		}
	}
	caught := 0
	var missed []string
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		switch {
		case same(rules[id], never), same(rules[id], parts), same(rules[id], found): // these do not fail
		case weakened(t, id, never, users[id]):
			caught++
		default:
			missed = append(missed, id)
		}
	}
	t.Logf("%d rules of functions that can fail are each needed", caught)
	if len(missed) > 0 {
		t.Errorf("nothing fails by these alone, so that their rules could be wrong: %s", strings.Join(missed, " "))
	}
}

func same(a, b rule) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

// plainPolicies are policies with one expression each, in which only a function can fail: its operand
// is behind a guard.
func plainPolicies(t *testing.T) []*soundPolicy {
	kinds := plainKinds(t)
	g := &generator{Rand: rand.New(rand.NewPCG(1, 3)), guarded: 100, risky: 100}
	var all []*soundPolicy
	for _, x := range []struct {
		resource, guard string
		of              operand
	}{
		{"pods", "has(object.metadata.labels) && 'a' in object.metadata.labels", operand{"object.metadata.labels['a']", textTree, false}},
		{"widgets.example.com", "has(object.spec.size) && type(object.spec.size) == int", operand{"object.spec.size", &tree{form: integer}, false}},
		{"widgets.example.com", "has(object.spec.ratio) && type(object.spec.ratio) == double", operand{"object.spec.ratio", &tree{form: number}, false}},
		{"pods", "has(object.spec.containers[0].resources.limits) && 'cpu' in object.spec.containers[0].resources.limits", operand{"object.spec.containers[0].resources.limits['cpu']", &tree{form: quantityText}, false}},
		{"pods", "true", operand{"object.metadata.creationTimestamp", &tree{form: timeText}, false}},
		{"widgets.example.com", "has(object.spec.tags)", operand{"object.spec.tags", &tree{form: list, elem: textTree}, false}},
	} {
		patterns := g.patterns(x.of.tree)
		if x.of.tree == textTree {
			patterns = append(append(patterns, alone...), mixed()...)
		}
		if x.of.tree.form == list {
			patterns = []string{"$.max() != 'a'", "$.min() != 'a'", "$.map(x, x.size()).max() > 1", "$.map(x, x.size()).min() > 1", "$.map(x, double(x.size())).max() > 1.0", "$.map(x, 9223372036854775807).sum() > 1", "$.slice(0, 1).size() == 1", "$.map(x, x.size() == 1).max()"}
		}
		k := kinds[x.resource]
		for _, pattern := range patterns {
			if p := judged(t, k, x.guard+" ? ("+of(among(pattern), x.of.text)+") : true"); p != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

func plainKinds(t *testing.T) map[string]*soundKind {
	return map[string]*soundKind{
		"pods":                valued(t, "pods", typeTree[corev1.Pod](), podValues()),
		"widgets.example.com": valued(t, "widgets.example.com", widgetTree(), widgetValues()),
	}
}

// judged is a policy with one expression that the evaluator has judged each request of a kind by, nil
// if the server would not take it.
func judged(t *testing.T, k *soundKind, expression string) *soundPolicy {
	p := &soundPolicy{kind: k, ops: []string{"CREATE"}, failed: map[string]bool{}}
	p.spec.MatchConstraints = constraints(t, "CREATE "+k.resource)
	p.spec.Validations = []admissionv1.Validation{{Expression: expression}}
	if !p.compile(t, admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "case", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}) {
		return nil
	}
	p.prove(t)
	for _, q := range k.requests {
		_, failed := p.judge(q)
		for _, field := range failed {
			if p.proved(field) && !p.failed[field] {
				t.Error(p.report(0, field, q))
			}
			p.failed[field] = true
		}
	}
	return p
}

// alone are expressions in which one function fails, and no other can.
var alone = []string{
	"[b'\\377'].map(x, x).all(x, string(x) != '')", "[18446744073709551615u].map(x, x).all(x, int(x) > 1)",
	"uint(size($)) + 18446744073709551615u > 1u", "uint(size($)) - 5000u > 1u", "uint(size($)) * 18446744073709551615u > 1u", "10u / uint(size($) * 0) > 1u", "10u % uint(size($) * 0) > 1u",
	"$ in ['2500000h', @durations] ? duration($) + duration('2500000h') > duration('1s') : true", "$ in ['-2500000h', @durations] ? duration($) - duration('2500000h') > duration('1s') : true",
	"$ in ['9998-12-31T23:00:00Z', @times] ? timestamp($) + duration('9000h') > timestamp('2020-01-01T00:00:00Z') : true", "$ in ['9998-12-31T23:00:00Z', @times] ? duration('9000h') + timestamp($) > timestamp('2020-01-01T00:00:00Z') : true",
	"$ in ['0002-01-02T00:00:00Z', @times] ? timestamp($) - duration('90000h') > timestamp('2020-01-01T00:00:00Z') : true", "$ in ['9998-12-31T23:00:00Z', @times] ? timestamp($) - timestamp('0002-01-02T00:00:00Z') > duration('1s') : true",
	"timestamp('2020-01-01T00:00:00Z').getMonth($) > 1", "timestamp('2020-01-01T00:00:00Z').getDayOfMonth($) > 1", "timestamp('2020-01-01T00:00:00Z').getDate($) > 1", "timestamp('2020-01-01T00:00:00Z').getDayOfWeek($) > 1", "timestamp('2020-01-01T00:00:00Z').getDayOfYear($) > 1",
	"timestamp('2020-01-01T00:00:00Z').getMinutes($) > 1", "timestamp('2020-01-01T00:00:00Z').getSeconds($) > 1", "timestamp('2020-01-01T00:00:00Z').getMilliseconds($) > 1",
	"matches($, $)", "optional.ofNonZeroValue($).value() != 'a'", "optional.unwrap(dyn([$])).size() > 0", "dyn([$]).unwrapOpt().size() > 0", "authorizer.path($).check('get').allowed()", "authorizer.serviceAccount($, 'a').path('/x').check('get').allowed()", "$.lastIndexOf('a', -1) > 1",
	"[$].filter(x, x == 'zz').max() != 'a'", "[$].filter(x, x == 'zz').min() != 'a'", "[string($)].filter(x, x == 'zz').max() != 'a'", "[string($)].filter(x, x == 'zz').min() != 'a'", "[$].filter(x, x == 'zz').map(x, true).min()", "[$].filter(x, x == 'zz').map(x, uint(size(x))).max() > 1u", "[$].filter(x, x == 'zz').map(x, uint(size(x))).min() > 1u",
	"[$].filter(x, x == 'zz').map(x, double(size(x))).min() > 1.0", "[$].filter(x, x == 'zz').map(x, bytes(x)).min() != b'a'", "[$].filter(x, x == 'zz').map(x, bytes(x)).max() != b'a'", "[$].filter(x, x == 'zz').map(x, duration('1s')).max() > duration('1s')", "[$].filter(x, x == 'zz').map(x, duration('1s')).min() > duration('1s')",
	"[$].filter(x, x == 'zz').map(x, timestamp('2020-01-01T00:00:00Z')).max() > timestamp('2020-01-01T00:00:00Z')", "[$].filter(x, x == 'zz').map(x, timestamp('2020-01-01T00:00:00Z')).min() > timestamp('2020-01-01T00:00:00Z')",
	"[$, $].map(x, 18446744073709551615u).sum() > 1u", "[$, $].map(x, duration('2500000h')).sum() > duration('1s')",
	// The ends of what functions take, from both sides.
	"($.size() > 0 ? $.charAt(1) != '-' : true)", "($.size() > 0 ? $.charAt(2) != '-' : true)", "$.substring($.size()) == ''", "$.substring($.size() + 1) == ''", "$.substring(1, 0) == ''", "$.substring($.indexOf('-')) != 'x'",
	"($.indexOf('', 100) >= 0 ? $.substring($.indexOf('', 100)) != 'x' : true)", "($.lastIndexOf('', 100) >= 0 ? $.substring($.lastIndexOf('', 100)) != 'x' : true)", "($.indexOf('-') >= 0 ? $.substring($.indexOf('-') + 1) != 'x' : true)", "$.substring($.lastIndexOf('-') + 1) != 'x'",
	"($.size() > 2 ? $.substring($.size() - 2, $.size()) != 'x' : true)", "$.substring($.size(), $.size()) == ''", "($.size() > 2 ? $.substring(2, $.size() - 1) != 'x' : true)", "[$].slice(0, 2).size() > 0", "[$].slice(1, 1).size() == 0", "[$].slice(1, 0).size() == 0",
	"$.indexOf('a', 100) < 0", "$.lastIndexOf('a', 100) < 0", "lists.range($.size() - 1).size() > 0", "[[$]].flatten($.size() - 1).size() > 0",
	// Lists whose items are of other types than they are declared with, or of several.
	"[namespaceObject.metadata.creationTimestamp].isSorted()", "[namespaceObject.metadata.creationTimestamp].max() != timestamp('2020-01-01T00:00:00Z')", "[namespaceObject.metadata.creationTimestamp].sort().size() > 0", "[1].sortBy(i, namespaceObject.metadata.creationTimestamp).size() > 0",
	"([true] + dyn(object.spec.containers.map(c, c.name))).filter(x, type(x) == string).isSorted()", "([true] + dyn(object.spec.containers.map(c, dyn(c.name)))).filter(x, type(x) == string).sort().size() > 0", "([1.5] + dyn(object.spec.containers.map(c, dyn(1)))).filter(x, type(x) == int).max() > 1.0",
	"[dyn(1), dyn(1.5)].map(x, x).sort().size() > 0", "[0, 1].sortBy(i, [dyn(1), dyn(1.5)][i]).size() > 0", "[dyn(1), dyn(1.5)].map(x, x).isSorted()", "[dyn(1), dyn(1.5)].map(x, x).max() > 1",
	"([1.5] + dyn(object.spec.containers.map(c, dyn(1)))).filter(x, type(x) == int).sum() > 1.0", "([1] + dyn(object.spec.containers.map(c, dyn(1.5)))).sum() > 1", "(['a'] + dyn(object.spec.containers.map(c, dyn(1)))).filter(x, type(x) == int).join() == ''",
}

// mixed are expressions about a list that is declared to hold values of one type, and holds objects
// besides: a list of a known type and one of any have the type of the first together.
func mixed() []string {
	var all []string
	for _, item := range []string{"true", "b'a'", "1.5", "1", "2u", "'a'", "duration('1s')", "timestamp('2020-01-01T00:00:00Z')"} {
		for _, pattern := range []string{"$.isSorted()", "$.sort().size() > 1", "[0, 1].sortBy(i, $[i]).size() > 1"} {
			all = append(all, of(pattern, "(["+item+"] + object.spec.containers)"))
		}
	}
	for _, pattern := range []string{"$.join() != 'a'", "$.join(',') != 'a'"} {
		all = append(all, of(pattern, "(['a'] + object.spec.containers)"))
	}
	return append(all, "([1.5] + object.spec.containers).sum() > 1.0")
}

// among writes what stands for more texts than the analysis tells apart.
func among(pattern string) string {
	for name, format := range map[string]string{"@durations": "'%ds'", "@times": "'20%02d-01-01T00:00:00Z'", "@words": "'b%d'"} {
		texts := make([]string, 20)
		for i := range texts {
			texts[i] = fmt.Sprintf(format, i)
		}
		pattern = strings.ReplaceAll(pattern, name, strings.Join(texts, ", "))
	}
	return pattern
}

// podValues and widgetValues are parts of objects that hold every value of the generator.
func podValues() []map[string]any {
	var all []map[string]any
	for _, w := range append(words, "", "true", "é", "99999999999999999999", "2500000h", "-2500000h", "9998-12-31T23:00:00Z", "0002-01-02T00:00:00Z") {
		all = append(all, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": w}}})
	}
	for _, q := range []string{"1", "0.5", "1Gi"} {
		container := map[string]any{"name": "a", "image": "b", "resources": map[string]any{"limits": map[string]any{"cpu": q}}}
		all = append(all, map[string]any{"spec": map[string]any{"containers": []any{container}}})
	}
	return all
}

func widgetValues() []map[string]any {
	var all []map[string]any
	for _, n := range []any{int64(0), int64(1), int64(-1), int64(300), int64(253402300800), int64(math.MaxInt64), int64(math.MinInt64), 1.5, 1e300} {
		field := "size"
		if _, ok := n.(float64); ok {
			field = "ratio"
		}
		all = append(all, map[string]any{"spec": map[string]any{field: n}})
	}
	for _, tags := range [][]any{{}, {"a"}, {"b", "a"}} {
		all = append(all, map[string]any{"spec": map[string]any{"tags": tags}})
	}
	return all
}

// valued is a kind with a request for each of some parts of its object.
func valued(t *testing.T, resource string, n *tree, parts []map[string]any) *soundKind {
	plain, err := skeletons()
	if err != nil {
		t.Fatal(err)
	}
	k := &soundKind{resource: resource, ops: []string{"CREATE"}, tree: n, plain: plain}
	gvr, _ := resourceOf(t, resource)
	endpoint, _ := corpusResources().Lookup(gvr, "")
	for _, part := range parts {
		k.requests = append(k.requests, k.completed(t, merged(plain[endpoint.Kind.Kind], part)))
	}
	return k
}

func (k *soundKind) completed(t *testing.T, object map[string]any) soundRequest {
	k.skeletons = []map[string]any{object}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		if q, err := k.request(t, r); err == nil {
			return q
		}
	}
	t.Fatalf("%v does not become a request", object)
	return soundRequest{}
}

// weakened tells whether a failing expression is proved once an overload has another rule.
func weakened(t *testing.T, id string, by rule, users []*soundPolicy) bool {
	was := rules[id]
	rules[id] = by
	defer func() { rules[id] = was }()
	for _, p := range users {
		weak := *p
		weak.prove(t)
		for field := range p.failed {
			if !p.proved(field) && weak.proved(field) {
				return true
			}
		}
	}
	return false
}

// overloads are those that the failing expressions of a policy, and its variables, use.
func (p *soundPolicy) overloads(t *testing.T) map[string]bool {
	used := map[string]bool{}
	if len(p.failed) == 0 {
		return used
	}
	checked, _, err := p.set.Checked("case")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checked {
		if c.AST == nil || !p.failed[c.Field] && !strings.HasPrefix(c.Field, "variables[") {
			continue
		}
		ast.PreOrderVisit(c.AST.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			for _, id := range c.AST.GetOverloadIDs(e.ID()) {
				used[id] = true
			}
		}))
	}
	return used
}
