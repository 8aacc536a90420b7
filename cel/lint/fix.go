package lint

import (
	"slices"
	"strings"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/witness"
)

// Insertion is text that a fix adds to an expression, before the character At of it.
type Insertion struct {
	At   int
	Text string
}

// Fix is a guard after which an expression no longer fails at a place. It does not loosen the policy:
// where the error refused a request, the guard makes a validation false; where it did so from a match
// condition, the guard makes the condition true, so that the validations judge.
type Fix struct {
	// Field is the expression to change, and Insertions what to add, in the order of their places.
	Field      string
	Insertions []Insertion
	// Text is the expression with the guard, and Part the part of it that is guarded.
	Text, Part string
}

// mostAttempts bounds the proofs that the search for one fix may take.
const mostAttempts = 60

// fix looks for the guard that excludes the errors at a site and opens no other. It returns nil if it
// finds none. The witness, if there is one, tells whether the policy stays as strict.
func (in *input) fix(p Proof, at site, w *witness.Witness) *Fix {
	f := &fixer{input: in, reader: p.Field, site: at, witness: w, open: openSites(in.proofs), left: mostAttempts}
	for _, place := range placesOf(in.checked, p.Field, at) {
		for _, absent := range place.absent {
			if fix := f.guard(place, absent); fix != nil {
				return fix
			}
		}
	}
	return nil
}

// fixer tries guards for one site.
type fixer struct {
	*input
	reader  string
	site    site
	witness *witness.Witness
	open    map[siteKey]int
	left    int
}

// guard finds the fewest of a place's guards that do, of those the ones that stand first. absent is what
// the place is to be without what the guards ask for.
func (f *fixer) guard(p place, absent string) *Fix {
	guards := p.guards
	if len(guards) == 0 {
		return nil
	}
	best := f.attempt(p, guards, absent)
	if best == nil {
		return nil
	}
	for i := len(guards) - 1; i >= 0 && len(guards) > 1; i-- {
		fewer := slices.Delete(slices.Clone(guards), i, i+1)
		if fix := f.attempt(p, fewer, absent); fix != nil {
			best, guards = fix, fewer
		}
	}
	return best
}

// attempt is the fix of some guards, nil if it does not do.
func (f *fixer) attempt(p place, guards []string, absent string) *Fix {
	if f.left == 0 {
		return nil
	}
	f.left--
	fix := p.with(guards, absent)
	def := f.def.DeepCopy()
	*harness.ExpressionAt(def, fix.Field) = fix.Text
	set, err := f.set.Variant(def, f.bindings)
	if err != nil {
		return nil
	}
	proofs, err := Total(set, f.def.Name, f.options)
	if err != nil || slices.ContainsFunc(proofs, func(n Proof) bool { return n.Err != nil && n.Field == fix.Field }) {
		return nil
	}
	left := openSites(proofs)
	for k, n := range left {
		if n > f.open[k] && !f.behind(k.reader) {
			return nil
		}
	}
	key := siteKey{f.reader, f.site.Field, f.site.Source}
	if left[key] >= f.open[key] || !f.strict(set) {
		return nil
	}
	return fix
}

// behind tells whether an expression is judged only after the one that the fix is for. On the requests
// on which a match condition fails nothing else was judged: what can fail then was not known before,
// and refuses them as the condition did.
func (f *fixer) behind(reader string) bool {
	return strings.HasPrefix(f.reader, "matchConditions[") && !strings.HasPrefix(reader, "matchConditions[")
}

// strict tells whether the policy still judges the request on which the expression failed: with a
// condition that is true, or with a validation that is not. A message or an annotation decides nothing.
func (f *fixer) strict(set *harness.Set) bool {
	condition, validation := strings.HasPrefix(f.reader, "matchConditions["), strings.HasPrefix(f.reader, "validations[") && !isMessage(f.reader)
	if f.witness == nil || !condition && !validation {
		return true
	}
	prepared, err := harness.Prepare(f.witness.Request, f.witness.Cluster)
	if err != nil {
		return false
	}
	for _, t := range set.Evaluate(f.ctx, prepared, harness.Options{Trace: true}).Trace {
		for _, x := range t.Expressions {
			if x.Field == f.reader && (x.Error == "" && x.Value == true) != condition {
				return false
			}
		}
	}
	return true
}

// siteKey names what may fail: the text instead of the node, whose id changes with the expression.
type siteKey struct{ reader, field, source string }

// openSites counts the nodes that may fail.
func openSites(proofs []Proof) map[siteKey]int {
	open := map[siteKey]int{}
	for _, p := range proofs {
		for _, s := range sitesOf(p) {
			open[siteKey{p.Field, s.Field, s.Source}]++
		}
	}
	return open
}
