package parity

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hangar.io/holdshort/cel/harness"
)

// failureKey is the audit annotation of failures under the action Audit (apiserver
// pkg/admission/plugin/policy/validating/dispatcher.go, publishValidationFailureAnnotations).
const failureKey = "validation.policy.admission.k8s.io/validation_failure"

// Answer is what a request gets, in a form in which answers of servers and of the harness can be
// compared.
type Answer struct {
	Decision harness.Decision
	// Refusals are the possible answers of a denial: the server gives one at random, the harness
	// knows all.
	Refusals []Refusal
	// Denials are the texts of all denials, which only the harness tells.
	Denials []string
	// Warnings and Annotations are those of policies, sorted.
	Warnings    []string
	Annotations map[string]string
	// Note says why there is no answer, for Undecided.
	Note string
}

// Refusal is a Status.
type Refusal struct {
	Code    int32
	Reason  metav1.StatusReason
	Message string
}

// String is a refusal as a person reads it.
func (r Refusal) String() string { return fmt.Sprintf("%d %s: %s", r.Code, r.Reason, r.Message) }

// ofVerdict is the harness's answer.
func ofVerdict(v harness.Verdict, mask masker) Answer {
	a := Answer{Decision: v.Decision, Annotations: map[string]string{}}
	for _, d := range v.Possible() {
		a.Refusals = append(a.Refusals, Refusal{d.Code, d.Reason, mask.text(d.Text)})
	}
	if v.Decision == harness.Denied && len(v.Denials) == 0 {
		a.Refusals = []Refusal{{v.Code, v.Reason, mask.text(v.Message)}}
	}
	for _, d := range v.Denials {
		a.Denials = append(a.Denials, mask.text(d.Text))
	}
	for _, w := range v.Warnings {
		a.Warnings = append(a.Warnings, mask.text(w))
	}
	slices.Sort(a.Warnings)
	for key, value := range v.AuditAnnotations {
		a.Annotations[key] = mask.text(canonical(key, value))
	}
	for _, gap := range v.Undecided {
		a.Note += fmt.Sprintf("%s needs %s: %s; ", gap.Policy, gap.Need, gap.Detail)
	}
	return a
}

// canonical sorts what is in random order: the failures of all policies, because the server ranges
// over policies and bindings in maps, and the values that several params give one annotation, which
// it joins in the order of a map.
func canonical(key, value string) string {
	if key != failureKey {
		return strings.Join(slices.Sorted(strings.SplitSeq(value, ", ")), ", ")
	}
	var failures []map[string]any
	if json.Unmarshal([]byte(value), &failures) != nil {
		return value
	}
	texts := make([]string, len(failures))
	for i, f := range failures {
		b, err := json.Marshal(f)
		if err != nil {
			return value
		}
		texts[i] = string(b)
	}
	slices.Sort(texts)
	return "[" + strings.Join(texts, ",") + "]"
}

// differences says in which way an answer is not the wanted one; empty: it is. The first is the
// server's, or the harness's on the review; the second the harness's.
func (a Answer) differences(b Answer) []string {
	var out []string
	if a.Decision != b.Decision {
		return []string{fmt.Sprintf("decision %s, not %s (%s)", a, b, b.Note)}
	}
	for _, refusal := range a.Refusals {
		if !slices.Contains(b.Refusals, refusal) {
			out = append(out, fmt.Sprintf("refusal %q is none of %q", refusal, b.Refusals))
		}
	}
	if !slices.Equal(a.Warnings, b.Warnings) {
		out = append(out, fmt.Sprintf("warnings %q, not %q", a.Warnings, b.Warnings))
	}
	if !maps.Equal(a.Annotations, b.Annotations) {
		out = append(out, fmt.Sprintf("audit annotations %q, not %q", a.Annotations, b.Annotations))
	}
	return out
}

// String is the decision with the refusals.
func (a Answer) String() string {
	switch a.Decision {
	case harness.Allowed:
		return "allowed"
	case harness.Undecided:
		return "undecided"
	}
	return fmt.Sprintf("denied %q", a.Refusals)
}

// masker replaces what a server draws at random by stars.
type masker []*regexp.Regexp

// masks of a request: the suffix of a generated name (apiserver pkg/storage/names/generate.go:
// five characters of the alphabet without vowels).
func masks(r harness.Request) masker {
	var m masker
	for _, o := range []map[string]any{r.Object, r.OldObject} {
		metadata, _ := o["metadata"].(map[string]any)
		if prefix, _ := metadata["generateName"].(string); prefix != "" {
			m = append(m, regexp.MustCompile(`(`+regexp.QuoteMeta(prefix)+`)[a-z0-9]{5}\b`))
		}
	}
	return m
}

func (m masker) text(s string) string {
	for _, r := range m {
		s = r.ReplaceAllString(s, "${1}*****")
	}
	return s
}
