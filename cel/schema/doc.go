// Package schema knows what the API server knows about kinds before any policy runs: which
// resources exist in which minor version, their kinds, scopes and equivalents, what API defaulting
// fills, and what a create changes before admission sees the object.
//
// The tables are generated from Kubernetes (hack/gen) and embedded; custom resources are added
// with WithCRDs. The package reads no file and no network and is safe for concurrent use.
package schema
