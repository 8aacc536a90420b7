package witness

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// trial is what became of a world.
type trial struct {
	world    world
	request  harness.Request
	cluster  harness.Cluster
	prepared *harness.Prepared
	verdict  harness.Verdict
	values   map[string]any     // of the expressions that did not fail, by field
	failures map[failure]string // of those that did, with what the evaluator says
	judged   bool               // no match condition is false
}

// run judges a world; nil if no server would hand such a request to policies, or if it cannot be told.
func (s *Search) run(ctx context.Context, w world) *trial {
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
	t := &trial{
		world: w, request: r, cluster: cluster, prepared: p, verdict: v,
		values: map[string]any{}, failures: map[failure]string{},
	}
	for _, trace := range v.Trace { // of the one binding
		if trace.Skipped != nil && (trace.Skipped.By != "matchCondition" || trace.Skipped.Name != "") {
			continue // an error beside a false match condition does nothing
		}
		t.judged = t.judged || trace.Skipped == nil
		for _, e := range trace.Expressions {
			switch {
			case e.Error == "":
				t.values[e.Field] = e.Value
			case !strings.HasPrefix(e.Field, "variables["):
				cause := origin(e, trace.Expressions)
				t.failures[failure{e.Field, cause.Field, cause.Node}] = e.Error
			}
		}
	}
	return t
}

// meets tells whether a trial has the wanted outcome.
func (s *Search) meets(ctx context.Context, g *goal, t *trial) bool {
	if g.Outcome == Fails {
		if s.failureOf(g, t) == (failure{}) {
			return false
		}
	} else if !t.judged || !t.all("matchConditions[", true) {
		return false
	}
	switch g.Outcome {
	case Allows:
		if !t.all("validations[", true) {
			return false
		}
	case Denies:
		if t.decisive(g.Target) == "" {
			return false
		}
	}
	for _, f := range g.When {
		if (f.Is == True || f.Is == False) && t.values[f.Path] != (f.Is == True) {
			return false
		}
	}
	if g.facts != nil && g.facts.Evaluate(ctx, t.prepared, harness.Options{}).Decision != harness.Allowed {
		return false
	}
	return g.AllowedBy == nil || g.AllowedBy.Evaluate(ctx, t.prepared, harness.Options{}).Decision == harness.Allowed
}

// all tells whether no expression of a list failed or has another value.
func (t *trial) all(list string, value bool) bool {
	for f := range t.failures {
		if isOf(f.expression, list) {
			return false
		}
	}
	for field, v := range t.values {
		if isOf(field, list) && v != value {
			return false
		}
	}
	return true
}

// isOf tells whether a field is an expression of a list, and not the message beside one.
func isOf(field, list string) bool {
	return strings.HasPrefix(field, list) && strings.HasSuffix(field, "]")
}

// decisive is the validation that makes the policy deny, as the target wants it; empty if there is none.
func (t *trial) decisive(target Target) string {
	if target.Outcome != Denies {
		return ""
	}
	first := ""
	for field, v := range t.values {
		if isOf(field, "validations[") && v == false && (target.Expression == "" || field == target.Expression) && (first == "" || field < first) {
			first = field
		}
	}
	return first
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
