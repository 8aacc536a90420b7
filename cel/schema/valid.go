package schema

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed valid.txt
var validLines string

// validPromises are what valid.txt promises: of Go types of the API, wherever they are, and of the
// types of kinds at the root of an object.
type validPromises struct{ types, kinds map[string]*promise }

// valid parses the table once; a malformed line is a defect of this package.
var valid = sync.OnceValue(func() validPromises {
	out := validPromises{map[string]*promise{}, map[string]*promise{}}
	for line := range strings.Lines(validLines) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		into := map[string]map[string]*promise{"type": out.types, "kind": out.kinds}[f[0]]
		if into == nil || len(f) != 5 || f[3] != "present" && f[3] != "nonempty" {
			panic("schema: malformed line in valid.txt: " + line)
		}
		p := &promise{present: true, nonEmpty: f[3] == "nonempty"}
		steps := strings.Split(f[2], ".")
		for _, step := range slices.Backward(steps) {
			p = &promise{fields: map[string]*promise{step: p}}
		}
		into[f[1]] = into[f[1]].and(p)
	}
	return out
})
