package pair

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/e2e/kit/cluster"
	"hangar.io/holdshort/e2e/kit/send"
)

// barrierName names the barrier policy and the ConfigMap that it and the barriers of params look
// at, which is only ever created as a dry run.
const barrierName = "holdshort-barrier"

// barrier warns in each of its binding's names, and if the namespace of the request does not
// have the labels or annotations that the ConfigMap has as annotations.
func barrier() *admissionv1.ValidatingAdmissionPolicy {
	check := func(field string) string {
		return fmt.Sprintf(`!has(object.metadata.labels) || object.metadata.labels['check'] != '%[1]s' || `+
			`(has(namespaceObject.metadata.%[1]s) ? namespaceObject.metadata.%[1]s : {}) == (has(object.metadata.annotations) ? object.metadata.annotations : {})`, field)
	}
	return barrierPolicy(barrierName, nil,
		admissionv1.Validation{Expression: "object == null", Message: "arrived"},
		admissionv1.Validation{Expression: check("labels"), Message: "stale"},
		admissionv1.Validation{Expression: check("annotations"), Message: "stale"},
	)
}

// paramBarrier warns with the identity of each param of a kind in the request's namespace.
func paramBarrier(name string, kind admissionv1.ParamKind) *admissionv1.ValidatingAdmissionPolicy {
	return barrierPolicy(name, &kind, admissionv1.Validation{
		Expression: "object == null",
		MessageExpression: `(has(params.metadata.namespace) ? params.metadata.namespace : '') + '/' + ` +
			`params.metadata.name + '@' + params.metadata.resourceVersion`,
	})
}

// barrierPolicy never stands in the way: it is bound to warn, and is ignored where it fails, as
// it does if the kind of its params is not served.
func barrierPolicy(name string, params *admissionv1.ParamKind, validations ...admissionv1.Validation) *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionv1.Ignore),
			ParamKind:     params,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				ResourceNames: []string{barrierName},
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				},
			}}},
			Validations: validations,
		},
	}
}

func warnBinding(name, policy string, params *admissionv1.ParamRef) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy, ParamRef: params, ValidationActions: []admissionv1.ValidationAction{admissionv1.Warn},
		},
	}
}

// probe asks a server to create the barrier's ConfigMap and returns the warnings. Whether other
// policies would refuse it does not matter: they warn all the same.
func probe(ctx context.Context, server *cluster.APIServer, namespace string, annotations map[string]string, check string) ([]string, error) {
	meta := map[string]any{"name": barrierName}
	if check != "" {
		meta["labels"] = map[string]any{"check": check}
	}
	if len(annotations) > 0 {
		values := map[string]any{}
		for k, v := range annotations {
			values[k] = v
		}
		meta["annotations"] = values
	}
	answer, err := send.Do(ctx, server, schema.BuiltIn(schema.Newest), harness.Request{
		Operation: admission.Create, Resource: kschema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Namespace: namespace, Name: barrierName, DryRun: true,
		Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta},
		User:   user.DefaultInfo{Name: "holdshort-barrier", Groups: []string{user.SystemPrivilegedGroup}},
	})
	if err != nil {
		return nil, err
	}
	if answer.Code >= 500 {
		return nil, fmt.Errorf("%s answers %s", server.Name, answer.Body)
	}
	return answer.Warnings, nil
}
