package witness

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"github.com/google/cel-go/common/ast"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// Search looks for requests of one case that a policy judges. What it has tried for one target serves
// the next. It is not safe for concurrent use.
type Search struct {
	set     *harness.Set
	policy  *admissionv1.ValidatingAdmissionPolicy
	binding *admissionv1.ValidatingAdmissionPolicyBinding
	bound   bool // the set has the binding
	options Options
	kase    Case

	skeletons skeletons
	skeleton  *skeleton
	shape     *schema.Shape // of the objects

	expressions map[string]ast.Expr // by field
	order       []string            // the fields, match conditions first
	variables   map[string]ast.Expr
	reads       []path // what the expressions read
	literals    []any  // what they mention

	choice int // among the forms that a part may have
	// failures are the first worlds with which expressions fail, whatever the target was.
	failures map[failure]*trial
	others   map[*harness.Set][]*Search // of the policies that are to allow
}

// failure is where an expression fails.
type failure struct {
	expression, field string
	node              int64
}

// New begins a search among the requests of a case. A policy without a binding, which no server
// applies, is judged as if one bound it to everything.
func New(set *harness.Set, policy string, c Case, o Options) (*Search, error) {
	o.setDefaults()
	def := set.Policy(policy)
	if def == nil {
		return nil, fmt.Errorf("there is no policy %q", policy)
	}
	s := &Search{
		policy: def, options: o, kase: c, skeletons: builtIn(),
		expressions: map[string]ast.Expr{}, variables: map[string]ast.Expr{},
		failures: map[failure]*trial{}, others: map[*harness.Set][]*Search{},
	}
	s.binding, s.bound = bindingOf(set, def, o.Resources), len(set.Bindings(policy)) > 0
	var err error
	s.set, err = harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{def}, []*admissionv1.ValidatingAdmissionPolicyBinding{s.binding})
	if err != nil {
		return nil, err
	}
	if s.kase.Kind.Empty() {
		s.kase.Kind = s.kindOf(c)
	}
	s.skeleton = s.skeletons.of(o.Resources, s.kase.Kind)
	if c.Operation == admission.Connect {
		s.shape = schema.OptionsShape(c.Resource.Resource + "/" + c.Subresource)
	} else {
		s.shape = o.Resources.ObjectShape(s.kase.Kind, o.Assume)
	}
	checked, _, err := s.set.Checked(policy)
	if err != nil {
		return nil, err
	}
	for _, x := range checked {
		if x.AST == nil {
			continue
		}
		s.expressions[x.Field] = x.AST.Expr()
		if strings.HasPrefix(x.Field, "variables[") {
			s.variables[x.Name] = x.AST.Expr()
		}
		s.order = append(s.order, x.Field)
	}
	s.collect()
	return s, nil
}

// bindingOf is the first binding of a policy that refuses requests, or one to everything.
func bindingOf(set *harness.Set, def *admissionv1.ValidatingAdmissionPolicy, t *schema.Table) *admissionv1.ValidatingAdmissionPolicyBinding {
	if all := set.Bindings(def.Name); len(all) > 0 {
		return all[0]
	}
	b := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: def.Name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: def.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	if k := def.Spec.ParamKind; k != nil {
		deny := admissionv1.DenyAction
		b.Spec.ParamRef = &admissionv1.ParamRef{Name: "params", ParameterNotFoundAction: &deny}
		if r, ok := t.ForKind(kschema.FromAPIVersionAndKind(k.APIVersion, k.Kind)); ok && r.Namespaced {
			b.Spec.ParamRef.Namespace = firstNamespace
		}
	}
	return b
}

// kindOf is the kind of the objects of a case. For a resource that nothing describes it is made up.
func (s *Search) kindOf(c Case) kschema.GroupVersionKind {
	if r, ok := s.options.Resources.Lookup(c.Resource, c.Subresource); ok {
		return r.Kind
	}
	name := []rune(strings.TrimSuffix(c.Resource.Resource, "s"))
	if len(name) == 0 {
		return kschema.GroupVersionKind{}
	}
	name[0] = unicode.ToUpper(name[0])
	return c.Resource.GroupVersion().WithKind(string(name))
}

// Find returns a request with the wanted outcome, or nil if it finds none in the steps of the options.
// It fails if the target speaks of what does not exist.
func (s *Search) Find(ctx context.Context, t Target) (*Witness, error) {
	if t.Field == "" && t.Node != 0 {
		t.Field = t.Expression
	}
	if _, ok := s.expressions[t.Expression]; t.Expression != "" && !ok || t.Expression == "" && t.Outcome == Fails {
		return nil, fmt.Errorf("policy %s has no expression %q", s.policy.Name, t.Expression)
	}
	g := &goal{Target: t}
	var err error
	if g.facts, err = s.factsOf(t.When); err != nil {
		return nil, err
	}
	if g.others, err = s.allowing(t.AllowedBy); err != nil {
		return nil, err
	}
	for i, c := range s.representatives() {
		if w := s.findIn(ctx, c, g, uint64(i)); w != nil { //nolint:gosec // a small index
			return w, ctx.Err()
		}
	}
	return nil, ctx.Err()
}

// goal is a target with what tells whether a request meets it.
type goal struct {
	Target
	facts  *harness.Set // allows the requests of which the facts hold; nil: all
	others []*Search    // of the policies of AllowedBy
}

// allowing are searches for each policy of a set that is to allow the request.
func (s *Search) allowing(set *harness.Set) ([]*Search, error) {
	if set == nil || s.others[set] != nil {
		return s.others[set], nil
	}
	all := []*Search{}
	for _, name := range set.Policies() {
		other, err := New(set, name, s.kase, s.options)
		if err != nil {
			return nil, err
		}
		all = append(all, other)
	}
	s.others[set] = all
	return all, nil
}

// representatives are the cases that stand for the search's: it itself, unless that is of any resource.
func (s *Search) representatives() []Case {
	if s.kase.Resource.Resource != "" {
		return []Case{s.kase}
	}
	names := []string{"namespaces", "clusterroles.rbac.authorization.k8s.io", "nodes"}
	if s.kase.Namespaced {
		names = []string{"pods", "configmaps", "services", "deployments.apps", "roles.rbac.authorization.k8s.io"}
	}
	if s.kase.Operation == admission.Connect {
		names = []string{"pods/exec", "services/proxy", "nodes/proxy"}
	}
	var out []Case
	for _, n := range names {
		resource, sub, _ := strings.Cut(n, "/")
		r, ok := s.options.Resources.ForResource(resource)
		if !ok || r.Namespaced != s.kase.Namespaced {
			continue
		}
		if r, ok = s.options.Resources.Lookup(r.GVR, sub); ok {
			out = append(out, Case{Operation: s.kase.Operation, Resource: r.GVR, Subresource: r.Subresource, Kind: r.Kind, Namespaced: r.Namespaced})
		}
	}
	return out
}

// findIn searches among the requests of one case.
func (s *Search) findIn(ctx context.Context, c Case, g *goal, salt uint64) *Witness {
	any := s.kase
	s.kase, s.skeleton = c, s.skeletons.of(s.options.Resources, c.Kind)
	defer func() { s.kase = any }()
	if any.Resource.Resource == "" {
		s.failures = map[failure]*trial{}
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %v %d %s %s %d %v", s.policy.Name, c, g.Outcome, g.Expression, g.Field, g.Node, g.When) // a hash takes everything
	rng := rand.New(rand.NewPCG(s.options.Seed+salt, h.Sum64()))                                                      //nolint:gosec // to be repeatable
	found := s.known(ctx, g)
	for i := 0; i < s.options.Steps && found == nil && ctx.Err() == nil; i++ {
		t := s.try(ctx, s.attempt(rng, g, i))
		switch {
		case t == nil:
		case g.Outcome == Fails:
			found = s.known(ctx, g)
		case s.meets(ctx, g, t):
			found = t
		}
	}
	if found == nil {
		return nil
	}
	at := s.failureOf(g, found)
	if g.Outcome == Fails {
		g.Field, g.Node = at.field, at.node // for what is made smaller to stay the same
	}
	found = s.shrink(ctx, g, found)
	w := &Witness{
		Request: found.request, Cluster: found.cluster, Policy: s.policy.Name, Expression: at.expression, Field: at.field,
		Node: at.node, Error: found.failures[at], Verdict: found.verdict, sent: found.world, kase: c,
		raw: s.options.Assume == schema.Raw, resources: s.options.Resources,
	}
	if !s.bound {
		w.binding = s.binding
	}
	return w
}

// try runs a world and notes what fails with it.
func (s *Search) try(ctx context.Context, w world) *trial {
	t := s.run(ctx, w)
	if t == nil {
		return nil
	}
	for f := range t.failures {
		if s.failures[f] == nil {
			s.failures[f] = t
		}
	}
	return t
}

// known is an earlier trial with which the goal's expression fails.
func (s *Search) known(ctx context.Context, g *goal) *trial {
	if g.Outcome != Fails {
		return nil
	}
	for _, f := range slices.SortedFunc(maps.Keys(s.failures), func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.node, b.node))
	}) {
		if g.isOf(f) && s.meets(ctx, g, s.failures[f]) {
			return s.failures[f]
		}
	}
	return nil
}

// isOf tells whether a failure is the wanted one.
func (g *goal) isOf(f failure) bool {
	return f.expression == g.Expression && (g.Node == 0 || f.field == g.Field && f.node == g.Node)
}

// failureOf is what the goal's expression fails with in a trial, and of other outcomes the expression alone.
func (s *Search) failureOf(g *goal, t *trial) failure {
	if g.Outcome != Fails {
		return failure{expression: t.decisive(g.Target)}
	}
	var first failure
	for f := range t.failures {
		if g.isOf(f) && (first == failure{} || cmp.Or(cmp.Compare(f.field, first.field), cmp.Compare(f.node, first.node)) < 0) {
			first = f
		}
	}
	return first
}
