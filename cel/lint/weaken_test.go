package lint

import (
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
// that fails must then be proved, so that the run above would fail.
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
		case reflect.ValueOf(rules[id]).Pointer() == reflect.ValueOf(never).Pointer():
		case weakened(t, id, users[id]):
			caught++
		default:
			missed = append(missed, id)
		}
	}
	t.Logf("%d rules count; no generated expression fails by these alone: %s", caught, strings.Join(missed, " "))
	if caught < 70 {
		t.Errorf("only %d rules count", caught)
	}
}

// plainPolicies are policies with one expression each, in which only a function can fail: its operand
// is behind a guard.
func plainPolicies(t *testing.T) []*soundPolicy {
	kinds := map[string]*soundKind{"pods": valued(t, "pods", typeTree[corev1.Pod](), podValues()), "widgets.example.com": valued(t, "widgets.example.com", widgetTree(), widgetValues())}
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
			patterns = append(patterns, alone...)
		}
		if x.of.tree.form == list {
			patterns = []string{"$.max() != 'a'", "$.min() != 'a'", "$.map(x, x.size()).max() > 1", "$.map(x, x.size()).min() > 1", "$.map(x, double(x.size())).max() > 1.0", "$.map(x, 9223372036854775807).sum() > 1", "$.slice(0, 1).size() == 1", "$.map(x, x.size() == 1).max()"}
		}
		k := kinds[x.resource]
		for _, pattern := range patterns {
			p := &soundPolicy{kind: k, ops: []string{"CREATE"}, failed: map[string]bool{}}
			p.spec.MatchConstraints = constraints(t, "CREATE "+k.resource)
			p.spec.Validations = []admissionv1.Validation{{Expression: x.guard + " ? " + of(pattern, x.of.text) + " : true"}}
			if !p.compile(t, admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "case", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}) {
				continue
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
			all = append(all, p)
		}
	}
	return all
}

// alone are expressions in which one function fails, and no other can.
var alone = []string{
	"string($ != 'x' ? b'\\377' : b'a') != ''",
	"uint(size($)) + 18446744073709551615u > 1u", "uint(size($)) - 5000u > 1u", "uint(size($)) * 18446744073709551615u > 1u", "10u / uint(size($) * 0) > 1u", "10u % uint(size($) * 0) > 1u",
	"int($ != 'x' ? 18446744073709551615u : 1u) > 1", "($ != 'x' ? duration('2500000h') : duration('1s')) + duration('2500000h') > duration('1s')", "($ != 'x' ? duration('-2500000h') : duration('1s')) - duration('2500000h') > duration('1s')",
	"($ != 'x' ? timestamp('9999-12-31T23:00:00Z') : timestamp('2020-01-01T00:00:00Z')) + duration('9000h') > timestamp('2020-01-01T00:00:00Z')", "duration('9000h') + ($ != 'x' ? timestamp('9998-12-31T23:00:00Z') : timestamp('2020-01-01T00:00:00Z')) > timestamp('2020-01-01T00:00:00Z')",
	"($ != 'x' ? timestamp('0002-01-02T00:00:00Z') : timestamp('2020-01-01T00:00:00Z')) - duration('90000h') > timestamp('2020-01-01T00:00:00Z')", "($ != 'x' ? timestamp('9998-01-02T00:00:00Z') : timestamp('2020-01-01T00:00:00Z')) - timestamp('0002-01-02T00:00:00Z') > duration('1s')",
	"timestamp('2020-01-01T00:00:00Z').getMonth($) > 1", "timestamp('2020-01-01T00:00:00Z').getDayOfMonth($) > 1", "timestamp('2020-01-01T00:00:00Z').getDate($) > 1", "timestamp('2020-01-01T00:00:00Z').getDayOfWeek($) > 1", "timestamp('2020-01-01T00:00:00Z').getDayOfYear($) > 1",
	"timestamp('2020-01-01T00:00:00Z').getMinutes($) > 1", "timestamp('2020-01-01T00:00:00Z').getSeconds($) > 1", "timestamp('2020-01-01T00:00:00Z').getMilliseconds($) > 1",
	"dyn([1, $]).join() != 'a'", "dyn([1, $]).join(',') != 'a'", "[$].filter(x, x == 'zz').first().value() == 'a'", "authorizer.path($).check('get').allowed()", "authorizer.serviceAccount($, 'a').path('/x').check('get').allowed()", "$.lastIndexOf('a', -1) > 1",
	"[$].filter(x, x == 'zz').max() != 'a'", "[$].filter(x, x == 'zz').min() != 'a'", "dyn([$, 1]).isSorted()", "dyn([$, 1]).min() != 1", "dyn([$, 1]).sort().size() > 1", "[$].filter(x, x == 'zz').map(x, true).min()", "[$].filter(x, x == 'zz').map(x, uint(size(x))).max() > 1u", "[$].filter(x, x == 'zz').map(x, uint(size(x))).min() > 1u",
	"[$].filter(x, x == 'zz').map(x, double(size(x))).min() > 1.0", "[$].filter(x, x == 'zz').map(x, bytes(x)).min() != b'a'", "[$].filter(x, x == 'zz').map(x, bytes(x)).max() != b'a'", "[$].filter(x, x == 'zz').map(x, duration('1s')).max() > duration('1s')", "[$].filter(x, x == 'zz').map(x, duration('1s')).min() > duration('1s')",
	"[$].filter(x, x == 'zz').map(x, timestamp('2020-01-01T00:00:00Z')).max() > timestamp('2020-01-01T00:00:00Z')", "[$].filter(x, x == 'zz').map(x, timestamp('2020-01-01T00:00:00Z')).min() > timestamp('2020-01-01T00:00:00Z')",
	"[$, $].map(x, 18446744073709551615u).sum() > 1u", "[$, $].map(x, duration('2500000h')).sum() > duration('1s')",
}

// podValues and widgetValues are parts of objects that hold every value of the generator.
func podValues() []map[string]any {
	var all []map[string]any
	for _, w := range append(words, "", "true", "é") {
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
	for _, n := range []any{int64(0), int64(1), int64(-1), int64(300), int64(math.MaxInt64), int64(math.MinInt64), 1.5, 1e300} {
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

// weakened tells whether a failing expression is proved once the rule says that it cannot fail.
func weakened(t *testing.T, id string, users []*soundPolicy) bool {
	rule := rules[id]
	rules[id] = never
	defer func() { rules[id] = rule }()
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
