// Package lint finds what is wrong with admission policies before a cluster has them. Its heart is
// the totality proof: Total follows every expression of a policy through every request that the
// policy can match, and says which expressions cannot fail.
//
// The analysis evaluates the checked syntax tree, whose node ids are those of the program that the
// API server runs, on terms instead of values (term.go). It splits paths where something is decided:
// whether a field is present, which kind a value has, whether a truth holds (state.go). && and ||,
// all and exists absorb errors as cel-go's do; everything else is strict (eval.go, comprehension.go).
// A function takes the kinds that its overloads declare, and rules says for each overload when it
// fails (transfer.go). What can be present comes from cel/schema.
//
// A proof holds under these assumptions:
//
//   - Objects are as schema.Assume says, by default as validating policies see them on a server.
//   - The API server's evaluator is the cel-go version that this module requires.
//   - Evaluation stays within its cost limits; running out of cost is an error of another kind.
//   - Authorizer checks are answered, and the same check is answered alike within one evaluation.
//
// Joining of paths beyond a count, and bounds in steps, only lose proofs: what is called proved is
// proved.
package lint
