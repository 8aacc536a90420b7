// Package harness answers admission requests as the API server would: it runs the server's own
// dispatcher, matcher and validator (k8s.io/apiserver pkg/admission/plugin/policy/validating) on
// policies that are compiled once, with programs that can be traced.
//
// The flow is Compile → Complete (for requests written by people) → Prepare → Set.Evaluate.
// All of it is free of network and file access and safe for concurrent use.
package harness
