package schema

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed former.txt
var formerLines string

// former tells how a field of a Go type of the API differed in a supported version of Kubernetes
// that has the type.
type former struct {
	absent bool // there was no such field, or it could be absent
	null   bool // it could be null
	empty  bool // it could be empty
	gone   bool // there was such a field
}

// formerFields parses the generated table once, by type and JSON field; a malformed line is a defect
// of this package.
var formerFields = sync.OnceValue(func() map[string]map[string]former {
	out := map[string]map[string]former{}
	for line := range strings.Lines(formerLines) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		if len(f) != 4 {
			panic("schema: malformed line in former.txt: " + line)
		}
		if out[f[0]] == nil {
			out[f[0]] = map[string]former{}
		}
		d := out[f[0]][f[1]]
		switch f[3] {
		case "absent":
			d.absent = true
		case "null":
			d.null = true
		case "empty":
			d.empty = true
		case "gone":
			d.gone = true
		default:
			panic("schema: malformed line in former.txt: " + line)
		}
		out[f[0]][f[1]] = d
	}
	return out
})
