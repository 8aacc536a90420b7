// Package profile holds the Profile: everything that differs between the clusters that the one
// rule set is rendered for. It is read from strict YAML, refuses what it does not understand with
// file, line and field, and fills in defaults in one place, so that the rest of the program works
// on complete values.
//
// The package is a leaf: everything may import it, and it imports nothing of this module.
// docs/profile.schema.json is its JSON schema, made from the comments of these types.
package profile
