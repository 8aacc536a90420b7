package witness_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
	"hangar.io/holdshort/cel/witness"
)

// example is a policy, a case and the node that is to fail.
type example struct {
	name       string
	operation  admission.Operation
	resource   string // with a subresource
	condition  string
	variables  []string // name=expression
	expression string
	params     string // apiVersion/Kind
	noParamRef bool
	fails      string // the text of the node
	in         string // the field, validations[0] if empty
	assume     schema.Assume
}

var broken = []example{
	{name: "an unguarded subresource", resource: "pods", condition: "request.subResource == 'exec'", expression: "false",
		in: "matchConditions[0]", fails: "request.subResource"},
	{name: "a key of labels", resource: "pods", expression: "object.metadata.labels['app'] == 'web'", fails: "object.metadata.labels"},
	{name: "another key than the one asked for", resource: "pods", expression: "has(object.metadata.labels) && object.metadata.labels['app'] == 'web'",
		fails: `object.metadata.labels["app"]`},
	{name: "object is null on DELETE", operation: admission.Delete, resource: "pods", expression: "object.metadata.name != 'x'", fails: "object.metadata"},
	{name: "oldObject is null on CREATE", resource: "pods", expression: "oldObject.metadata.name == object.metadata.name", fails: "oldObject.metadata"},
	{name: "a deep has", resource: "pods", expression: "!has(object.spec.affinity.nodeAffinity)", fails: "object.spec.affinity"},
	{name: "an int or a string", resource: "services", expression: "!has(object.spec.ports) || object.spec.ports.all(p, !has(p.targetPort) || p.targetPort > 1024)",
		fails: "p.targetPort > 1024"},
	{name: "rules that are null", resource: "roles.rbac.authorization.k8s.io", expression: "object.rules.all(r, true)",
		fails: "object.rules.all(r, true)"},
	{name: "a rule without resources", resource: "clusterroles.rbac.authorization.k8s.io",
		expression: "object.rules == null || object.rules.all(r, !('secrets' in r.resources))", fails: "r.resources"},
	{name: "a key of a map", resource: "configmaps", expression: "!has(object.data) || int(object.data['level']) > 1", fails: `object.data["level"]`},
	{name: "an index", resource: "pods", expression: "object.spec.containers[1].image.startsWith('registry')", fails: "object.spec.containers[1]"},
	{name: "a number of text", resource: "pods", expression: "!has(object.metadata.labels) || !('level' in object.metadata.labels) || int(object.metadata.labels['level']) < 5",
		fails: `int(object.metadata.labels["level"])`},
	{name: "a division", resource: "deployments.apps", expression: "100 / object.spec.replicas > 10", fails: "100 / object.spec.replicas"},
	{name: "a remainder of a size", resource: "pods", expression: "!has(object.spec.volumes) || 10 % (size(object.spec.volumes) - 1) >= 0",
		fails: "10 % (size(object.spec.volumes) - 1)"},
	{name: "params are null", resource: "pods", params: "v1/ConfigMap", noParamRef: true, expression: "params.data['mode'] == 'x'", fails: "params.data"},
	{name: "a key of params", resource: "pods", params: "v1/ConfigMap", expression: "params.data['mode'] == 'x'", fails: `params.data["mode"]`},
	{name: "namespaceObject of a cluster's object", resource: "clusterroles.rbac.authorization.k8s.io", expression: "namespaceObject.metadata.name != 'x'", fails: "namespaceObject.metadata"},
	{name: "a label of the namespace", resource: "pods", expression: "namespaceObject.metadata.labels['env'] == 'prod'", fails: `namespaceObject.metadata.labels["env"]`},
	{name: "the value of an optional", resource: "pods", expression: "object.?spec.nodeName.value() != 'x'", fails: "object.?spec.nodeName.value()"},
	{name: "a part of a split", resource: "pods", expression: "object.spec.containers.all(c, c.image.split('@')[1] != 'x')", fails: `c.image.split("@")[1]`},
	{name: "the options of a connection", operation: admission.Connect, resource: "pods/exec", expression: "object.container == 'app'", fails: "object.container"},
	{name: "what a pod has and its connection has not", operation: admission.Connect, resource: "pods/exec", expression: "object.metadata.name == 'app'", fails: "object.metadata"},
	{name: "an update of a status", operation: admission.Update, resource: "pods/status", expression: "object.status.conditions.all(c, c.type != 'x')", fails: "object.status.conditions"},
	{name: "a guard the wrong way round", resource: "pods", expression: "has(object.spec.securityContext.runAsNonRoot) ? true : object.spec.securityContext.runAsNonRoot == true",
		fails: "object.spec.securityContext.runAsNonRoot"},
	{name: "exists, then an index", resource: "pods", expression: "object.spec.containers.exists(c, c.name == 'app') && object.spec.containers[0].securityContext.privileged == false",
		fails: "object.spec.containers[0].securityContext"},
	{name: "a duration of text", resource: "pods", expression: "!has(object.metadata.annotations) || !('ttl' in object.metadata.annotations) || duration(object.metadata.annotations['ttl']) < duration('1h')",
		fails: `duration(object.metadata.annotations["ttl"])`},
	{name: "a time of text", resource: "pods", expression: "!has(object.metadata.annotations) || !('until' in object.metadata.annotations) || timestamp(object.metadata.annotations['until']) > timestamp('2026-01-01T00:00:00Z')",
		fails: `timestamp(object.metadata.annotations["until"])`},
	{name: "a quantity of text", resource: "pods", expression: "!has(object.metadata.annotations) || !('max' in object.metadata.annotations) || quantity(object.metadata.annotations['max']).isLessThan(quantity('1'))",
		fails: `quantity(object.metadata.annotations["max"])`},
	{name: "a resource limit", resource: "pods", expression: "object.spec.containers.all(c, 'memory' in c.resources.limits)", fails: "c.resources.limits"},
	{name: "an extra of the user", resource: "pods", expression: "'x' in request.userInfo.extra['example.com/team']", fails: "request.userInfo.extra"},
	{name: "behind match conditions on the user", resource: "pods",
		condition:  "request.userInfo.username == 'system:serviceaccount:tower:writer' && 'debuggers' in request.userInfo.groups",
		expression: "object.spec.hostNetwork == false", fails: "object.spec.hostNetwork"},
	{name: "in a variable", resource: "pods", variables: []string{"images=object.spec.initContainers.map(c, c.image)", "ok=variables.images.all(i, i.startsWith('registry'))"},
		expression: "variables.ok", in: "variables[0]", fails: "object.spec.initContainers"},
	{name: "in one branch of a variable", resource: "pods", variables: []string{"host=has(object.spec.hostPID) ? object.spec.hostPID : object.spec.hostIPC"},
		expression: "!variables.host", in: "variables[0]", fails: "object.spec.hostIPC"},
	{name: "an update that drops a label", operation: admission.Update, resource: "configmaps",
		expression: "!has(oldObject.metadata.labels) || oldObject.metadata.labels == object.metadata.labels", fails: "object.metadata.labels"},
	{name: "a name that a prefix decides", resource: "pods", condition: "object.metadata.name.startsWith('debug-')",
		expression: "object.metadata.annotations['by'] != ''", fails: "object.metadata.annotations"},
	{name: "a regular expression", resource: "pods",
		condition:  "has(object.metadata.labels) && 'ttl' in object.metadata.labels && object.metadata.labels['ttl'].matches('^[0-9]{2}m$')",
		expression: "object.spec.activeDeadlineSeconds <= 3600", fails: "object.spec.activeDeadlineSeconds"},
	{name: "a service without addresses", resource: "services", expression: "object.spec.clusterIPs.size() > 0", fails: "object.spec.clusterIPs"},
	{name: "an ingress with only a default backend", resource: "ingresses.networking.k8s.io", expression: "object.spec.rules.all(r, has(r.host))", fails: "object.spec.rules"},
	{name: "a rule of an ingress without a host", resource: "ingresses.networking.k8s.io", expression: "!has(object.spec.rules) || object.spec.rules.all(r, r.host.endsWith('.example.com'))", fails: "r.host"},
	{name: "a default, before it is filled in", resource: "pods", assume: schema.Raw, expression: "object.spec.restartPolicy == 'Always'", fails: "object.spec.restartPolicy"},
	{name: "env without a value", resource: "pods", expression: "object.spec.containers.all(c, !has(c.env) || c.env.all(e, e.value != ''))", fails: "e.value"},
	{name: "the name of a user, which a webhook for tokens may leave out", resource: "secrets", expression: "request.userInfo.username != ''", fails: "request.userInfo.username"},
	{name: "the uid of a user", resource: "secrets", expression: "request.userInfo.uid != ''", fails: "request.userInfo.uid"},
	{name: "a deletion of a collection", operation: admission.Delete, resource: "pods", expression: "request.name != 'x'", fails: "request.name"},
	{name: "the template of a cron job", resource: "cronjobs.batch", expression: "object.spec.template.spec.containers.size() > 0", fails: "object.spec.template"},
	{name: "any resource", resource: "*", expression: "object.spec.replicas < 5", fails: "object.spec.replicas"},
	{name: "a resource that nothing describes", resource: "webs.example.com", expression: "object.spec.size < 5", fails: "object.spec.size"},
}

var sound = []example{
	{name: "a guarded subresource", resource: "pods", expression: "has(request.subResource) && request.subResource == 'exec'", fails: "request.subResource"},
	{name: "a guarded key", resource: "pods", expression: "has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels['app'] == 'web'", fails: `object.metadata.labels["app"]`},
	{name: "containers", resource: "pods", expression: "object.spec.containers[0].name != ''", fails: "object.spec.containers[0]"},
	{name: "a default", resource: "pods", expression: "object.spec.restartPolicy == 'Always'", fails: "object.spec.restartPolicy"},
	{name: "an absorbed error", resource: "pods", expression: "object.spec.nodeName == 'a' || object.metadata.name != ''", fails: "object.spec.nodeName"},
	{name: "an image of an init container", resource: "pods", expression: "!has(object.spec.initContainers) || object.spec.initContainers.all(c, c.image != '')", fails: "c.image"},
	{name: "the role of a binding", resource: "rolebindings.rbac.authorization.k8s.io", expression: "object.roleRef.name != ''", fails: "object.roleRef"},
	{name: "behind a false condition", resource: "pods", condition: "request.operation == 'UPDATE'", expression: "object.spec.nodeName == ''", fails: "object.spec.nodeName"},
	{name: "an or that covers the rest", resource: "roles.rbac.authorization.k8s.io", expression: "object.rules == null || object.rules.all(r, size(r.verbs) > 0)", fails: "r.verbs"},
}

// search returns the witness of an example, nil if there is none.
func search(t *testing.T, x example) (*harness.Set, *witness.Witness) {
	t.Helper()
	if x.operation == "" {
		x.operation = admission.Create
	}
	name, sub, _ := strings.Cut(x.resource, "/")
	plural, group, _ := strings.Cut(name, ".")
	c := witness.Case{Operation: x.operation, Namespaced: true}
	table := schema.BuiltIn(schema.Newest)
	if name != "*" {
		c.Resource.Group, c.Resource.Version, c.Resource.Resource, c.Subresource = group, "v1", plural, sub
		if r, ok := table.ForResource(name); ok {
			r, _ = table.Lookup(r.GVR, sub)
			c.Resource, c.Kind, c.Namespaced = r.GVR, r.Kind, r.Namespaced
		}
	} else {
		group = "*"
	}
	p := &admissionv1.ValidatingAdmissionPolicy{}
	p.Name = "p"
	resource := plural
	if sub != "" {
		resource += "/" + sub
	}
	p.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.OperationType(x.operation)},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
		},
	}}}
	if x.condition != "" {
		p.Spec.MatchConditions = []admissionv1.MatchCondition{{Name: "c", Expression: x.condition}}
	}
	for _, v := range x.variables {
		name, text, _ := strings.Cut(v, "=")
		p.Spec.Variables = append(p.Spec.Variables, admissionv1.Variable{Name: name, Expression: text})
	}
	p.Spec.Validations = []admissionv1.Validation{{Expression: x.expression}}
	b := &admissionv1.ValidatingAdmissionPolicyBinding{}
	b.Name, b.Spec.PolicyName, b.Spec.ValidationActions = "b", "p", []admissionv1.ValidationAction{admissionv1.Deny}
	if x.params != "" {
		version, kind, _ := strings.Cut(x.params, "/")
		p.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: version, Kind: kind}
		deny := admissionv1.DenyAction
		if !x.noParamRef {
			b.Spec.ParamRef = &admissionv1.ParamRef{Name: "settings", Namespace: "default", ParameterNotFoundAction: &deny}
		}
	}
	set, err := harness.Compile([]*admissionv1.ValidatingAdmissionPolicy{p}, []*admissionv1.ValidatingAdmissionPolicyBinding{b})
	if err != nil {
		t.Fatal(err)
	}
	target := witness.Target{Expression: "validations[0]", Field: x.in}
	if x.in == "" {
		target.Field = "validations[0]"
	}
	if strings.HasPrefix(x.in, "matchConditions") {
		target.Expression = x.in
	}
	checked, _, err := set.Checked("p")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range checked {
		if k.Err != nil {
			t.Fatal(k.Err)
		}
		if k.Field == target.Field {
			target.Node = node(k.AST, x.fails)
		}
	}
	if target.Node == 0 {
		t.Fatalf("no node %q", x.fails)
	}
	s, err := witness.New(set, "p", c, witness.Options{Assume: x.assume})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Find(context.Background(), target)
	if err != nil {
		t.Fatal(err)
	}
	return set, w
}

// node is the last node with the text, since guards come first.
func node(a *ast.AST, text string) int64 {
	var id int64
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if got, _ := parser.Unparse(e, a.SourceInfo()); got == text && (e.Kind() != ast.SelectKind || !e.AsSelect().IsTestOnly()) {
			id = e.ID()
		}
	}))
	return id
}

func TestBrokenExpressionsHaveAWitness(t *testing.T) {
	for _, x := range broken {
		t.Run(x.name, func(t *testing.T) {
			_, w := search(t, x)
			if w == nil {
				t.Fatalf("no witness for %s at %s", x.expression, x.fails)
			}
			text, err := yaml.Marshal(map[string]any{"object": w.Request.Object, "old": w.Request.OldObject, "user": w.Request.User})
			t.Logf("%s\n%s %v", w.Error, text, err)
		})
	}
}

func TestTheSameSeedFindsTheSame(t *testing.T) {
	for _, x := range broken[:8] {
		_, a := search(t, x)
		_, b := search(t, x)
		if !reflect.DeepEqual(a.Request, b.Request) {
			t.Errorf("%s: two requests:\n%v\n%v", x.name, a.Request, b.Request)
		}
	}
}

func TestSoundExpressionsHaveNone(t *testing.T) {
	for _, x := range sound {
		t.Run(x.name, func(t *testing.T) {
			if _, w := search(t, x); w != nil {
				text, _ := yaml.Marshal(w.Request)
				t.Errorf("a witness for %s: %s\n%s", x.expression, w.Error, text)
			}
		})
	}
}
