package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hangar.io/holdshort/cel"
)

// IgnoreAnnotation accepts findings in the policy or binding that has it: a line for each, of the form
// RULE: reason, or RULE FIELD: reason. A field is called as findings call it, or by its name.
const IgnoreAnnotation = "hangar.io/lint-ignore"

// directive begins a comment in an expression that accepts findings there:
// // holdshort:ignore RULE: reason.
const directive = "holdshort:"

// Suppression says why a finding is accepted.
type Suppression struct {
	Reason string
	// In is the field whose expression has the comment, or the annotation.
	In string
}

// suppression is one as it is written.
type suppression struct {
	policy, binding string
	in              string
	// text, start and end are the expression and the place of the comment, in characters.
	text       string
	start, end int

	rule, field, reason string
	fault               string // why it cannot count
	used                bool
}

// commentsOf are the suppressions in an expression. What does not compile is not searched.
func commentsOf(p Proof) []*suppression {
	comments, err := cel.Comments(p.Text)
	if err != nil || p.Err != nil {
		return nil
	}
	var out []*suppression
	for _, c := range comments {
		text, found := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), directive)
		if !found {
			continue
		}
		s := &suppression{policy: p.Policy, in: p.Field, text: p.Text, start: utf8.RuneCountInString(p.Text[:c.Start]), end: utf8.RuneCountInString(p.Text[:c.End])}
		if rest, known := strings.CutPrefix(text, "ignore"); known && (rest == "" || rest[0] == ' ') {
			s.parse(rest)
			if s.fault == "" && s.field != "" {
				s.fault = "names a field, but a comment is about the expression that it stands in"
			}
			s.field = p.Field
		} else {
			s.fault = fmt.Sprintf("%q is nothing that lint knows", directive+text)
		}
		out = append(out, s)
	}
	return out
}

// annotated are the suppressions in the annotation of a policy, or of a binding.
func annotated(policy, binding string, annotations map[string]string) []*suppression {
	var out []*suppression
	for line := range strings.Lines(annotations[IgnoreAnnotation]) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		s := &suppression{policy: policy, binding: binding, in: "metadata.annotations." + IgnoreAnnotation}
		s.parse(line)
		out = append(out, s)
	}
	return out
}

// parse reads RULE: reason, or RULE FIELD: reason.
func (s *suppression) parse(line string) {
	what, reason, _ := strings.Cut(line, ":")
	s.rule, s.field, _ = strings.Cut(strings.TrimSpace(what), " ")
	s.field, s.reason = strings.TrimSpace(s.field), strings.TrimSpace(reason)
	known := slices.ContainsFunc(allRules, func(r *Rule) bool { return r.Name == s.rule })
	switch {
	case s.rule == "":
		s.fault = "names no rule"
	case !known:
		s.fault = fmt.Sprintf("there is no rule %q", s.rule)
	case s.rule == compileRule.Name, s.rule == idleSuppressionName:
		s.fault = fmt.Sprintf("findings of %s cannot be suppressed", s.rule)
	case s.reason == "":
		s.fault = fmt.Sprintf("gives no reason to suppress %s", s.rule)
	}
}

// covers tells whether it is about a finding. An error in a variable is one of what reads it as well.
func (s *suppression) covers(f Finding) bool {
	return s.fault == "" && s.rule == f.Rule && s.policy == f.Policy && s.binding == f.Binding &&
		(s.field == "" || s.field == f.Field || s.field == f.of || s.field == f.Name)
}

// suppress marks what the suppressions are about, and adds what is wrong with them.
func (r *Report) suppress(all []*suppression) {
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, s := range all {
			if !s.covers(*f) {
				continue
			}
			s.used = true
			if f.Suppression == nil {
				f.Suppression = &Suppression{s.reason, s.in}
			}
		}
	}
	for _, s := range all {
		if !s.used {
			r.add(idleSuppressionRule, []Finding{s.idle()})
		}
	}
}

// idle says why a suppression suppresses nothing.
func (s *suppression) idle() Finding {
	f := Finding{Severity: Warning, Policy: s.policy, Binding: s.binding, Field: s.in, Text: s.text, Start: s.start, End: s.end}
	if s.fault != "" {
		f.Message = "the suppression does not count: " + s.fault
		f.Hint = "write // holdshort:ignore RULE: reason in the expression, or RULE FIELD: reason in the annotation " + IgnoreAnnotation
		return f
	}
	f.Message = fmt.Sprintf("there is no finding of %s to suppress", s.rule)
	if s.text == "" && s.field != "" {
		f.Message += " in " + s.field
	}
	f.Hint = "remove the suppression: it would hide a fault that comes later"
	return f
}
