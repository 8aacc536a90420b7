package harness

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// record turns an evaluation into the entry of a trace.
func (s *site) record(ctx context.Context, input any, v ref.Val, details *celgo.EvalDetails, err error) Expression {
	e := Expression{Field: s.field, Name: s.name, Text: s.text, Limit: celconfig.PerCallLimit}
	if details != nil && details.ActualCost() != nil {
		e.Cost = *details.ActualCost()
	}
	if err != nil {
		e.Error = err.Error()
	} else {
		e.Value = jsonValue(v, maxValueDepth)
	}
	if err != nil || v == types.False {
		decisive := s.tracked().decisive(ctx, input, err)
		e.Decisive = s.tracked().text(decisive)
		if err != nil && decisive != nil {
			e.Node = decisive.ID()
		}
	}
	return e
}

// trackedProgram is an expression compiled a second time, so that the values of its
// sub-expressions can be told. The program that the verdict comes from is not touched.
type trackedProgram struct {
	program celgo.Program
	ast     *ast.AST
}

// newTrackedProgram returns nil if the expression cannot be compiled; then nothing is explained.
func newTrackedProgram(envs func(plugincel.OptionalVariableDeclarations) (*celgo.Env, error), d plugincel.OptionalVariableDeclarations, text string) *trackedProgram {
	env, err := envs(d)
	if err != nil {
		return nil
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil
	}
	program, err := env.Program(checked,
		celgo.EvalOptions(celgo.OptTrackState), celgo.CostLimit(celconfig.PerCallLimit),
		celgo.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil
	}
	return &trackedProgram{program, checked.NativeRep()}
}

// decisive returns the sub-expression that failed, or else the smallest one that made the whole
// false; nil if that cannot be told. It evaluates the expression again, under a context of its own
// so that nothing is recorded twice.
func (t *trackedProgram) decisive(ctx context.Context, input any, evalErr error) ast.Expr {
	if t == nil {
		return nil
	}
	_, details, _ := t.program.ContextEval(context.WithoutCancel(silent{ctx}), input)
	if details == nil || details.State() == nil {
		return nil
	}
	if evalErr != nil {
		return t.failing(evalErr, details.State())
	}
	return t.falseOperand(t.ast.Expr(), details.State())
}

// text is what is written at a node, empty if that is the whole expression.
func (t *trackedProgram) text(e ast.Expr) string {
	if e == nil || e.ID() == t.ast.Expr().ID() {
		return ""
	}
	text, err := parser.Unparse(e, t.ast.SourceInfo())
	if err != nil {
		return ""
	}
	return text
}

// silent hides the run of a context.
type silent struct{ context.Context }

func (s silent) Value(key any) any {
	if _, ok := key.(runKey); ok {
		return nil
	}
	return s.Context.Value(key)
}

// failing finds the node that an error of cel-go comes from; nil if it comes from none. The error
// names one, but of a.b.c only the whole, none where what a macro goes through is no list, and the
// error that all calls without an overload share keeps the name of the first node that it ever came
// from (cel-go common/types/err.go, LabelErrNode).
func (t *trackedProgram) failing(err error, state interpreter.EvalState) ast.Expr {
	var celErr *types.Err
	if !errors.As(err, &celErr) {
		return nil
	}
	e := t.ast.Expr()
	if id := celErr.NodeID(); id != 0 && celErr != types.NoSuchOverloadErr() {
		e = findNode(e, id)
	}
	for next := e; next != nil; {
		e, next = next, t.failedOperand(next, state)
	}
	return e
}

// failedOperand is an operand that failed. Of a.b.c all after the failed step has no state.
func (t *trackedProgram) failedOperand(e ast.Expr, state interpreter.EvalState) ast.Expr {
	for _, c := range ast.NavigateExpr(t.ast, e).Children() {
		v, known := state.Value(c.ID())
		switch {
		case known && types.IsError(v):
			return c
		case !known && c.Kind() == ast.SelectKind:
			if failed := t.failedOperand(c, state); failed != nil {
				return failed
			}
		}
	}
	return nil
}

func findNode(root ast.Expr, id int64) ast.Expr {
	var found ast.Expr
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id {
			found = e
		}
	}))
	return found
}

// falseOperand descends from a false expression to what made it false.
func (t *trackedProgram) falseOperand(e ast.Expr, state interpreter.EvalState) ast.Expr {
	value := func(e ast.Expr) ref.Val {
		v, _ := state.Value(e.ID())
		return v
	}
	for e.Kind() == ast.CallKind {
		args := e.AsCall().Args()
		var next ast.Expr
		switch e.AsCall().FunctionName() {
		case operators.LogicalAnd:
			for _, a := range args {
				if value(a) == types.False {
					next = a
					break
				}
			}
		case operators.Conditional:
			next = args[2]
			if value(args[0]) == types.True {
				next = args[1]
			}
		}
		if next == nil {
			return e
		}
		e = next
	}
	return e
}

// namespaceName are the uses of namespaceObject that a namespace's name alone decides.
var namespaceName = regexp.MustCompile(`namespaceObject(\.metadata\.name\b|\s*[!=]=\s*null\b)`)

func readsNamespace(text string) bool {
	if !strings.Contains(text, plugincel.NamespaceVarName) {
		return false
	}
	return strings.Contains(namespaceName.ReplaceAllString(text, ""), plugincel.NamespaceVarName)
}

// namespaceProbe tells whether an evaluation read namespaceObject.
type namespaceProbe struct {
	interpreter.Activation
	read bool
}

func (p *namespaceProbe) watch(input any) any {
	a, ok := input.(interpreter.Activation)
	if !ok {
		return input
	}
	p.Activation = a
	return p
}

func (p *namespaceProbe) ResolveName(name string) (any, bool) {
	if name == plugincel.NamespaceVarName {
		p.read = true
	}
	return p.Activation.ResolveName(name)
}

// maxValueDepth and maxValueItems bound what a trace keeps of a value: enough to read, whatever
// an expression builds.
const (
	maxValueDepth = 6
	maxValueItems = 100
)

// jsonValue returns v in JSON form; what has none is named by its type.
func jsonValue(v ref.Val, depth int) any {
	switch v := v.(type) {
	case nil, types.Null:
		return nil
	case types.Bool:
		return bool(v)
	case types.Int:
		return int64(v)
	case types.Uint:
		return uint64(v)
	case types.Double:
		return float64(v)
	case types.String:
		return string(v)
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v)
	case types.Timestamp, types.Duration:
		return string(v.ConvertToType(types.StringType).(types.String))
	case *types.Optional:
		if !v.HasValue() {
			return nil
		}
		return jsonValue(v.GetValue(), depth)
	}
	if depth == 0 {
		return "…"
	}
	switch v := v.(type) {
	case traits.Mapper:
		return jsonMap(v, depth)
	case traits.Lister:
		list := []any{}
		for it := v.Iterator(); it.HasNext() == types.True && len(list) < maxValueItems; {
			list = append(list, jsonValue(it.Next(), depth-1))
		}
		return list
	}
	return v.Type().TypeName()
}

func jsonMap(m traits.Mapper, depth int) any {
	object := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True && len(object) < maxValueItems; {
		key := it.Next()
		object[fmt.Sprint(key.Value())] = jsonValue(m.Get(key), depth-1)
	}
	return object
}
