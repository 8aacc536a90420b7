package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/warning"
)

// Options of an evaluation. The zero value gives the verdict alone.
type Options struct {
	// Trace fills Verdict.Trace.
	Trace bool
}

// Evaluator judges inputs of one kind by the CEL of one kind of definition. Admission policies are
// the first (Set on Prepared); each further use of CEL in the API server is one more.
type Evaluator[Input any] interface {
	Evaluate(context.Context, Input, Options) Verdict
}

var _ Evaluator[*Prepared] = &Set{}

// Evaluate judges a request by all policies of the set. It is safe for concurrent use.
func (s *Set) Evaluate(ctx context.Context, p *Prepared, o Options) Verdict {
	r := &run{trace: o.Trace, unknownNamespace: p.unknownNamespace}
	if p.excluded {
		return Verdict{Decision: Allowed, Trace: s.traceSkipped(r, excludedSkip(p))}
	}
	attrs := p.attributes()
	warnings := &warningRecorder{}
	ctx = warning.WithWarningRecorder(context.WithValue(ctx, runKey{}, r), warnings)
	m := &matcher{PolicyMatcher: generic.NewPolicyMatcher(p.matching), set: s, prepared: p, run: r}
	err := validating.NewDispatcher(stubAuthorizer{p.allow, r}, m).Dispatch(ctx, attrs, p, s.hooks(p))

	v := Verdict{Warnings: warnings.texts, AuditAnnotations: attrs.annotations, Undecided: sortedGaps(r.gaps)}
	calls := m.outcome()
	v.Denials, v.Ignored = denials(calls, attrs)
	v.decide(err)
	if o.Trace {
		v.Trace = s.trace(r, calls)
	}
	return v
}

// decide sets the decision and the server's answer from what the dispatcher returned.
func (v *Verdict) decide(err error) {
	switch {
	case len(v.Denials) > 0:
		first := v.Denials[0]
		v.Decision, v.Code, v.Reason, v.Message = Denied, first.Code, first.Reason, first.Text
	case len(v.Undecided) > 0:
		v.Decision = Undecided
		return
	case err == nil:
		v.Decision = Allowed
		return
	}
	// The server's own words, unless they come from a policy that could not be judged.
	var status *apierrors.StatusError
	if len(v.Undecided) == 0 && errors.As(err, &status) {
		v.Code, v.Reason, v.Message = status.ErrStatus.Code, status.ErrStatus.Reason, status.ErrStatus.Message
	} else if err != nil && v.Message == "" {
		v.Code, v.Reason, v.Message = http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error()
	}
}

// hooks are what the server's policy source would give the dispatcher: policies that have a
// binding, with the informers of their params.
func (s *Set) hooks(p *Prepared) []validating.PolicyHook {
	hooks := make([]validating.PolicyHook, 0, len(s.policies))
	for _, policy := range s.policies {
		if len(policy.bindings) == 0 {
			continue
		}
		hooks = append(hooks, p.params.hook(validating.PolicyHook{
			Policy: policy.def, Bindings: policy.bindings, Evaluator: recordingValidator{policy}}))
	}
	return hooks
}

// denials turns all decisions of an evaluation into denials, in the order in which the dispatcher
// would report them, and those into ignored that failurePolicy Ignore let pass.
func denials(calls []*call, attrs admission.Attributes) (denied, ignored []Denial) {
	for _, c := range calls {
		ignores := *c.policy.def.Spec.FailurePolicy == admissionv1.Ignore
		switch {
		case c.gap:
			continue
		case c.configuration != nil && ignores:
			ignored = append(ignored, c.configurationDenial(attrs))
			continue
		case c.configuration != nil:
			denied = append(denied, c.configurationDenial(attrs))
			continue
		case c.match != nil && c.match.Error == nil && !c.match.Matches && c.match.FailedConditionName == "":
			ignored = append(ignored, c.denial(attrs, "matchConditions", -1,
				validating.PolicyDecision{Evaluation: validating.EvalError, Message: "a match condition failed to evaluate"}))
		}
		for i, d := range c.result.Decisions {
			name, index := c.where(i)
			switch {
			case d.Action == validating.ActionAdmit && d.Evaluation == validating.EvalError:
				ignored = append(ignored, c.denial(attrs, name, index, d))
			case d.Action == validating.ActionDeny && slices.Contains(c.binding.Spec.ValidationActions, admissionv1.Deny):
				denied = append(denied, c.denial(attrs, name, index, d))
			}
		}
		for i, a := range c.result.AuditAnnotations {
			if a.Action == validating.AuditAnnotationActionError {
				denied = append(denied, c.denial(attrs, indexed("auditAnnotations", i), -1,
					validating.PolicyDecision{Evaluation: validating.EvalError, Message: a.Error}))
			}
		}
	}
	return denied, ignored
}

// outcome lists what became of each binding that matched: its calls, or the configuration error
// that kept it from being called.
func (m *matcher) outcome() []*call {
	var all []*call
	for _, matched := range m.matched {
		if matched.configuration != nil {
			all = append(all, matched)
			continue
		}
		called := false
		for _, c := range m.run.calls {
			if c.policy == matched.policy && c.binding == matched.binding {
				all, called = append(all, c), true
			}
		}
		if called {
			continue
		}
		if err := m.prepared.params.collect(matched); err != nil {
			all = append(all, &call{policy: matched.policy, binding: matched.binding, configuration: err})
		} else {
			matched.noParams = true
			all = append(all, matched)
		}
	}
	return all
}

// where names the place of decision i. The validator returns audit annotations, if only none, with
// every result that has one decision a validation (validator.go, Validate); otherwise its one
// decision speaks for the whole policy: a match condition failed, or it ran out of cost.
func (c *call) where(i int) (string, int) {
	switch {
	case c.match != nil && c.match.Error != nil:
		return "matchConditions", -1
	case c.result.AuditAnnotations != nil:
		return c.policy.names[i], i
	case c.failedAt == nil:
		return "validations", -1
	}
	for i, name := range c.policy.names {
		if c.failedAt.field == indexed("validations", i) {
			return name, i
		}
	}
	return c.failedAt.field, -1
}

func (c *call) denial(attrs admission.Attributes, validation string, index int, d validating.PolicyDecision) Denial {
	status := deniedStatus(attrs, c.policy.def.Name, c.binding.Name, d.Message, d.Reason)
	return Denial{
		Policy: c.policy.def.Name, Binding: c.binding.Name, Param: c.param,
		Validation: validation, Index: index,
		Code: status.Code, Reason: status.Reason, Message: d.Message, Text: status.Message,
		Error: d.Evaluation == validating.EvalError,
	}
}

func (c *call) configurationDenial(attrs admission.Attributes) Denial {
	what, binding := "policy", ""
	if c.binding != nil {
		what, binding = "binding", c.binding.Name
	}
	message := fmt.Errorf("failed to configure %s: %w", what, c.configuration).Error()
	status := deniedStatus(attrs, c.policy.def.Name, binding, message, "")
	return Denial{
		Policy: c.policy.def.Name, Binding: binding, Validation: "configuration", Index: -1,
		Code: status.Code, Reason: status.Reason, Message: message, Text: status.Message, Error: true,
	}
}

// deniedStatus is the end of Dispatch in apiserver pkg/admission/plugin/policy/validating/dispatcher.go,
// which it runs for the first denial only.
func deniedStatus(attrs admission.Attributes, policy, binding, message string, reason metav1.StatusReason) metav1.Status {
	text := fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", policy, binding, message)
	if binding == "" {
		text = fmt.Sprintf("ValidatingAdmissionPolicy '%s' denied request: %s", policy, message)
	}
	var status *apierrors.StatusError
	if !errors.As(admission.NewForbidden(attrs, errors.New(text)), &status) {
		return metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: text}
	}
	if reason == "" {
		reason = metav1.StatusReasonInvalid
	}
	s := status.ErrStatus
	s.Reason, s.Code = reason, reasonCode(reason)
	return s
}

// reasonCode is reasonToCode in apiserver pkg/admission/plugin/policy/validating/policy_decision.go.
func reasonCode(r metav1.StatusReason) int32 {
	switch r {
	case metav1.StatusReasonForbidden:
		return http.StatusForbidden
	case metav1.StatusReasonUnauthorized:
		return http.StatusUnauthorized
	case metav1.StatusReasonRequestEntityTooLarge:
		return http.StatusRequestEntityTooLarge
	default:
		return http.StatusUnprocessableEntity
	}
}

func sortedGaps(gaps []Gap) []Gap {
	slices.SortFunc(gaps, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Binding, b.Binding), cmp.Compare(a.Need, b.Need), cmp.Compare(a.Detail, b.Detail))
	})
	return gaps
}

// warningRecorder keeps warnings as the server sends them: each text once
// (apiserver pkg/endpoints/filters/warning.go).
type warningRecorder struct{ texts []string }

func (w *warningRecorder) AddWarning(_, text string) {
	if !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}
