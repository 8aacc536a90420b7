package harness

import (
	"sync"

	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
)

// programs are the compiled expressions that a policy has in common with variants of it. A program
// reads variables by their names when it runs, so that it belongs to no policy; what it depends on is
// in its key.
type programs struct {
	mu  sync.Mutex // guards all
	all map[programKey]plugincel.CompilationResult
}

type programKey struct {
	accessor string // the type of the accessor, which says of which types the value may be
	text     string
	declared string // the variables before it, with their types
	bound    plugincel.OptionalVariableDeclarations
}

// compile is the program of a key, made at its first use.
func (p *programs) compile(k programKey, a plugincel.ExpressionAccessor, fresh func() plugincel.CompilationResult) plugincel.CompilationResult {
	p.mu.Lock()
	r, ok := p.all[k]
	p.mu.Unlock()
	if !ok {
		r = fresh()
		p.mu.Lock()
		if p.all == nil {
			p.all = map[programKey]plugincel.CompilationResult{}
		}
		p.all[k] = r
		p.mu.Unlock()
	}
	r.ExpressionAccessor = a
	return r
}
