package cel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Names returns the names that an expression reads, such as object, request and authorizer, sorted;
// those that it declares itself, as e in list.all(e, ...), are among them. Fields and functions are not.
func Names(expr string) ([]string, error) {
	env, err := parser()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(expr)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("parse an expression: %w", err)
	}
	names := map[string]bool{}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		// An accumulator of a macro begins with @; .object is object, whatever the container.
		if e.Kind() == ast.IdentKind && !strings.HasPrefix(e.AsIdent(), "@") {
			names[strings.TrimPrefix(e.AsIdent(), ".")] = true
		}
	}))
	return slices.Sorted(maps.Keys(names)), nil
}

// parser knows the macros of admission expressions.
var parser = sync.OnceValues(func() (*celgo.Env, error) {
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.StoredExpressions)
	if err != nil {
		return nil, fmt.Errorf("make the CEL environment: %w", err)
	}
	return env, nil
})
