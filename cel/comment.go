package cel

import (
	"fmt"
	"strings"
)

// A Comment is one of an expression, from its two slashes to the end of the line.
type Comment struct {
	Text string
	// Start and End are its byte offsets.
	Start, End int
}

// Comments returns the comments of an expression in their order. Two slashes inside a string literal
// are just characters. A string literal that does not end is an error.
func Comments(expr string) ([]Comment, error) {
	var found []Comment
	err := scan(expr, func(kind tokenKind, start, end int) error {
		if kind == textToken && strings.HasPrefix(expr[start:end], "//") {
			found = append(found, Comment{expr[start:end], start, end})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find the comments of an expression: %w", err)
	}
	return found, nil
}
