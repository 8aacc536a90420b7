// Package cel holds what every other part needs to speak the API server's CEL: quoted literals,
// the environment in which it evaluates admission expressions, and walks over checked syntax
// trees. It knows nothing of the rule set. The import of cel-go is kept to few files, because its
// path changes with Kubernetes 1.38.
package cel

import (
	"fmt"

	celgo "github.com/google/cel-go/cel"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// Declarations says which optional variables an expression of an admission policy may use.
type Declarations = plugincel.OptionalVariableDeclarations

// AdmissionEnv extends base, an environment of k8s.io/apiserver/pkg/cel/environment that may
// already declare "variables", by the variables of admission expressions: the same declarations as
// createEnvForOpts in apiserver pkg/admission/plugin/cel/compile.go makes, which is not exported.
// In addition macro calls are tracked, so that the text of any sub-expression can be told; node
// ids are not changed by it.
func AdmissionEnv(base *celgo.Env, d Declarations) (*celgo.Env, error) {
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	opts, err := apiservercel.NewDeclTypeProvider(namespace, request).EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, fmt.Errorf("declare the admission request types: %w", err)
	}
	opts = append(opts,
		celgo.EnableMacroCallTracking(),
		celgo.Variable(plugincel.ObjectVarName, celgo.DynType),
		celgo.Variable(plugincel.OldObjectVarName, celgo.DynType),
		celgo.Variable(plugincel.NamespaceVarName, namespace.CelType()),
		celgo.Variable(plugincel.RequestVarName, request.CelType()))
	if d.HasParams {
		opts = append(opts, celgo.Variable(plugincel.ParamsVarName, celgo.DynType))
	}
	if d.HasAuthorizer {
		opts = append(opts,
			celgo.Variable(plugincel.AuthorizerVarName, library.AuthorizerType),
			celgo.Variable(plugincel.RequestResourceAuthorizerVarName, library.ResourceCheckType))
	}
	env, err := base.Extend(opts...)
	if err != nil {
		return nil, fmt.Errorf("extend the CEL environment: %w", err)
	}
	return env, nil
}
