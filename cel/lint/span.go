package lint

import "unicode"

// span is where a part stands in an expression, in characters. The parser notes the place of its
// operator only; source is the part as it would be written.
func span(text, source []rune, start, end int) (int, int) {
	for from := min(start, len(text)); from >= 0; from-- {
		if to := written(text, source, from); to > start {
			return from, to
		}
	}
	return start, max(end, start+1)
}

// written is the end of source in text from a place on, -1 if it is not there. White space and the kind
// of quotes do not matter.
func written(text, source []rune, from int) int {
	at := from
	if at < len(text) && unicode.IsSpace(text[at]) {
		return -1
	}
	for _, want := range source {
		if unicode.IsSpace(want) {
			continue
		}
		for at < len(text) && unicode.IsSpace(text[at]) {
			at++
		}
		if at == len(text) || text[at] != want && !(isQuote(text[at]) && isQuote(want)) {
			return -1
		}
		at++
	}
	return at
}

func isQuote(r rune) bool { return r == '\'' || r == '"' }
