package lint

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/witness"
)

// Random policies are judged on random requests that satisfy the assumptions, by the evaluator of the
// API server: an expression that is proved must not fail. The unit test is a sample; make sound makes a
// million evaluations, make soak ten.
var evaluations = flag.Int("evaluations", 0, "the least number of evaluations of random policies")

// soundKind is a resource that the policies are about.
type soundKind struct {
	resource  string
	ops       []string
	tree      *tree
	skeletons []map[string]any
	requests  []soundRequest
	plain     map[string]map[string]any // the skeletons of all kinds
}

type soundRequest struct {
	op       string
	prepared *harness.Prepared
	request  harness.Request
}

func typeTree[T any]() *tree { return treeOf(reflect.TypeFor[T]()) }

// soundKinds are the kinds with requests for each.
func soundKinds(t testing.TB, r *rand.Rand, requests int) []*soundKind {
	plain, err := skeletons()
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"CREATE", "UPDATE", "DELETE"}
	variant := func(kind, patch string) map[string]any {
		var p map[string]any
		if err := yaml.Unmarshal([]byte(patch), &p); err != nil {
			t.Fatal(err)
		}
		return merged(plain[kind], p)
	}
	one := func(kind string) []map[string]any { return []map[string]any{plain[kind]} }
	kinds := []*soundKind{
		{resource: "pods", ops: all, tree: typeTree[corev1.Pod](), skeletons: append(one("Pod"), variant("Pod", "metadata: {name: null, generateName: a-}"))},
		{resource: "pods/ephemeralcontainers", ops: []string{"UPDATE"}, tree: typeTree[corev1.Pod](), skeletons: one("Pod")},
		{resource: "pods/exec", ops: []string{"CONNECT"}, tree: typeTree[corev1.PodExecOptions](), skeletons: one("PodExecOptions")},
		{resource: "pods/eviction", ops: []string{"CREATE"}, tree: typeTree[policyv1.Eviction](), skeletons: one("Eviction")},
		{resource: "deployments.apps", ops: all, tree: typeTree[appsv1.Deployment](), skeletons: one("Deployment")},
		{resource: "deployments.apps/scale", ops: []string{"UPDATE"}, tree: typeTree[autoscalingv1.Scale](), skeletons: one("Scale")},
		{resource: "cronjobs.batch", ops: all, tree: typeTree[batchv1.CronJob](), skeletons: one("CronJob")},
		{resource: "services", ops: all, tree: typeTree[corev1.Service](), skeletons: append(one("Service"), variant("Service", "spec: {type: ExternalName, externalName: a.example.com, ports: null}"))},
		{resource: "ingresses.networking.k8s.io", ops: all, tree: typeTree[networkingv1.Ingress](), skeletons: append(one("Ingress"), variant("Ingress", "spec: {defaultBackend: null, rules: [{host: a}]}"))},
		{resource: "roles.rbac.authorization.k8s.io", ops: all, tree: typeTree[rbacv1.Role](), skeletons: append(one("Role"), variant("Role", "rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]"))},
		{resource: "clusterroles.rbac.authorization.k8s.io", ops: all, tree: typeTree[rbacv1.ClusterRole](), skeletons: append(one("ClusterRole"), variant("ClusterRole", "rules: [{verbs: [get], nonResourceURLs: [/a]}]"))},
		{resource: "rolebindings.rbac.authorization.k8s.io", ops: all, tree: typeTree[rbacv1.RoleBinding](), skeletons: append(one("RoleBinding"), variant("RoleBinding", "subjects: [{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}]"))},
		{resource: "configmaps", ops: all, tree: typeTree[corev1.ConfigMap](), skeletons: one("ConfigMap")},
		{resource: "namespaces", ops: all, tree: typeTree[corev1.Namespace](), skeletons: one("Namespace")},
		{resource: "nodes", ops: all, tree: typeTree[corev1.Node](), skeletons: one("Node")},
		{resource: "poddisruptionbudgets.policy", ops: all, tree: typeTree[policyv1.PodDisruptionBudget](), skeletons: one("PodDisruptionBudget")},
		{resource: "widgets.example.com", ops: all, tree: widgetTree(), skeletons: one("Widget")},
	}
	refused := 0
	for _, k := range kinds {
		k.plain = plain
		for len(k.requests) < requests {
			request, err := k.request(t, r)
			if err != nil {
				if refused++; refused > 10*requests*len(kinds) {
					t.Fatalf("%s: the requests do not become complete, the last: %v", k.resource, err)
				}
				continue
			}
			k.requests = append(k.requests, request)
		}
	}
	return kinds
}

var widgetTree = sync.OnceValue(func() *tree {
	text, err := os.ReadFile("testdata/corpus/widget-crd.yaml")
	if err != nil {
		panic(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		panic(err)
	}
	n := treeOfSchema(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	n.fields = append(n.fields, member{name: "metadata", tree: typeTree[metav1.ObjectMeta]()})
	return n
})

var params = map[string]*tree{"v1 ConfigMap": typeTree[corev1.ConfigMap](), "example.com/v1 Widget": widgetTree()}

// request is a random request for a kind that satisfies the assumptions.
func (k *soundKind) request(t testing.TB, r *rand.Rand) (soundRequest, error) {
	s := sampler{Rand: r}
	gvr, subresource := resourceOf(t, k.resource)
	endpoint, _ := corpusResources().Lookup(gvr, subresource)
	op := pick(r, k.ops...)
	q := harness.Request{Operation: admission.Operation(op), Resource: gvr, Subresource: subresource, Kind: endpoint.Kind}
	s.stored = op == "UPDATE" || op == "DELETE"
	object := func() map[string]any {
		return numbers64(s.mutate(pick(r, k.skeletons...), k.tree, 0)).(map[string]any)
	}
	if op != "DELETE" {
		q.Object = object()
	}
	if op == "UPDATE" || op == "DELETE" {
		q.OldObject = object()
		q.OldObject["metadata"].(map[string]any)["name"] = "x"
	}
	if op == "UPDATE" {
		q.Object["metadata"].(map[string]any)["name"] = "x"
	}
	if op == "DELETE" {
		q.Collection = s.chance(20)
	}
	if endpoint.Namespaced {
		q.Namespace = "team"
	}
	if op == "CONNECT" {
		q.Name = "x"
	}
	q.User = pick(r, user.DefaultInfo{Name: "ann"}, user.DefaultInfo{Name: "a-b", UID: "1", Groups: []string{"a", "main"}, Extra: map[string][]string{"a": {"b"}, "team": {"1", "a-b"}}},
		user.DefaultInfo{Name: "system:serviceaccount:team:a", Extra: map[string][]string{"team": {"a"}}}, user.DefaultInfo{Name: "system:anonymous"}, user.DefaultInfo{})
	namespace := &corev1.Namespace{ObjectMeta: team(nil)}
	if s.chance(50) {
		namespace.Labels = map[string]string{pick(r, keys...): pick(r, words...)}
		namespace.Annotations = map[string]string{pick(r, keys...): ""}
	}
	cluster := harness.Cluster{Resources: corpusResources(), Allow: []harness.Permission{}, Namespaces: map[string]*corev1.Namespace{"team": namespace}}
	for _, kind := range []string{"v1 ConfigMap", "example.com/v1 Widget"} {
		plain, n := k.plain, params[kind]
		apiVersion, name, _ := strings.Cut(kind, " ")
		param := numbers64(s.mutate(plain[name], n, 0)).(map[string]any)
		param = merged(param, map[string]any{"apiVersion": apiVersion, "kind": name, "metadata": map[string]any{"name": "params", "namespace": "team"}})
		param["metadata"].(map[string]any)["uid"] = "6f1c1e1a-3d9e-4a54-9a3f-0c8f6a2f3b7d"
		param["metadata"].(map[string]any)["creationTimestamp"] = "2026-01-02T03:04:05Z"
		if name == "Widget" {
			if spec := param["spec"].(map[string]any); spec["mode"] == nil {
				spec["mode"] = "auto"
			}
		}
		cluster.Params = append(cluster.Params, &unstructured.Unstructured{Object: param})
	}
	if err := harness.Complete(&q, cluster, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
		return soundRequest{}, err
	}
	if s.chance(20) {
		q.User.Groups = nil
	}
	p, err := harness.Prepare(q, cluster)
	return soundRequest{op, p, q}, err
}

// soundPolicy is a random policy with what the analysis says of it and what the evaluator did.
type soundPolicy struct {
	kind   *soundKind
	ops    []string
	spec   admissionv1.ValidatingAdmissionPolicySpec
	set    *harness.Set
	proofs []Proof
	failed map[string]bool // the fields that failed
	// searches for requests that make an expression fail, one a case
	searches map[Case]*witness.Search
}

// fields of a request and of a namespace, as they are.
var (
	textTree   = &tree{form: text}
	labelTree  = &tree{form: mapping, elem: textTree}
	objectKind = &tree{form: record, fields: []member{{name: "group", tree: textTree}, {name: "version", tree: textTree}, {name: "kind", tree: textTree}}}
)

func requestTree(namespaced bool) *tree {
	return &tree{form: record, fields: []member{
		{name: "operation", tree: textTree}, {name: "name", optional: true, tree: textTree}, {name: "namespace", optional: !namespaced, tree: textTree},
		{name: "subResource", optional: true, tree: textTree}, {name: "kind", tree: objectKind}, {name: "dryRun", optional: true, tree: &tree{form: truth}},
		{name: "uid", tree: textTree},
		{name: "userInfo", tree: &tree{form: record, fields: []member{
			{name: "username", optional: true, tree: textTree}, {name: "uid", optional: true, tree: textTree},
			{name: "groups", optional: true, tree: &tree{form: list, elem: textTree}},
			{name: "extra", optional: true, tree: &tree{form: mapping, elem: &tree{form: list, elem: textTree}}}}}},
	}}
}

var namespaceTree = &tree{form: record, fields: []member{{name: "metadata", tree: &tree{form: record, fields: []member{
	{name: "name", tree: textTree}, {name: "labels", optional: true, tree: labelTree}, {name: "annotations", optional: true, tree: labelTree}}}}}}

// modes of policies: how much is guarded, how much can fail on some values, how deep expressions are.
var modes = []struct{ guarded, risky, depth int }{
	{0, 60, 2},   // nothing is guarded
	{0, 30, 1},   // nor in these
	{100, 0, 2},  // everything is
	{70, 20, 2},  // most things are
	{100, 90, 0}, // only functions fail
}

// newPolicy is a random policy, nil if the server would not take it.
func newPolicy(t testing.TB, kinds []*soundKind, seed uint64) *soundPolicy {
	r := rand.New(rand.NewPCG(seed, 4))
	mode := modes[seed%uint64(len(modes))]
	g := &generator{Rand: r, guarded: mode.guarded, risky: mode.risky}
	k := pick(r, kinds...)
	p := &soundPolicy{kind: k, failed: map[string]bool{}, searches: map[Case]*witness.Search{}}
	for _, op := range k.ops {
		if g.chance(50) || len(k.ops) == 1 {
			p.ops = append(p.ops, op)
		}
	}
	if len(p.ops) == 0 {
		p.ops = []string{pick(r, k.ops...)}
	}
	gvr, subresource := resourceOf(t, k.resource)
	endpoint, _ := corpusResources().Lookup(gvr, subresource)
	object := operand{"object", k.tree, slices.Contains(p.ops, "DELETE")}
	old := operand{"oldObject", k.tree, slices.Contains(p.ops, "CREATE") || slices.Contains(p.ops, "CONNECT")}
	request := operand{"request", requestTree(endpoint.Namespaced), false}
	namespace := operand{"namespaceObject", namespaceTree, !endpoint.Namespaced}
	operands := []operand{object, object, object, old, request, request}
	p.spec.MatchConstraints = constraints(t, strings.Join(p.ops, ",")+" "+k.resource)
	binding := admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "case", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}
	if g.chance(25) {
		kind := pick(r, "v1 ConfigMap", "example.com/v1 Widget")
		apiVersion, name, _ := strings.Cut(kind, " ")
		p.spec.ParamKind = &admissionv1.ParamKind{APIVersion: apiVersion, Kind: name}
		if g.chance(70) {
			deny := admissionv1.DenyAction
			binding.ParamRef = &admissionv1.ParamRef{Name: "params", Namespace: "team", ParameterNotFoundAction: &deny}
		}
		operands = append(operands, operand{"params", params[kind], binding.ParamRef == nil})
	}
	if g.chance(40) {
		for i := range 1 + g.IntN(3) {
			p.spec.MatchConditions = append(p.spec.MatchConditions, admissionv1.MatchCondition{Name: fmt.Sprint("c", i), Expression: g.truth(operands, 1)})
		}
	}
	operands = append(operands, namespace)
	if g.chance(50) {
		for i := range 1 + g.IntN(3) {
			text, o := g.value(operands[g.IntN(len(operands))])
			name := fmt.Sprint("x", i)
			p.spec.Variables = append(p.spec.Variables, admissionv1.Variable{Name: name, Expression: text})
			o.text = "variables." + name
			operands = append(operands, o, o)
		}
	}
	for range 4 {
		p.spec.Validations = append(p.spec.Validations, admissionv1.Validation{Expression: g.truth(operands, mode.depth)})
	}
	if g.chance(15) {
		p.spec.AuditAnnotations = []admissionv1.AuditAnnotation{{Key: "a", ValueExpression: g.truth(operands, 1) + " ? 'a' : 'b'"}}
	}
	if !p.compile(t, binding) {
		return nil
	}
	return p
}

// value is an expression for a value that an operand holds.
func (g *generator) value(o operand) (string, operand) {
	if g.chance(20) {
		return g.about(o, 5), operand{tree: &tree{form: truth}}
	}
	for o.tree.form == record && len(o.tree.fields) > 0 {
		f := o.tree.fields[g.IntN(len(o.tree.fields))]
		empty := map[form]string{text: "''", list: "[]", mapping: "{}"}[f.tree.form]
		next := operand{o.text + "." + f.name, f.tree, f.nullable || !f.optional && f.tree.form == list}
		if f.optional && empty != "" && g.chance(g.guarded) {
			next.text = "(has(" + next.text + ") ? " + next.text + " : " + empty + ")"
			if g.chance(40) {
				next.text = o.text + ".?" + f.name + ".orValue(" + empty + ")"
			}
			o = next
			break
		}
		if o = next; g.chance(30) {
			break
		}
	}
	if o.tree.form == list && !o.null && g.chance(40) {
		name := g.variable()
		o.text += ".filter(" + name + ", " + g.about(operand{name, o.tree.elem, false}, 2) + ")"
	}
	return o.text, o
}

// compile leaves out what the server would not take. The last validation is always false, so that
// its denial tells that the validations were evaluated.
func (p *soundPolicy) compile(t testing.TB, binding admissionv1.ValidatingAdmissionPolicyBindingSpec) bool {
	checked, _, err := uncheckedSet(t, p.spec, binding).Checked("case")
	if err != nil {
		t.Fatal(err)
	}
	takes := map[string]bool{}
	for _, c := range checked {
		if c.Err == nil {
			kind := c.AST.GetType(c.AST.Expr().ID()).Kind()
			takes[c.Field] = kind == types.BoolKind || strings.HasPrefix(c.Field, "variables[") || strings.HasPrefix(c.Field, "auditAnnotations[") && kind == types.StringKind
		}
	}
	for i := range p.spec.Variables {
		if !takes[fmt.Sprintf("variables[%d]", i)] {
			return false
		}
	}
	i := -1
	p.spec.Validations = slices.DeleteFunc(p.spec.Validations, func(admissionv1.Validation) bool { i++; return !takes[fmt.Sprintf("validations[%d]", i)] })
	i = -1
	p.spec.MatchConditions = slices.DeleteFunc(p.spec.MatchConditions, func(admissionv1.MatchCondition) bool { i++; return !takes[fmt.Sprintf("matchConditions[%d]", i)] })
	if !takes["auditAnnotations[0].valueExpression"] {
		p.spec.AuditAnnotations = nil
	}
	if len(p.spec.Validations) == 0 {
		return false
	}
	p.spec.Validations = append(p.spec.Validations, admissionv1.Validation{Expression: "false"})
	p.set = uncheckedSet(t, p.spec, binding)
	return true
}

func uncheckedSet(t testing.TB, spec admissionv1.ValidatingAdmissionPolicySpec, binding admissionv1.ValidatingAdmissionPolicyBindingSpec) *harness.Set {
	t.Helper()
	set, err := harness.Compile(
		[]*admissionv1.ValidatingAdmissionPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "case"}, Spec: spec}},
		[]*admissionv1.ValidatingAdmissionPolicyBinding{{ObjectMeta: metav1.ObjectMeta{Name: "case"}, Spec: binding}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (p *soundPolicy) prove(t testing.TB) {
	proofs, err := Total(p.set, "case", Options{Resources: corpusResources()})
	if err != nil {
		t.Fatal(err)
	}
	p.proofs = proofs
}

func (p *soundPolicy) proved(field string) bool {
	return !slices.ContainsFunc(p.proofs, func(x Proof) bool { return x.Field == field && !x.Proved() })
}

// judge evaluates a request, and returns how many expressions were evaluated and which failed.
func (p *soundPolicy) judge(q soundRequest) (evaluations int, failed []string) {
	v := p.set.Evaluate(context.Background(), q.prepared, harness.Options{})
	evaluations = len(p.spec.MatchConditions)
	last := len(p.spec.Validations) - 1
	for _, d := range v.Denials {
		if d.Index == last {
			evaluations += len(p.spec.Validations) + len(p.spec.AuditAnnotations)
		}
		switch {
		case !d.Error:
		case d.Index >= 0:
			failed = append(failed, fmt.Sprintf("validations[%d]", d.Index))
		case strings.HasPrefix(d.Validation, "auditAnnotations"):
			failed = append(failed, d.Validation+".valueExpression")
		default:
			failed = append(failed, p.failedConditions(q)...)
		}
	}
	return evaluations, failed
}

// failedConditions are the match conditions that fail on a request that none of them skips.
func (p *soundPolicy) failedConditions(q soundRequest) []string {
	var failed []string
	for _, trace := range p.set.Evaluate(context.Background(), q.prepared, harness.Options{Trace: true}).Trace {
		for _, x := range trace.Expressions {
			if x.Error != "" && strings.HasPrefix(x.Field, "matchConditions[") {
				failed = append(failed, x.Field)
			}
		}
	}
	return failed
}

// run judges the policy on the random requests of its kind, and then on those that a search finds for
// the errors that it could not exclude.
func (p *soundPolicy) run(t testing.TB, seed uint64) (evaluations int, unsound []string) {
	p.prove(t)
	for _, q := range p.kind.requests {
		if !slices.Contains(p.ops, q.op) {
			continue
		}
		n, failed := p.judge(q)
		evaluations += n
		for _, field := range failed {
			if p.proved(field) && !p.failed[field] {
				unsound = append(unsound, p.report(seed, field, q))
			}
			p.failed[field] = true
		}
	}
	return evaluations, unsound
}

// search looks for a request that makes an expression fail as policygen lint does.
func (p *soundPolicy) search(t testing.TB, x Proof) bool {
	tried := map[string]int{}
	for _, o := range x.Open {
		k := o.Case
		site := fmt.Sprint(o.Field, o.Node)
		if tried[site]++; tried[site] > 4 {
			continue
		}
		s := p.searches[k]
		if s == nil {
			var err error
			s, err = witness.New(p.set, "case", witness.Case{Operation: k.Operation, Resource: k.Resource, Subresource: k.Subresource, Kind: k.Kind, Namespaced: k.Namespaced},
				witness.Options{Resources: corpusResources(), Steps: 1000})
			if err != nil {
				t.Error(err)
				return false
			}
			p.searches[k] = s
		}
		w, err := s.Find(context.Background(), witness.Target{Expression: x.Field, Field: o.Field, Node: o.Node, Hints: o.When})
		if err != nil {
			t.Error(err)
		}
		if w != nil {
			return true
		}
	}
	return false
}

// soundness is what a run found.
type soundness struct {
	policies, expressions, proved, failed, found, evaluations int
	unsound                                                   []string
	unproved                                                  map[string][]string // expressions by what the analysis lacks
}

// run judges policies of seeds until there were enough policies and evaluations, several at once. For the
// first ones it goes on to look for a request for each expression that is not proved and did not fail:
// these are the expressions that are counted.
func (s *soundness) run(t testing.TB, kinds []*soundKind, policies, evaluations int) {
	const batch = 64
	type result struct {
		policy      *soundPolicy
		evaluations int
		unsound     []string
		found       map[string]bool
	}
	s.unproved = map[string][]string{}
	for first := uint64(0); s.policies < policies || s.evaluations < evaluations; first += batch {
		counted := s.policies < policies
		results := make([]result, batch)
		next := atomic.Int64{}
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for i := next.Add(1) - 1; i < batch; i = next.Add(1) - 1 {
					seed := first + uint64(i) //nolint:gosec // not negative
					p := newPolicy(t, kinds, seed)
					if p == nil {
						continue
					}
					r := result{policy: p, found: map[string]bool{}}
					r.evaluations, r.unsound = p.run(t, seed)
					for _, x := range p.proofs {
						if counted && counts(x) && !x.Proved() && !p.failed[x.Field] {
							r.found[x.Field] = p.search(t, x)
						}
					}
					p.searches = nil
					results[i] = r
				}
			})
		}
		workers.Wait()
		for _, r := range results {
			if r.policy == nil {
				continue
			}
			s.policies++
			s.evaluations += r.evaluations
			s.unsound = append(s.unsound, r.unsound...)
			for _, x := range r.policy.proofs {
				if !counted || !counts(x) {
					continue
				}
				s.expressions++
				switch {
				case x.Proved():
					s.proved++
				case r.policy.failed[x.Field]:
					s.failed++
				case r.found[x.Field]:
					s.found++
				default:
					why := lacks(x)
					s.unproved[why] = append(s.unproved[why], x.Text)
				}
			}
		}
	}
}

// counts tells whether an expression counts: a variable has its errors where it is read, and the last
// validation is there for every policy.
func counts(x Proof) bool { return !strings.HasPrefix(x.Field, "variables[") && x.Text != "false" }

// lacks is what the analysis does not know of the first error that it does not exclude, without the
// names of what it is about.
func lacks(x Proof) string {
	why := x.Open[0].Why
	for _, form := range []string{"may not have the", "does not take what it can get", "expected", "nothing is known of", "which has no"} {
		if strings.Contains(why, form) {
			return form
		}
	}
	return why
}

func (s *soundness) open() int {
	n := 0
	for _, texts := range s.unproved {
		n += len(texts)
	}
	return n
}

// report tells all that is needed to see it again.
func (p *soundPolicy) report(seed uint64, field string, q soundRequest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s %s: %s is proved and fails\n", seed, q.op, p.kind.resource, field)
	for _, v := range p.spec.Variables {
		fmt.Fprintf(&b, "\tvariable %s: %s\n", v.Name, v.Expression)
	}
	v := p.set.Evaluate(context.Background(), q.prepared, harness.Options{Trace: true})
	for _, trace := range v.Trace {
		for _, x := range trace.Expressions {
			if x.Field == field || strings.HasPrefix(x.Field, "variables[") && x.Error != "" {
				fmt.Fprintf(&b, "\t%s: %s\n", x.Field, x.Text)
				if x.Error != "" {
					fmt.Fprintf(&b, "\t\tfails at `%s`: %s\n", x.Decisive, x.Error)
				}
			}
		}
	}
	for name, o := range map[string]map[string]any{"object": q.request.Object, "oldObject": q.request.OldObject} {
		text, _ := json.Marshal(o)
		fmt.Fprintf(&b, "\t%s: %s\n", name, text)
	}
	fmt.Fprintf(&b, "\tuser: %+v", q.request.User)
	return b.String()
}

func (s *soundness) log(t testing.TB) {
	t.Helper()
	t.Logf("%d evaluations of %d policies; %d expressions: %d proved, %d broken (%d by random requests, %d by a search), %d unproved",
		s.evaluations, s.policies, s.expressions, s.proved, s.failed+s.found, s.failed, s.found, s.open())
	whys := slices.SortedFunc(maps.Keys(s.unproved), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(s.unproved[b]), len(s.unproved[a])), cmp.Compare(a, b))
	})
	for _, why := range whys {
		t.Logf("unproved: %d × %s\n\t%s", len(s.unproved[why]), why, strings.Join(s.unproved[why], "\n\t"))
	}
}

func soaking() bool { return os.Getenv("HOLDSHORT_SOAK") != "" }

func TestWhatIsProvedDoesNotFail(t *testing.T) {
	requests, wanted := 40, *evaluations
	if soaking() {
		wanted = max(wanted, 10_000_000)
	}
	if wanted > 0 {
		requests = 500 // more of them and fewer policies: to compile one costs as much as a hundred evaluations
	}
	kinds := soundKinds(t, rand.New(rand.NewPCG(1, 2)), requests)
	s := &soundness{}
	s.run(t, kinds, 300, wanted)
	s.log(t)
	for i, u := range s.unsound {
		if i < 5 {
			t.Error(u)
		}
	}
	if len(s.unsound) > 0 {
		t.Errorf("%d expressions are proved and fail", len(s.unsound))
	}
	if 3*(s.failed+s.found) < s.expressions {
		t.Errorf("only %d of %d expressions fail: the requests or the expressions are too tame", s.failed+s.found, s.expressions)
	}
	if 20*s.open() > s.expressions {
		t.Errorf("%d of %d expressions are unproved", s.open(), s.expressions)
	}
}
