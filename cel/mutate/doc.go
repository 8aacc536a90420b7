// Package mutate asks of the cases of a policy what they would notice. It makes mutants, copies of a
// policy with one small change that a person might make by mistake, and judges the cases by each. A
// case that no longer gets the answer that it expects kills the mutant. A mutant that survives shows
// what nobody would notice.
//
// Changes are made in the text of an expression, at the place of a node of its syntax tree, so that
// what surrounds them stays as it was written. Each operator is one file. Only expressions that decide
// have mutants: match conditions, variables and validations, but no messages and audit annotations.
// A mutant compiles, to the type that the expression had.
//
// Mutants and their order depend on the policy alone.
package mutate
