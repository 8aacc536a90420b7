package main

import (
	"maps"
	"math"

	"hangar.io/holdshort/cel/harness"
)

// verdictJSON is one element of `eval -o json`. Its lists are never null.
type verdictJSON struct {
	Request requestJSON `json:"request"`
	// Profile is the rule set's profile, absent with -f.
	Profile          string            `json:"profile,omitempty"`
	Decision         string            `json:"decision"` // allowed, denied or undecided
	Allowed          bool              `json:"allowed"`
	Code             int32             `json:"code"`
	Reason           string            `json:"reason"`
	Message          string            `json:"message"`
	Denials          []denialJSON      `json:"denials"`
	Ignored          []denialJSON      `json:"ignored"` // errors that failurePolicy Ignore let pass
	Undecided        []gapJSON         `json:"undecided"`
	Warnings         []string          `json:"warnings"`
	AuditAnnotations map[string]string `json:"auditAnnotations"`
	Trace            []traceJSON       `json:"trace"`
}

type requestJSON struct {
	File        string `json:"file"`
	Line        int    `json:"line"`
	Operation   string `json:"operation"`
	Group       string `json:"group"`
	Version     string `json:"version"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Kind        string `json:"kind"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	User        string `json:"user"`
	DryRun      bool   `json:"dryRun"`
}

type denialJSON struct {
	Policy     string `json:"policy"`
	Binding    string `json:"binding"`
	Param      string `json:"param,omitempty"`
	Validation string `json:"validation"`
	Index      int    `json:"index"` // -1 if it was no validation that failed
	Code       int32  `json:"code"`
	Reason     string `json:"reason"`
	Message    string `json:"message"`
	Error      bool   `json:"error"`
}

type gapJSON struct {
	Policy  string `json:"policy"`
	Binding string `json:"binding"`
	Need    string `json:"need"`
	Detail  string `json:"detail"`
}

type traceJSON struct {
	Policy      string           `json:"policy"`
	Binding     string           `json:"binding"`
	Param       string           `json:"param,omitempty"`
	Applied     bool             `json:"applied"`
	Skipped     *skipJSON        `json:"skipped"`
	Expressions []expressionJSON `json:"expressions"`
}

type skipJSON struct {
	By        string `json:"by"`
	Name      string `json:"name"`
	InBinding bool   `json:"inBinding"`
	Detail    string `json:"detail"`
}

type expressionJSON struct {
	Field      string `json:"field"`
	Name       string `json:"name"`
	Expression string `json:"expression"`
	Value      any    `json:"value"`
	Error      string `json:"error"`
	Decisive   string `json:"decisive"`
	Cost       uint64 `json:"cost"`
	Limit      uint64 `json:"limit"`
}

// decisionName is a decision as JSON has it.
func decisionName(d harness.Decision) string {
	switch d {
	case harness.Allowed:
		return "allowed"
	case harness.Undecided:
		return "undecided"
	default:
		return "denied"
	}
}

func toRequestJSON(file string, line int, r harness.Request) requestJSON {
	return requestJSON{
		File: file, Line: line, Operation: string(r.Operation),
		Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource, Subresource: r.Subresource,
		Kind: r.Kind.Kind, Namespace: r.Namespace, Name: r.Name, User: r.User.Name, DryRun: r.DryRun,
	}
}

func toVerdictJSON(v harness.Verdict) verdictJSON {
	j := verdictJSON{
		Decision: decisionName(v.Decision), Allowed: v.Decision == harness.Allowed,
		Code: v.Code, Reason: string(v.Reason), Message: v.Message,
		Denials: toDenialsJSON(v.Denials), Ignored: toDenialsJSON(v.Ignored), Undecided: []gapJSON{}, Trace: []traceJSON{},
		Warnings: append([]string{}, v.Warnings...), AuditAnnotations: map[string]string{},
	}
	maps.Copy(j.AuditAnnotations, v.AuditAnnotations)
	for _, g := range v.Undecided {
		j.Undecided = append(j.Undecided, gapJSON(g))
	}
	for _, t := range v.Trace {
		j.Trace = append(j.Trace, toTraceJSON(t))
	}
	return j
}

func toDenialsJSON(denials []harness.Denial) []denialJSON {
	list := []denialJSON{}
	for _, d := range denials {
		list = append(list, denialJSON{Policy: d.Policy, Binding: d.Binding, Param: d.Param, Validation: d.Validation,
			Index: d.Index, Code: d.Code, Reason: string(d.Reason), Message: d.Message, Error: d.Error})
	}
	return list
}

func toTraceJSON(t harness.PolicyTrace) traceJSON {
	j := traceJSON{Policy: t.Policy, Binding: t.Binding, Param: t.Param, Applied: t.Applied, Expressions: []expressionJSON{}}
	if t.Skipped != nil {
		skip := skipJSON(*t.Skipped)
		j.Skipped = &skip
	}
	for _, e := range t.Expressions {
		j.Expressions = append(j.Expressions, expressionJSON{Field: e.Field, Name: e.Name, Expression: e.Text,
			Value: jsonSafe(e.Value), Error: e.Error, Decisive: e.Decisive, Cost: e.Cost, Limit: e.Limit})
	}
	return j
}

// jsonSafe replaces the numbers that JSON does not have by their names, as the JSON form of protobuf
// does.
func jsonSafe(v any) any {
	switch v := v.(type) {
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "Infinity"
		case math.IsInf(v, -1):
			return "-Infinity"
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = jsonSafe(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key := range v {
			object[key] = jsonSafe(v[key])
		}
		return object
	}
	return v
}
