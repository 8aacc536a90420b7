package schema

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed valid.txt
var validLines string

// typePromises are what defaulting in code and API validation promise of the Go types of the API,
// wherever they are: it reads valid.txt once, in which a malformed line is a defect of this package.
var typePromises = sync.OnceValue(func() map[string]*promise {
	out := map[string]*promise{}
	for line := range strings.Lines(validLines) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if len(f) != 4 {
			panic("schema: malformed line in valid.txt: " + line)
		}
		p := &promise{}
		switch f[2] {
		case "present":
			p.present = true
		case "nonempty":
			p.present, p.nonEmpty = true, true
		default:
			panic("schema: malformed line in valid.txt: " + line)
		}
		steps := strings.Split(f[1], ".")
		for i := len(steps) - 1; i >= 0; i-- {
			p = &promise{fields: map[string]*promise{steps[i]: p}}
		}
		out[f[0]] = out[f[0]].and(p)
	}
	return out
})
