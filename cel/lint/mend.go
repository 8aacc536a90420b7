package lint

import (
	"context"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"hangar.io/holdshort/cel/harness"
)

// Mended is a policy with the guards that lint knows of.
type Mended struct {
	// Policy is the policy with them.
	Policy *admissionv1.ValidatingAdmissionPolicy
	// Fixes are the guards in the order in which they were put there. Their places count in the text
	// that the ones before left.
	Fixes []Fix
	// Changes are what they add to each expression that they change.
	Changes []Change
}

// Change is what fixes add to an expression.
type Change struct {
	Field string
	// Before and After are the whole expression. Insertions are the difference: their places count in
	// Before, and they are in the order of these.
	Before, After string
	Insertions    []Insertion
}

// mostRounds bounds the guards that one expression gets.
const mostRounds = 32

// Mend puts guards into a policy until lint knows of none. Each was proved to exclude an error and to
// open none, and none loosens the policy; see Fix. Suppressed findings stay. It is safe for concurrent use. The error is that
// the set has no such policy, or that of the context.
func Mend(ctx context.Context, set *harness.Set, policy string, o Options) (Mended, error) {
	m := mending{texts: map[string]*mendedText{}}
	bindings := set.Bindings(policy)
	for range mostRounds {
		report, err := Policy(ctx, set, policy, o)
		if err != nil {
			return Mended{}, err
		}
		m.def = set.Policy(policy).DeepCopy()
		report.Findings = slices.DeleteFunc(report.Findings, func(f Finding) bool { return f.Suppression != nil })
		if !m.round(report.Findings) {
			break
		}
		if set, err = set.Variant(m.def, bindings); err != nil {
			return Mended{}, err
		}
	}
	return Mended{Policy: m.def, Fixes: m.fixes, Changes: m.changes()}, nil
}

// mending is a policy that gets guards.
type mending struct {
	def    *admissionv1.ValidatingAdmissionPolicy
	fixes  []Fix
	fields []string // that were changed
	texts  map[string]*mendedText
}

// mendedText is an expression as it was, and for each character that it has now its place in that, -1
// for what was added.
type mendedText struct {
	before string
	origin []int
}

// round applies the first fix of each field. The others of it may be needless then, or stand elsewhere.
func (m *mending) round(findings []Finding) bool {
	done := map[string]bool{}
	for _, f := range findings {
		// The error of an audit annotation refuses the request, and no annotation does: that is not for
		// a tool to change.
		if f.Fix == nil || done[f.Fix.Field] || strings.HasPrefix(f.of, "auditAnnotations[") {
			continue
		}
		done[f.Fix.Field] = true
		m.apply(*f.Fix)
	}
	return len(done) > 0
}

func (m *mending) apply(f Fix) {
	at := harness.ExpressionAt(m.def, f.Field)
	t := m.texts[f.Field]
	if t == nil {
		t = &mendedText{before: *at}
		for i := range []rune(*at) {
			t.origin = append(t.origin, i)
		}
		m.texts[f.Field] = t
		m.fields = append(m.fields, f.Field)
	}
	for _, i := range slices.Backward(f.Insertions) {
		t.origin = slices.Insert(t.origin, i.At, slices.Repeat([]int{-1}, len([]rune(i.Text)))...)
	}
	*at = f.Text
	m.fixes = append(m.fixes, f)
}

func (m *mending) changes() []Change {
	var out []Change
	for _, field := range m.fields {
		c := Change{Field: field, Before: m.texts[field].before, After: *harness.ExpressionAt(m.def, field)}
		added, next := "", 0
		put := func() {
			if added != "" {
				c.Insertions = append(c.Insertions, Insertion{next, added})
			}
			added = ""
		}
		after := []rune(c.After)
		for i, origin := range m.texts[field].origin {
			if origin < 0 {
				added += string(after[i])
				continue
			}
			put()
			next = origin + 1
		}
		put()
		out = append(out, c)
	}
	return out
}
