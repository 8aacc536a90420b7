package policies_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/policies/profile"
)

// TestTheAPIServersOwnPluginGivesEveryCaseTheSameAnswer runs each case through the unmodified
// validating.NewPlugin, which is what an API server runs, with the case's policy alone.
func TestTheAPIServersOwnPluginGivesEveryCaseTheSameAnswer(t *testing.T) {
	for _, p := range profile.Builtin() {
		x := prove(t, p)
		m := render(t, p)
		for i, policy := range m.Policies {
			plugin := upstream(t, nil, x.cases[policy.Name], policy, m.Bindings[i])
			x.compare(t, plugin, policy.Name, func(message string) string { return message })
		}
	}
}

// compare demands of the plugin, which has one policy, the harness's answer to each of its cases.
// The plugin may know the policy by another name.
func (x proof) compare(t *testing.T, plugin *validating.Plugin, policy string, rename func(message string) string) {
	t.Helper()
	denied := 0
	for _, c := range x.cases[policy] {
		have := answer(plugin.Validate(t.Context(), attributes(t, c), admission.NewObjectInterfacesFromScheme(scheme.Scheme)))
		v := fixture.Run(t.Context(), x.set, c).Verdict
		want := status{v.Code, v.Reason, rename(v.Message)}
		if have != want {
			t.Errorf("%s: %s:%d: %s\n  the API server  %+v\n  the harness     %+v", x.profile.Name, c.File, c.Line, c.Name, have, want)
		}
		if have.code != 0 {
			denied++
		}
	}
	if denied == 0 || denied == len(x.cases[policy]) {
		t.Errorf("%s: %s: %d of %d cases are refused: the plugin does not judge", x.profile.Name, policy, denied, len(x.cases[policy]))
	}
}

type status struct {
	code    int32
	reason  metav1.StatusReason
	message string
}

func answer(err error) status {
	if err == nil {
		return status{}
	}
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return status{code: -1, message: err.Error()}
	}
	return status{s.Status().Code, s.Status().Reason, s.Status().Message}
}

// attributes is the request of a case as the API server's admission chain gets it.
func attributes(t *testing.T, c fixture.Case) admission.Attributes {
	t.Helper()
	r := c.Request
	if err := harness.Complete(&r, c.Cluster, c.Now); err != nil {
		t.Fatalf("%s:%d: %v", c.File, c.Line, err)
	}
	into := func(o runtime.Object, content map[string]any) runtime.Object {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, o, true); err != nil {
			t.Fatalf("%s:%d: %v", c.File, c.Line, err)
		}
		return o
	}
	decode := func(content map[string]any) runtime.Object {
		if content == nil {
			return nil
		}
		if !scheme.Scheme.Recognizes(r.Kind) {
			return &unstructured.Unstructured{Object: content} // a custom resource
		}
		o, err := scheme.Scheme.New(r.Kind)
		if err != nil {
			t.Fatalf("%s:%d: %v", c.File, c.Line, err)
		}
		return into(o, content)
	}
	options := map[admission.Operation]runtime.Object{
		admission.Create: &metav1.CreateOptions{}, admission.Update: &metav1.UpdateOptions{}, admission.Delete: &metav1.DeleteOptions{},
	}[r.Operation] // none on CONNECT
	if options != nil {
		options = into(options, r.Options)
	}
	name := r.Name
	if r.Collection {
		name = ""
	}
	return admission.NewAttributesRecord(decode(r.Object), decode(r.OldObject), r.Kind, r.Namespace, name, r.Resource, r.Subresource,
		r.Operation, options, r.DryRun, &r.User)
}

// reviews are those that no policy sees (kubernetes pkg/kubeapiserver/admission/exclusion/resources.go).
var reviews = []schema.GroupResource{
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}, {Group: "authentication.k8s.io", Resource: "tokenreviews"},
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}, {Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}, {Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
}

// upstream is the API server's plugin with a configuration, the objects of its cluster, and the
// namespaces of the cases.
func upstream(t *testing.T, config io.Reader, cases []fixture.Case, objects ...runtime.Object) *validating.Plugin {
	t.Helper()
	known := map[string]bool{}
	for _, c := range cases {
		described := maps.Clone(c.Cluster.Namespaces)
		if name := c.Request.Namespace; name != "" && described[name] == nil {
			described[name] = &corev1.Namespace{} // it exists, and nothing else is known of it
		}
		for name, ns := range described {
			if !known[name] {
				objects = append(objects, harness.CompleteNamespace(name, ns))
			}
			known[name] = true
		}
	}
	plugin, err := validating.NewPlugin(config)
	if err != nil {
		t.Fatal(err)
	}
	plugin.SetExcludedAdmissionResources(reviews)
	plugin.SetManifestLoaders(&initializer.ManifestLoaders{LoadValidatingPolicyManifests: loadManifests})
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	initializer.New(client, dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), factory, nobody{}, nil, nil, t.Context().Done(), meta.NewDefaultRESTMapper(nil)).Initialize(plugin)
	if err := plugin.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	if !plugin.WaitForReady() {
		t.Fatal("the plugin does not become ready")
	}
	return plugin
}

// nobody may do anything.
type nobody struct{}

func (nobody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

func (n nobody) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(n.Authorize(ctx, a))
}

func (nobody) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}
