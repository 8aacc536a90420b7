// Package request turns documents into requests for the harness: AdmissionReviews, audit events
// and plain manifests.
//
// Nothing is guessed. What a document does not hold and the caller does not supply (the object of
// an event logged at level Metadata, the object before a recorded update, the endpoint of a kind
// that nobody defined) is an *UndecidedError; a document that contradicts itself is a
// *manifest.Error. Both name file, line and field.
package request
