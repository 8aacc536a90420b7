package lint

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// TestEveryFactOfRequestsCounts claims away what is left open of requests and of namespaces, on the
// requests of the soundness run.
func TestEveryFactOfRequestsCounts(t *testing.T) {
	var kinds []*presenceKind
	for _, k := range soundKinds(t, rand.New(rand.NewPCG(7, 8)), 40) {
		gvr, subresource := resourceOf(t, k.resource)
		r, _ := corpusResources().Lookup(gvr, subresource)
		for _, op := range k.ops {
			of := presenceKind{resource: r, operation: admission.Operation(op)}
			for _, q := range k.requests {
				if q.op == op {
					of.requests = append(of.requests, q.prepared)
				}
			}
			of.requests = append(of.requests, bareRequests(t, r, of.operation, k.skeletons[0])...)
			request, namespace := of, of
			request.variable = "request"
			request.shape = schema.RequestShape(schema.RequestCase{Operation: of.operation, Subresource: subresource, Namespaced: r.Namespaced, Kind: r.Kind, Table: corpusResources()})
			request.openings = slices.DeleteFunc(openings("dyn(request)", request.shape), func(o opening) bool {
				return slices.Contains([]string{"kind", "resource", "operation", "subResource"}, o.path[0].name) // the rule says what they are
			})
			kinds = append(kinds, &request)
			if r.Namespaced {
				namespace.variable, namespace.shape = "namespaceObject", schema.NamespaceShape(schema.Server)
				namespace.openings = openings("dyn(namespaceObject)", namespace.shape)
				kinds = append(kinds, &namespace)
			}
		}
	}
	tried(t, kinds, 1, requestsCannotShow)
}

// requestsCannotShow are facts that no request of the soundness run shows, and why.
var requestsCannotShow = map[string]string{
	"core/v1.Namespace.spec empty":                "a namespace that is finalized has none; one that is described is completed as a new one",
	"core/v1.NamespaceSpec.finalizers absent":     "a namespace that is finalized has none; one that is described is completed as a new one",
	"meta/v1.GroupVersionKind.kind empty":         "weak: the request is for a kind",
	"meta/v1.GroupVersionKind.version empty":      "weak: the request is for a version",
	"meta/v1.GroupVersionResource.resource empty": "weak: the request is for a resource",
	"meta/v1.GroupVersionResource.version empty":  "weak: the request is for a version",
}

// bareRequests are requests whose user, options and namespace have empty values wherever they can, and a
// name that is still to be generated; the last ones have all that they can have.
func bareRequests(t *testing.T, r schema.Resource, operation admission.Operation, skeleton map[string]any) []*harness.Prepared {
	var all []*harness.Prepared
	for _, at := range []metav1.Time{{}, metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), metav1.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)} {
		namespace := &corev1.Namespace{ObjectMeta: team(nil)}
		namespace.DeletionTimestamp, namespace.Finalizers = &at, []string{""}
		namespace.Spec.Finalizers = []corev1.FinalizerName{""}
		namespace.Status.Conditions = []corev1.NamespaceCondition{{LastTransitionTime: at}}
		full := at.Year() == 0
		if full {
			seconds := int64(1)
			namespace.DeletionGracePeriodSeconds, namespace.GenerateName, namespace.Generation, namespace.ResourceVersion = &seconds, "a-", 1, "1"
			namespace.Status.Conditions[0].Message, namespace.Status.Conditions[0].Reason = "a", "a"
		}
		cluster := harness.Cluster{Resources: corpusResources(), Namespaces: map[string]*corev1.Namespace{"team": namespace}}
		q := harness.Request{Operation: operation, Resource: r.GVR, Subresource: r.Subresource, Kind: r.Kind}
		if r.Namespaced {
			q.Namespace = "team"
		}
		if operation != admission.Connect {
			q.Options = map[string]any{"dryRun": []any{""}}
			if full {
				maps.Copy(q.Options, map[string]any{"fieldManager": "a", "fieldValidation": "a", "orphanDependents": true, "ignoreStoreReadErrorWithClusterBreakingPotential": true})
			}
		}
		if operation == admission.Delete {
			q.Options["propagationPolicy"] = ""
			q.Options["preconditions"] = map[string]any{}
			if at.IsZero() {
				q.Options["preconditions"] = map[string]any{"uid": "", "resourceVersion": ""}
			}
		}
		object := runtime.DeepCopyJSON(skeleton)
		switch operation {
		case admission.Create:
			object["metadata"] = map[string]any{"generateName": "a-"}
			q.Object = object
		case admission.Update:
			q.Object, q.OldObject = object, runtime.DeepCopyJSON(object)
		case admission.Delete:
			q.OldObject = object
		case admission.Connect:
			q.Object, q.Name = object, "x"
		}
		if err := harness.Complete(&q, cluster, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		q.User = user.DefaultInfo{Groups: []string{""}, Extra: map[string][]string{"a": {""}}}
		if at.IsZero() {
			q.User.Extra = map[string][]string{"a": nil, "b": {}}
		}
		p, err := harness.Prepare(q, cluster)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestEveryNullVariableCounts claims that a variable which is null is not: an expression that the
// evaluator makes fail must then be proved.
func TestEveryNullVariableCounts(t *testing.T) {
	for _, c := range []struct{ match, variable, expression, condition string }{
		{"CREATE pods", "oldObject", "oldObject.kind != 'x'", ""},
		{"DELETE pods", "object", "object.kind != 'x'", ""},
		{"CONNECT pods/exec", "oldObject", "oldObject.kind != 'x'", ""},
		{"CREATE nodes", "namespaceObject", "namespaceObject.metadata.name != 'x'", ""},
		{"UPDATE namespaces", "namespaceObject", "namespaceObject.metadata.name != 'x'", ""},
		{"CREATE pods", "namespaceObject", "", "namespaceObject.metadata.name != 'x'"},
		{"CREATE pods", "params", "params.metadata.name != 'x'", ""},
	} {
		t.Run(c.match+" "+c.variable, func(t *testing.T) {
			x := corpusCase{Name: "case", Match: c.match, Expr: c.expression, ParamKind: "v1 ConfigMap", NoParamRef: true}
			if c.condition != "" {
				x.Conditions, x.At = []string{c.condition}, "matchConditions[0]"
			}
			set := x.set(t)
			if failures(set, prepared(t, x, corpusRequest{}), t)[x.at()] == "" {
				t.Error("the evaluator does not make it fail")
			}
			gvr, subresource := resourceOf(t, strings.Fields(c.match)[1])
			r, _ := corpusResources().Lookup(gvr, subresource)
			never := corpusResources().ObjectShape(r.Kind, schema.Server)
			switch c.variable {
			case "namespaceObject":
				never = schema.NamespaceShape(schema.Server)
			case "params":
				never = corpusResources().ParamShape(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			}
			for _, claim := range []func(string, *schema.Shape) *schema.Shape{nil, func(variable string, s *schema.Shape) *schema.Shape {
				if variable == c.variable {
					return never
				}
				return s
			}} {
				proofs, err := Total(set, "case", Options{Resources: corpusResources(), claim: claim})
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range proofs {
					if p.Field == x.at() && p.Proved() != (claim != nil) {
						t.Errorf("claimed: %v, proved: %v", claim != nil, p.Proved())
					}
				}
			}
		})
	}
}
