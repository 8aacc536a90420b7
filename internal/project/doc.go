// Package project holds tests of the project itself rather than of what it does: which package
// may import which, and that the commands in the documentation do what the documentation shows.
package project
