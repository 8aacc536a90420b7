package proof

import (
	"regexp"
	"strings"
)

var (
	quoted  = regexp.MustCompile(`"[^"]*"|` + "`[^`]*`")
	number  = regexp.MustCompile(`-?\d+(\.\d+)?`)
	missing = regexp.MustCompile(`no such key: .*`)
)

// Class is an error without what it says of the one request: keys, numbers and quoted text.
func Class(text string) string {
	text = missing.ReplaceAllString(text, "no such key")
	text = quoted.ReplaceAllString(text, "…")
	return number.ReplaceAllString(strings.TrimSpace(text), "N")
}
