// Package schema knows what the API server knows about kinds before any policy runs: which
// resources exist in which minor version, their kinds, scopes and equivalents, what API defaulting
// fills, and what a create changes before admission sees the object.
//
// The tables are generated from Kubernetes (hack/gen) and embedded; custom resources are added
// with WithCRDs. What depends on values is code here. hack/gen's tests compare both with the
// server's own decoder, defaulting, conversions and registry strategies, on random objects of
// every kind. The package reads no file and no network and is safe for concurrent use.
//
// A Shape is what can be present in a value that a policy reads, in any supported version: objects by
// their Go types or their definition's schema, requests, namespaces, params and the options of
// connects. A key that a shape says is always there is there in every version; what could be otherwise
// in one of them is listed in former.txt, which is read from the source of each version's types, and
// what validation promises is listed in valid.txt, of which hack/gen proves every line on the server's
// own validation.
//
// Where it differs from a server:
//   - Defaults and strategies are those of the newest version with feature gates at their
//     defaults. What is known to differ in older versions is marked in the tables and the code;
//     status fields that older versions kept on create are reset (ServiceCIDR before 1.36,
//     CSINode before 1.37), and fields of alpha features are dropped.
//   - Kinds that the newest API libraries no longer have (resource.k8s.io/v1alpha2) are in the
//     resource table, but neither defaulted nor prepared.
//   - The time that a device taint was added is not filled; other times of a new object are its
//     creation time.
//   - Annotations by which autoscaling/v1 carries metrics and behavior of autoscaling/v2, by which
//     apps/v1 carries a rollback and flowcontrol/v1beta3 a zero are left as they are.
//   - An explicitly empty list of policies in an autoscaling/v2 behavior is filled if Default runs
//     a second time.
//   - Mutating admission (service accounts, tolerations, priorities, storage classes, limit ranges)
//     is not imitated.
package schema
