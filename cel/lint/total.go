package lint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/cel/witness"
)

// Proof is what the analysis knows of one expression: that no request can make it fail, or which
// errors it could not exclude.
type Proof struct {
	Policy            string
	Field, Name, Text string
	// Err says why the expression does not compile. Then nothing is proved of it.
	Err error
	// Open are the errors that are not excluded, one for each node and case.
	Open []Open
	// Paths is the most that were followed at once, in the worst case.
	Paths int
}

// Proved tells whether no request can make the expression fail.
func (p Proof) Proved() bool { return p.Err == nil && len(p.Open) == 0 }

// Open is an error that is not excluded.
type Open struct {
	Case Case
	// Field is the expression that fails: the proof's own, or that of a variable which it reads.
	Field string
	// Node is the id of the failing node, Source what is written there, and its place in the text of
	// the expression, in characters.
	Node       int64
	Source     string
	Start, End int
	Why        string
	// Unknown: the analysis does not know the construct, so that it says nothing of whether an error
	// can happen.
	Unknown bool
	// When are the conditions of paths that lead to the error, a few of them, as far as facts can say
	// them: a search for a witness begins there.
	When []witness.Condition
}

// Options of the analysis.
type Options struct {
	// Resources tells of kinds; nil: the built-in ones.
	Resources *schema.Table
	Assume    schema.Assume

	// claim changes what is known of a variable of the environment. Tests claim too much with it, and
	// see that it is noticed.
	claim func(variable string, s *schema.Shape) *schema.Shape
}

func (o *Options) setDefaults() {
	if o.Resources == nil {
		o.Resources = schema.BuiltIn(schema.Newest)
	}
}

// Total follows every expression of a policy through every case of the requests that it matches, and
// says which can fail. What it calls proved cannot fail under the assumptions of the options; see
// docs/proof.md. It is safe for concurrent use.
func Total(set *harness.Set, policy string, o Options) ([]Proof, error) {
	o.setDefaults()
	run, err := newTotality(set, policy, o)
	if err != nil {
		return nil, err
	}
	return run.prove(), nil
}

// totality is the analysis of one policy.
type totality struct {
	def       *admissionv1.ValidatingAdmissionPolicy
	bindings  []*admissionv1.ValidatingAdmissionPolicyBinding
	checked   []harness.Checked
	functions *functions
	options   Options
	proofs    []Proof
	compare   *comparisons // nil: of nothing
}

func newTotality(set *harness.Set, policy string, o Options) (*totality, error) {
	checked, env, err := set.Checked(policy)
	if err != nil {
		return nil, err
	}
	return &totality{
		def: set.Policy(policy), bindings: set.Bindings(policy), checked: checked, functions: functionsOf(env), options: o,
	}, nil
}

func (r *totality) prove() []Proof {
	r.proofs = make([]Proof, len(r.checked))
	for i, c := range r.checked {
		r.proofs[i] = Proof{Policy: r.def.Name, Field: c.Field, Name: c.Name, Text: c.Text, Err: c.Err}
	}
	for _, c := range casesOf(r.def.Spec.MatchConstraints, r.options.Resources) {
		r.analyse(c)
	}
	for i := range r.proofs {
		slices.SortStableFunc(r.proofs[i].Open, func(a, b Open) int {
			return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Start, b.Start))
		})
	}
	return r.proofs
}

func (r *totality) analyse(c Case) {
	a := &analysis{terms: newTerms(), functions: r.functions, variables: map[string]*expression{}, texts: map[textKey]string{}, remembered: map[reading][]outcome{}, compare: r.compare}
	for _, x := range r.checked {
		if strings.HasPrefix(x.Field, "variables[") {
			a.variables[x.Name] = &expression{x.Field, x.AST}
		}
	}
	a.roots = r.roots(a.terms, c, true)
	start := r.conditions(a, c)
	if len(start) == 0 {
		return // no request of this case is judged
	}
	a.roots, a.remembered = r.roots(a.terms, c, false), map[reading][]outcome{}
	withoutAuthorizer := map[reading][]outcome{}
	unauthorized := maps.Clone(a.roots) // messages and audit annotations have no authorizer
	delete(unauthorized, "authorizer")
	delete(unauthorized, "authorizer.requestResource")
	for i, x := range r.checked {
		validation, message := strings.HasPrefix(x.Field, "validations["), strings.HasSuffix(x.Field, ".messageExpression")
		annotation := strings.HasPrefix(x.Field, "auditAnnotations[")
		if x.AST == nil || !validation && !annotation || r.compare != nil && (message || annotation) {
			continue
		}
		of := *a
		of.steps, of.paths = 0, 0
		if message || annotation {
			of.roots, of.remembered = unauthorized, withoutAuthorizer
		}
		e := &evaluation{analysis: &of, expression: &expression{x.Field, x.AST}}
		for _, s := range start {
			results := e.eval(x.AST.Expr(), s)
			if validation && !message {
				results = e.truths(results, x.AST.Expr().ID())
			}
			r.report(a, i, c, results)
		}
		r.proofs[i].Paths = max(r.proofs[i].Paths, of.paths)
	}
}

// conditions follows the match conditions as the server judges them: all of them, in any order, and
// one that is false skips the policy whatever the others do. It returns what is known of the requests
// that the policy judges. Of a condition that does not compile nothing is known.
func (r *totality) conditions(a *analysis, c Case) []*state {
	var operands []func(*state) []outcome
	var places []int
	for i, x := range r.checked {
		if !strings.HasPrefix(x.Field, "matchConditions[") {
			continue
		}
		if x.AST == nil {
			continue
		}
		e := &evaluation{analysis: a, expression: &expression{x.Field, x.AST}}
		operands = append(operands, func(s *state) []outcome {
			return readBy(x.Field, fatal(e.truths(e.eval(x.AST.Expr(), s), x.AST.Expr().ID()), false))
		})
		places = append(places, i)
	}
	e := &evaluation{analysis: a, expression: &expression{}}
	var start []*state
	for _, o := range e.logic(operands, false, a.given(c)) {
		switch {
		case o.fault != nil:
			for f := o.fault; f != nil; f = f.beside {
				for _, i := range places {
					if r.checked[i].Field == f.reader {
						r.report(a, i, c, []outcome{{state: o.state, fault: f}})
					}
				}
			}
		case o.value == e.truth(true):
			start = append(start, o.state)
		}
	}
	for _, i := range places {
		r.proofs[i].Paths = max(r.proofs[i].Paths, a.paths)
	}
	const most = 8
	if len(start) > most {
		joined := start[0]
		for _, s := range start[1:] {
			joined = joined.join(s)
		}
		return []*state{joined}
	}
	return start
}

// given is what is known of every request of a case. Where a policy takes equivalent versions, the
// request speaks of the one that the rule names (apiserver pkg/admission/plugin/cel,
// CreateAdmissionRequest).
func (a *analysis) given(c Case) *state {
	s := noFacts
	know := func(root, text string, path ...string) {
		t := a.roots[root]
		for _, name := range path {
			f, ok := t.shape.Field(name)
			if !ok {
				return
			}
			t = a.field(t, name, f.Shape)
		}
		s = s.with(t, equalFact, int64(a.constant(types.String(text)).id))
	}
	know("request", string(c.Operation), "operation")
	if c.AnyResource {
		return s
	}
	know("request", c.Resource.Group, "resource", "group")
	know("request", c.Resource.Resource, "resource", "resource")
	know("request", c.Resource.Version, "resource", "version")
	if c.Subresource != "" {
		know("request", c.Subresource, "subResource")
	}
	if c.Kind.Kind == "" {
		return s
	}
	know("request", c.Kind.Group, "kind", "group")
	know("request", c.Kind.Version, "kind", "version")
	know("request", c.Kind.Kind, "kind", "kind")
	if c.Operation != admission.Connect {
		for _, root := range []string{"object", "oldObject"} {
			know(root, c.Kind.Kind, "kind")
			know(root, c.Kind.GroupVersion().String(), "apiVersion")
		}
	}
	return s
}

// report notes the errors among the outcomes of an expression, once a node and case.
func (r *totality) report(a *analysis, i int, c Case, results []outcome) {
	const mostConditions = 4
	given := a.given(c)
	for _, o := range results {
		if o.fault == nil {
			continue
		}
		open := r.open(i, c, o.fault)
		if len(open.When) == mostConditions || o.state == nil {
			continue
		}
		if when := a.condition(o.state, given); len(when) > 0 {
			open.When = append(open.When, when)
		}
	}
}

// open is the entry of a fault, a new one unless there is one of the node and case.
func (r *totality) open(i int, c Case, f *fault) *Open {
	all := r.proofs[i].Open
	known := slices.IndexFunc(all, func(k Open) bool { return k.Field == f.field && k.Node == f.node && k.Case == c })
	if known >= 0 {
		return &all[known]
	}
	open := Open{Case: c, Field: f.field, Node: f.node, Why: f.text, Unknown: f.unknown}
	for _, x := range r.checked {
		if x.Field == open.Field && x.AST != nil {
			open.Source, open.Start, open.End = sourceOf(x, open.Node)
		}
	}
	r.proofs[i].Open = append(all, open)
	return &r.proofs[i].Open[len(all)]
}

// sourceOf is what is written at a node, and where, in characters.
func sourceOf(x harness.Checked, node int64) (text string, start, end int) {
	info := x.AST.SourceInfo()
	if r, ok := info.GetOffsetRange(node); ok {
		most := int32(len([]rune(x.Text)))
		start, end = int(min(r.Start, most)), int(min(r.Stop, most))
	}
	ast.PreOrderVisit(x.AST.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == node && text == "" {
			text, _ = parser.Unparse(e, info)
		}
	}))
	return text, start, max(start, end)
}

// roots are the variables of the environment as a case has them. In match conditions namespaceObject
// is always null (apiserver pkg/admission/plugin/webhook/matchconditions/matcher.go).
func (r *totality) roots(ts *terms, c Case, inConditions bool) map[string]*term {
	null := &schema.Shape{Kinds: schema.Null}
	object := anyMap
	switch {
	case c.Operation == admission.Connect && !c.AnyResource:
		object = schema.OptionsShape(c.Resource.Resource + "/" + c.Subresource)
	case c.Kind.Kind != "":
		object = r.options.Resources.ObjectShape(c.Kind, r.options.Assume)
	case !c.AnyResource && (c.Subresource == "" || c.Subresource == "status"): // a custom resource has no others but scale
		object = schema.ResourceShape(c.Namespaced, r.options.Assume)
	}
	old := object
	switch c.Operation {
	case admission.Create, admission.Connect:
		old = null
	case admission.Delete:
		object = null
	}
	namespace := null
	if !inConditions && c.Namespaced && c.Kind.Kind != "Namespace" {
		namespace = schema.NamespaceShape(r.options.Assume)
	}
	request := schema.RequestCase{
		Operation: c.Operation, Subresource: c.Subresource, Namespaced: c.Namespaced, Kind: c.Kind, Table: r.options.Resources,
	}
	known := func(variable string, s *schema.Shape) *schema.Shape {
		if r.options.claim == nil {
			return s
		}
		return r.options.claim(variable, s)
	}
	roots := map[string]*term{
		"object": ts.root("object", known("object", object)), "oldObject": ts.root("oldObject", known("oldObject", old)),
		"request":         ts.root("request", known("request", schema.RequestShape(request))),
		"namespaceObject": ts.make(term{kind: rootTerm, name: "namespaceObject", seq: boolInt(inConditions), shape: known("namespaceObject", namespace)}),
		"authorizer":      ts.root("authorizer", &schema.Shape{Kinds: schema.Opaque, Name: "kubernetes.authorization.Authorizer"}),
		"authorizer.requestResource": ts.root("authorizer.requestResource",
			&schema.Shape{Kinds: schema.Opaque, Name: "kubernetes.authorization.ResourceCheck"}),
	}
	if r.def.Spec.ParamKind != nil {
		roots["params"] = ts.root("params", known("params", r.params()))
	}
	return roots
}

func boolInt(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// params are null for a binding without a paramRef.
func (r *totality) params() *schema.Shape {
	k := r.def.Spec.ParamKind
	shape := r.options.Resources.ParamShape(kschema.FromAPIVersionAndKind(k.APIVersion, k.Kind))
	for _, b := range r.bindings {
		if b.Spec.ParamRef == nil {
			c := *shape
			c.Kinds |= schema.Null
			return &c
		}
	}
	return shape
}
