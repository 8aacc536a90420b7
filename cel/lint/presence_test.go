package lint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/cel/schema"
)

// presenceKind is a kind whose shape is looked at, by the requests for one resource.
type presenceKind struct {
	resource  schema.Resource
	operation admission.Operation
	variable  string
	shape     *schema.Shape
	skeletons []map[string]any
	requests  []*harness.Prepared // instead of those that are made for an opening
	openings  []opening
}

// presenceKinds are those that the search for witnesses knows the least object of, and the corpus' own.
// What can be in an object shows in those that are deleted: they are as they are stored, status and all.
func presenceKinds(t *testing.T) []*presenceKind {
	text, err := os.ReadFile("../witness/skeletons.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type least struct {
		Kinds  []string
		Object map[string]any
		Others []map[string]any
	}
	var list []least
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	plain, err := skeletons()
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, least{Kinds: []string{"example.com/v1/Widget"}, Object: plain["Widget"]})
	var all []*presenceKind
	for _, l := range list {
		for _, name := range l.Kinds {
			i := strings.LastIndexByte(name, '/')
			kind := kschema.FromAPIVersionAndKind(name[:i], name[i+1:])
			k := &presenceKind{operation: admission.Delete, variable: "oldObject"}
			for _, o := range append([]map[string]any{l.Object}, l.Others...) {
				k.skeletons = append(k.skeletons, numbers64(o).(map[string]any))
			}
			for _, r := range corpusResources().Resources() {
				if r.Kind == kind {
					k.resource = r
					break
				}
			}
			k.shape = corpusResources().ObjectShape(kind, schema.Server)
			switch {
			case connects[k.resource.Subresource]:
				k.operation, k.variable = admission.Connect, "object"
				k.shape = schema.OptionsShape(k.resource.GVR.Resource + "/" + k.resource.Subresource)
			case k.resource.Serves("delete"):
			case k.resource.Serves("create"):
				k.operation, k.variable = admission.Create, "object"
			default:
				k.operation, k.variable = admission.Update, "object"
			}
			k.openings = openings(k.variable, k.shape)
			all = append(all, k)
			if k.operation != admission.Delete {
				continue
			}
			// What is new, and what controllers send to subresources.
			for _, r := range corpusResources().Resources() {
				if r.GVR == k.resource.GVR && r.Subresource != "" && r.Kind == kind && r.Serves("update") {
					all = append(all, k.like(r, admission.Update))
				}
			}
			all = append(all, k.like(k.resource, admission.Create))
		}
	}
	return all
}

// like is the kind in requests with an object.
func (k *presenceKind) like(r schema.Resource, operation admission.Operation) *presenceKind {
	c := *k
	c.resource, c.operation, c.variable = r, operation, "object"
	c.openings = openings(c.variable, c.shape)
	return &c
}

// request is one whose object has what the path of an opening needs, and is as it says at its end.
func (k *presenceKind) request(o opening, skeleton map[string]any, full bool) (*harness.Prepared, error) {
	q := harness.Request{Operation: k.operation, Resource: k.resource.GVR, Subresource: k.resource.Subresource, Kind: k.resource.Kind, Name: "x", User: user.DefaultInfo{Name: "ann"}}
	object, _ := with(runtime.DeepCopyJSON(skeleton), k.shape, o.path, o.what, full).(map[string]any)
	if meta, ok := object["metadata"].(map[string]any); len(o.path) > 1 && (ok || k.operation != admission.Connect) {
		if meta == nil {
			meta = map[string]any{}
		}
		meta["name"] = "x"
		object["metadata"] = meta
	}
	if k.variable == "oldObject" {
		q.OldObject = object
	} else {
		q.Object = object
	}
	if k.operation == admission.Update {
		q.OldObject = runtime.DeepCopyJSON(object)
	}
	if k.resource.Namespaced {
		q.Namespace = "team"
	}
	cluster := harness.Cluster{Resources: corpusResources(), Namespaces: map[string]*corev1.Namespace{"team": {ObjectMeta: team(nil)}}}
	if err := harness.Complete(&q, cluster, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
		return nil, err
	}
	late := full && o.what == "null_type" || k.resource.GVR.Group == "example.com" && o.owner == "meta/v1.ObjectMeta"
	if late && k.variable == "oldObject" {
		// Completion decodes more often than a server: a time that is written as null is then gone, and
		// so are the empty values that a patch leaves in the metadata of a custom resource.
		q.OldObject, _ = with(q.OldObject, k.shape, o.path, o.what, full).(map[string]any)
	} else if late {
		q.Object, _ = with(q.Object, k.shape, o.path, o.what, full).(map[string]any)
	}
	return harness.Prepare(q, cluster)
}

// policy has one validation for each opening.
func (k *presenceKind) policy(t *testing.T, openings []opening) *harness.Set {
	var spec admissionv1.ValidatingAdmissionPolicySpec
	name := k.resource.GVR.Resource
	if k.resource.Subresource != "" {
		name += "/" + k.resource.Subresource
	}
	spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.OperationType(k.operation)},
		Rule:       admissionv1.Rule{APIGroups: []string{k.resource.GVR.Group}, APIVersions: []string{k.resource.GVR.Version}, Resources: []string{name}},
	}}}}
	for _, o := range openings {
		spec.Validations = append(spec.Validations, admissionv1.Validation{Expression: o.text})
	}
	return compiledSet(t, spec, admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "case", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}})
}

// noticed is what came of one opening.
type noticed struct {
	open, fails, weakened bool
	err                   error
}

// judge proves the expressions of some openings as they are and with what each leaves open claimed away,
// and evaluates each on its request.
func (k *presenceKind) judge(t *testing.T, openings []opening) []noticed {
	set := k.policy(t, openings)
	checked, env, err := set.Checked("case")
	if err != nil {
		t.Fatal(err)
	}
	functions := functionsOf(env)
	proved := func(i int, claim func(string, *schema.Shape) *schema.Shape) bool {
		at := slices.IndexFunc(checked, func(c harness.Checked) bool { return c.Field == fmt.Sprintf("validations[%d]", i) })
		run := &totality{def: set.Policy("case"), bindings: set.Bindings("case"), checked: checked[at : at+1], functions: functions,
			options: Options{Resources: corpusResources(), claim: claim}}
		return run.prove()[0].Proved()
	}
	out := make([]noticed, len(openings))
	for i, o := range openings {
		out[i].open = !proved(i, nil)
		out[i].weakened = proved(i, func(variable string, s *schema.Shape) *schema.Shape {
			if variable != k.variable || s.Kinds == schema.Null { // as namespaceObject is in match conditions
				return s
			}
			return claimed(s, o.path, o.what)
		})
		requests := k.requests
		for n := range 2 * len(k.skeletons) {
			request, err := k.request(o, k.skeletons[n/2], n%2 == 1)
			if err != nil {
				out[i].err = err
				continue
			}
			requests = append(requests, request)
		}
		for _, request := range requests {
			v := set.Evaluate(context.Background(), request, harness.Options{})
			if v.Decision == harness.Undecided {
				t.Fatalf("%s: %v", o.text, v.Undecided)
			}
			out[i].fails = out[i].fails || slices.ContainsFunc(v.Denials, func(d harness.Denial) bool { return d.Index == i && d.Error })
		}
	}
	return out
}

// TestEveryFactOfPresenceCounts claims away, one at a time, what the shapes leave open of the fields of
// built-in kinds and of a custom one: an expression that the evaluator makes fail on a request must then
// be proved, and without the claim not.
func TestEveryFactOfPresenceCounts(t *testing.T) {
	share := 8
	if soaking() {
		share = 1
	}
	tried(t, presenceKinds(t), share, cannotShow)
}

// tried claims away the openings of some kinds, or a share of them. All have to be noticed but those that
// are listed with a reason.
func tried(t *testing.T, kinds []*presenceKind, share int, cannotShow map[string]string) {
	t.Helper()
	numbers, done, tame := map[string]int{}, map[string]string{}, map[string]string{}
	for _, k := range kinds {
		var mine []opening
		for _, o := range k.openings {
			key := o.key()
			if _, known := numbers[key]; !known {
				numbers[key] = len(numbers)
			}
			if done[key] == "" && numbers[key]%share == 0 && !slices.ContainsFunc(mine, func(m opening) bool { return m.key() == key }) {
				mine = append(mine, o)
			}
		}
		const together = 12
		for part := range slices.Chunk(mine, together) {
			for i, n := range k.judge(t, part) {
				o := part[i]
				at := fmt.Sprintf("%s %s: %s\n\t%s", k.operation, k.resource.Kind.Kind, o.key(), o.text)
				switch {
				case !n.open:
					t.Errorf("%s\n\tis proved", at)
				case !n.weakened:
					t.Errorf("%s\n\tis not proved with the claim", at)
				case !n.fails:
					tame[o.key()] = fmt.Sprintf("%s\n\tdoes not fail, so that the fact may be weaker than need be: %v", at, n.err)
				default:
					done[o.key()] = cmp.Or(map[string]string{"absent": "absent", "there": "there", "null_type": "null", "empty": "empty", "format": "in no format"}[o.what], "of several kinds")
				}
			}
		}
	}
	counts := map[string]int{}
	for key, what := range done {
		counts[what]++
		delete(tame, key)
	}
	for _, key := range slices.Sorted(maps.Keys(tame)) {
		if cannotShow[key] == "" && !former(t, key) {
			t.Error(tame[key])
		}
	}
	if share == 1 {
		for key := range cannotShow {
			if tame[key] == "" {
				t.Errorf("%s is no more among what no request shows", key)
			}
		}
	}
	t.Logf("of %d facts, %d are noticed when they are claimed away: %v; no request shows %d", len(numbers), len(done), counts, len(tame))
}

// cannotShow are facts that no request of the test shows, and why they are right nevertheless, or weaker
// than they could be.
var cannotShow = map[string]string{
	"apiextensions/v1.CustomResourceDefinitionStatus.storedVersions empty": "weak: validation wants the version that is stored",
	"apiextensions/v1.JSONSchemaProps.maximum int":                         "a whole number, once it was read from a schema in JSON",
	"apiextensions/v1.JSONSchemaProps.minimum int":                         "a whole number, once it was read from a schema in JSON",
	"apiextensions/v1.JSONSchemaProps.multipleOf int":                      "a whole number, once it was read from a schema in JSON",
	"apps/v1.RollingUpdateStatefulSetStrategy.partition absent":            "weak: validation refuses it beside another type, and for this one it has a default",
	"apps/v1.StatefulSetUpdateStrategy.rollingUpdate empty":                "weak: validation refuses it beside another type, and for this one it has a default",
	"authentication/v1.TokenRequestSpec.audiences empty":                   "weak: the server fills in its own",

	"autoscaling/v1.HorizontalPodAutoscalerSpec.targetCPUUtilizationPercentage absent": "the object was sent in another version, which has other metrics",
	"autoscaling/v2.HorizontalPodAutoscalerSpec.metrics absent":                        "the object was sent in another version, which fills none",
	"autoscaling/v2.HorizontalPodAutoscalerSpec.behavior empty":                        "the object was sent in another version, which fills none",
	"autoscaling/v2.HorizontalPodAutoscalerBehavior.scaleDown absent":                  "the object was sent in another version, which fills none",
	"autoscaling/v2.HorizontalPodAutoscalerBehavior.scaleDown empty":                   "the object was sent in another version, which fills none",
	"autoscaling/v2.HorizontalPodAutoscalerBehavior.scaleUp absent":                    "the object was sent in another version, which fills none",
	"autoscaling/v2.HorizontalPodAutoscalerBehavior.scaleUp empty":                     "the object was sent in another version, which fills none",
	"autoscaling/v2.HPAScalingRules.policies absent":                                   "the object was sent in another version, which fills none",
	"autoscaling/v2.HPAScalingRules.selectPolicy absent":                               "the object was sent in another version, which fills none",

	"autoscaling/v1.Scale.metadata empty":         "weak: it has the name of what it is the scale of",
	"core/v1.Binding.metadata empty":              "weak: it has the name of the pod",
	"policy/v1.Eviction.metadata empty":           "weak: it has the name of the pod",
	"core/v1.ImageVolumeSource.pullPolicy absent": "weak: the field came with its default, in 1.31",
	"core/v1.Volume.image empty":                  "weak: the field came with its default, in 1.31",
	"core/v1.Pod.status empty":                    "weak: a new pod has its quality of service, and keeps it",
	"core/v1.PodStatus.qosClass absent":           "weak: a new pod has its quality of service, and keeps it",
	"core/v1.Secret.stringData.[] empty":          "weak: the server moves what is in it to data",
	"core/v1.Secret.stringData.[] format":         "weak: the server moves what is in it to data",
	"core/v1.Secret.stringData there":             "weak: the server moves what is in it to data",
	"core/v1.ServicePort.targetPort empty":        "weak: empty text is replaced by the port",
	"meta/v1.ObjectMeta.deletionTimestamp empty":  "weak: of a custom resource all but this can be empty",
}

// former tells whether a fact is one of an older version, as generated from its source.
func former(t *testing.T, key string) bool {
	text, err := os.ReadFile("../schema/former.txt")
	if err != nil {
		t.Fatal(err)
	}
	what := key[strings.LastIndexByte(key, ' ')+1:]
	dot := strings.LastIndexByte(key, '.')
	line := key[:dot] + " " + strings.TrimSuffix(key[dot+1:], " "+what)
	return slices.ContainsFunc(strings.Split(string(text), "\n"), func(l string) bool {
		return strings.HasPrefix(l, line+" ") && strings.HasSuffix(l, " "+cmp.Or(map[string]string{"null_type": "null", "there": "gone"}[what], what))
	})
}
