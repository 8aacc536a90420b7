// Package witness searches for a concrete request with a wanted outcome: one on which a given
// expression of a policy fails at a given node, or one that a set of policies allows or denies.
//
// A Search begins with the smallest object of the kind that a server accepts (skeletons.yaml) and
// completes it as the server would (harness.Complete). From the syntax trees it works out what
// changes lead to the wanted outcome: the match conditions are to be true, the operands beside the
// wanted node must not decide, and the node itself must fail (solve.go). Where that is not enough,
// it changes at random what the expressions read, to values that they mention. Every candidate runs
// on the API server's own evaluator, and only what that says counts. What is found is made smaller by
// leaving out parts for as long as the outcome stays.
//
// A search is bounded in steps and its random numbers come from a seed, so that it finds the same on
// every machine. That it finds nothing proves nothing.
package witness
