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
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/scheme"

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
	found  map[Target]result
}

// result is a world with an outcome.
type result struct {
	world   world
	request harness.Request
	cluster harness.Cluster
	text    string
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
		expressions: map[string]ast.Expr{}, variables: map[string]ast.Expr{}, found: map[Target]result{},
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

// collect notes what the expressions read and mention.
func (s *Search) collect() {
	seen := map[string]bool{}
	for _, field := range s.order {
		s.visit(s.expressions[field], nil, seen)
	}
}

func (s *Search) visit(x ast.Expr, sc *scope, seen map[string]bool) {
	switch x.Kind() {
	case ast.SelectKind:
		s.visit(x.AsSelect().Operand(), sc, seen)
	case ast.CallKind:
		if x.AsCall().IsMemberFunction() {
			s.visit(x.AsCall().Target(), sc, seen)
		}
		for _, a := range x.AsCall().Args() {
			s.visit(a, sc, seen)
		}
	case ast.ListKind:
		for _, e := range x.AsList().Elements() {
			s.visit(e, sc, seen)
		}
	case ast.MapKind:
		for _, e := range x.AsMap().Entries() {
			s.visit(e.AsMapEntry().Key(), sc, seen)
			s.visit(e.AsMapEntry().Value(), sc, seen)
		}
	case ast.ComprehensionKind:
		c := x.AsComprehension()
		s.visit(c.IterRange(), sc, seen)
		inner := s.iteration(c, sc)
		s.visit(c.LoopStep(), inner, seen)
		s.visit(c.Result(), inner, seen)
	case ast.LiteralKind:
		if v, ok := jsonOf(x.AsLiteral()); ok && v != nil && !seen[fmt.Sprintf("literal %v", v)] {
			seen[fmt.Sprintf("literal %v", v)] = true
			s.literals = append(s.literals, v)
		}
		return
	}
	for _, t := range s.terms(x, sc) {
		if !t.isPath() || len(t.at) < 2 && t.at.root() != "params" {
			continue
		}
		if c := canonical(t.at); c != nil && !seen["path "+c.String()] {
			seen["path "+c.String()] = true
			s.reads = append(s.reads, t.at)
		}
	}
}

// Find returns a request on which the target fails, or nil if it finds none in the steps of the options.
func (s *Search) Find(ctx context.Context, t Target) (*Witness, error) {
	if t.Field == "" {
		t.Field = t.Expression
	}
	for i, c := range s.representatives() {
		if w := s.findIn(ctx, c, t, uint64(i)); w != nil { //nolint:gosec // a small index
			return w, ctx.Err()
		}
	}
	return nil, ctx.Err()
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
func (s *Search) findIn(ctx context.Context, c Case, t Target, salt uint64) *Witness {
	any := s.kase
	s.kase, s.skeleton = c, s.skeletons.of(s.options.Resources, c.Kind)
	defer func() { s.kase = any }()
	if any.Resource.Resource == "" {
		s.found = map[Target]result{}
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %v %v", s.policy.Name, c, t)       // a hash takes everything
	rng := rand.New(rand.NewPCG(s.options.Seed+salt, h.Sum64())) //nolint:gosec // to be repeatable
	for i := 0; i < s.options.Steps && ctx.Err() == nil; i++ {
		if _, ok := s.at(t); ok {
			break
		}
		s.try(ctx, s.attempt(rng, t, i))
	}
	t, ok := s.at(t)
	if !ok {
		return nil
	}
	r := s.shrink(ctx, t, s.found[t])
	w := &Witness{
		Request: r.request, Cluster: r.cluster, Policy: s.policy.Name, Expression: t.Expression, Field: t.Field,
		Node: t.Node, Error: r.text, sent: r.world, kase: c, raw: s.options.Assume == schema.Raw, resources: s.options.Resources,
	}
	if !s.bound {
		w.binding = s.binding
	}
	return w
}

// at is the target, or of those of its expression the first, that has a result.
func (s *Search) at(t Target) (Target, bool) {
	if t.Node != 0 {
		_, ok := s.found[t]
		return t, ok
	}
	first, ok := t, false
	for f := range s.found {
		if f.Expression == t.Expression && (!ok || cmp.Or(cmp.Compare(f.Field, first.Field), cmp.Compare(f.Node, first.Node)) < 0) {
			first, ok = f, true
		}
	}
	return first, ok
}

// attempt is the world of one step.
func (s *Search) attempt(rng *rand.Rand, t Target, i int) world {
	s.choice = 0
	if i > 0 {
		s.choice = rng.IntN(12)
	}
	p := &plan{Search: s, rng: rng, world: s.first()}
	if i == 0 {
		return p.world
	}
	if p.chance(10) {
		p.noise()
	}
	if len(s.options.Hints) > 0 && p.chance(80) {
		for _, f := range s.options.Hints[rng.IntN(len(s.options.Hints))] {
			p.hint(f)
		}
	}
	inCondition := strings.HasPrefix(t.Expression, "matchConditions[")
	for _, field := range s.order {
		if strings.HasPrefix(field, "matchConditions[") && field != t.Expression {
			p.want(s.expressions[field], true, nil)
		}
	}
	if x := s.expressions[t.Expression]; x != nil {
		p.reachTarget(x, t)
	}
	// The conditions once more: what made the node fail may have unmade them.
	if !inCondition && p.chance(20) {
		for _, field := range s.order {
			if strings.HasPrefix(field, "matchConditions[") {
				p.want(s.expressions[field], true, nil)
			}
		}
	}
	for p.chance(25) {
		p.noise()
	}
	return p.world
}

// reachTarget makes the target's expression come to the node, through the variable that holds it, and
// the node fail.
func (p *plan) reachTarget(x ast.Expr, t Target) {
	if t.Field == t.Expression {
		p.reach(x, t.Node, nil, func(n ast.Expr, sc *scope) { p.fail(n, sc) })
		return
	}
	inner := p.expressions[t.Field]
	if inner == nil {
		return
	}
	p.through(x, inner, t, 0)
}

// through follows the reads of variables from an expression to the one that holds the node.
func (p *plan) through(x, goal ast.Expr, t Target, depth int) bool {
	if x == goal {
		return p.reach(x, t.Node, nil, func(n ast.Expr, sc *scope) { p.fail(n, sc) })
	}
	if depth > deepest {
		return false
	}
	var reads []ast.Expr
	ast.PreOrderVisit(x, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.SelectKind && p.variable(e.AsSelect(), nil) != nil {
			reads = append(reads, e)
		}
	}))
	p.rng.Shuffle(len(reads), func(i, j int) { reads[i], reads[j] = reads[j], reads[i] })
	for _, read := range reads {
		v := p.variable(read.AsSelect(), nil)
		if !p.leads(v, goal, 0) {
			continue
		}
		p.reach(x, read.ID(), nil, func(ast.Expr, *scope) {})
		return p.through(v, goal, t, depth+1)
	}
	return false
}

// leads tells whether an expression is, or reads through variables, another.
func (s *Search) leads(x, goal ast.Expr, depth int) bool {
	if x == goal {
		return true
	}
	found := false
	ast.PreOrderVisit(x, ast.NewExprVisitor(func(e ast.Expr) {
		if found || depth > deepest || e.Kind() != ast.SelectKind {
			return
		}
		if v := s.variable(e.AsSelect(), nil); v != nil {
			found = s.leads(v, goal, depth+1)
		}
	}))
	return found
}

// try runs a world and notes the targets that it is a witness of.
func (s *Search) try(ctx context.Context, w world) {
	for t, r := range s.run(ctx, w) {
		if _, ok := s.found[t]; !ok {
			s.found[t] = r
		}
	}
}

// run judges a world and returns the targets that fail.
func (s *Search) run(ctx context.Context, w world) map[Target]result {
	r, cluster := w.request(s.kase, s.options.Resources)
	raw := r
	if err := harness.Complete(&r, cluster, now); err != nil {
		return nil
	}
	if w["noGroups"] == true {
		r.User.Groups = nil
	}
	if s.options.Assume == schema.Raw {
		r.Object, r.OldObject = asWritten(raw.Object, r.Object, r.Kind), asWritten(raw.OldObject, r.OldObject, r.Kind)
	}
	if !s.valid(r) {
		return nil
	}
	p, err := harness.Prepare(r, cluster)
	if err != nil {
		return nil
	}
	v := s.set.Evaluate(ctx, p, harness.Options{Trace: true})
	if v.Decision == harness.Undecided {
		return nil
	}
	var out map[Target]result
	for _, trace := range v.Trace {
		if trace.Skipped != nil && (trace.Skipped.By != "matchCondition" || trace.Skipped.Name != "") {
			continue // an error beside a false match condition does nothing
		}
		for _, e := range trace.Expressions {
			if e.Error == "" || strings.HasPrefix(e.Field, "variables[") {
				continue
			}
			cause := origin(e, trace.Expressions)
			if out == nil {
				out = map[Target]result{}
			}
			out[Target{Expression: e.Field, Field: cause.Field, Node: cause.Node}] = result{w, r, cluster, e.Error}
		}
	}
	return out
}

// origin is the expression that an error comes from: that of a variable, whose error the text of the
// other holds.
func origin(e harness.Expression, all []harness.Expression) harness.Expression {
	for {
		inner := -1
		for i, v := range all {
			if strings.HasPrefix(v.Field, "variables[") && v.Error != "" && v.Field != e.Field &&
				strings.Contains(e.Error, fmt.Sprintf("composited variable %q fails to evaluate: %s", v.Name, v.Error)) &&
				(inner < 0 || len(v.Error) > len(all[inner].Error)) {
				inner = i
			}
		}
		if inner < 0 {
			return e
		}
		e = all[inner]
	}
}

// asWritten is an object with no more of the completion than what says which object it is, and what
// decoding gives it.
func asWritten(o, completed map[string]any, kind kschema.GroupVersionKind) map[string]any {
	if o == nil {
		return nil
	}
	o = runtime.DeepCopyJSON(o)
	o["apiVersion"], o["kind"] = completed["apiVersion"], completed["kind"]
	typed, err := scheme.Scheme.New(kind)
	if err != nil {
		return o // a custom resource
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, typed); err != nil {
		return o
	}
	decoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return o
	}
	return decoded
}

// shrink leaves out of a world what the outcome does not need.
func (s *Search) shrink(ctx context.Context, t Target, r result) result {
	budget := 600
	keep := func(w world) bool {
		budget--
		smaller, ok := s.run(ctx, w)[t]
		if ok {
			r = smaller
		}
		return ok
	}
	s.choice = 0
	// Whole parts first.
	for _, root := range []string{"user", "params", "object", "oldObject", "namespaceObject"} {
		w := r.world.copy()
		first := s.first()
		if first[root] == nil {
			continue
		}
		w[root] = first[root]
		keep(w)
	}
	if s.kase.Operation == admission.Update {
		w := r.world.copy()
		w["oldObject"] = runtime.DeepCopyJSONValue(w["object"])
		if !keep(w) {
			w = r.world.copy()
			w["object"] = runtime.DeepCopyJSONValue(w["oldObject"])
			keep(w)
		}
	}
	for changed := true; changed && budget > 0; {
		changed = false
		for _, at := range removable(r.world) {
			if budget <= 0 {
				break
			}
			if _, ok := get(map[string]any(r.world), at); !ok || at.root() == "namespace" || at.root() == "name" {
				continue
			}
			if at.root() == "user" && equal(r.world.object("user"), administrator) {
				continue
			}
			w := r.world.copy()
			if len(at) == 1 {
				if !slices.Contains([]string{"allow", "dryRun", "options", "noGroups"}, at.root()) {
					continue
				}
				delete(w, at.root())
			} else {
				w.drop(s, at)
			}
			if equal(w, r.world) {
				continue
			}
			changed = keep(w) || changed
		}
	}
	return r
}

func equal(a, b map[string]any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// removable are the paths to everything in a world, the largest parts first.
func removable(w world) []path {
	var all []path
	var walk func(v any, at path)
	walk = func(v any, at path) {
		switch x := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(x)) {
				all = append(all, at.then(step{key: k}))
				walk(x[k], at.then(step{key: k}))
			}
		case []any:
			for i := len(x) - 1; i >= 0; i-- {
				all = append(all, at.then(step{kind: toIndex, index: i}))
				walk(x[i], at.then(step{kind: toIndex, index: i}))
			}
		}
	}
	walk(map[string]any(w), nil)
	slices.SortStableFunc(all, func(a, b path) int { return cmp.Compare(len(a), len(b)) })
	return all
}
