package harness_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"hangar.io/holdshort/cel/harness"
)

const benchPolicy = `
metadata: {name: p%d, uid: u, resourceVersion: "1"}
spec:
  failurePolicy: Fail
  matchConstraints:
    matchPolicy: Equivalent
    namespaceSelector: {}
    objectSelector: {}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods], scope: "*"}
  matchConditions:
  - {name: not-system, expression: "!(has(request.userInfo.username) && request.userInfo.username.startsWith('system:'))"}
  variables:
  - {name: containers, expression: "object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])"}
  validations:
  - {expression: "variables.containers.all(c, has(c.image) && c.image.startsWith('registry.example.com/'))", message: foreign image}
  - {expression: "variables.containers.all(c, !has(c.securityContext) || !has(c.securityContext.privileged) || !c.securityContext.privileged)", message: privileged}
`

func benchSet(t testing.TB, n int) ([]*admissionv1.ValidatingAdmissionPolicy, []*admissionv1.ValidatingAdmissionPolicyBinding, *harness.Set) {
	var policies []*admissionv1.ValidatingAdmissionPolicy
	var bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	for i := range n {
		s := set(t, fmt.Sprintf(benchPolicy, i))
		name := fmt.Sprintf("p%d", i)
		p, b := s.Policy(name).DeepCopy(), s.Bindings(name)[0].DeepCopy()
		b.UID, b.ResourceVersion = types.UID("u"), "1"
		policies, bindings = append(policies, p), append(bindings, b)
	}
	s, err := harness.Compile(policies, bindings)
	if err != nil {
		t.Fatal(err)
	}
	return policies, bindings, s
}

// BenchmarkEvaluate compares an evaluation with the unmodified plugin of the API server on the
// same request and policies, in the same run.
func BenchmarkEvaluate(b *testing.B) {
	policies, bindings, s := benchSet(b, 10)
	r := createPod(object(b, plainPod))
	if err := harness.Complete(&r, harness.Cluster{}, now); err != nil {
		b.Fatal(err)
	}
	prepared, err := harness.Prepare(r, harness.Cluster{})
	if err != nil {
		b.Fatal(err)
	}
	plugin := upstream(b, policies, bindings)
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object, pod); err != nil {
		b.Fatal(err)
	}
	pod.SetGroupVersionKind(r.Kind)
	interfaces := admission.NewObjectInterfacesFromScheme(scheme.Scheme)
	ctx := context.Background()
	bare := func() {
		a := admission.NewAttributesRecord(pod, nil, r.Kind, r.Namespace, r.Name, r.Resource, "", admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "jane"})
		if err := plugin.Validate(ctx, a, interfaces); err != nil {
			b.Fatal(err)
		}
	}
	plain := func() { s.Evaluate(ctx, prepared, harness.Options{}) }
	traced := func() { s.Evaluate(ctx, prepared, harness.Options{Trace: true}) }
	if v := s.Evaluate(ctx, prepared, harness.Options{}); v.Decision != harness.Allowed {
		b.Fatalf("%+v", v)
	}
	bare()
	var spent [3]time.Duration
	b.ReportAllocs()
	for b.Loop() {
		for i, f := range []func(){bare, plain, traced} {
			start := time.Now()
			f()
			spent[i] += time.Since(start)
		}
	}
	b.ReportMetric(float64(spent[0].Nanoseconds())/float64(b.N)/10, "bare-ns/policy")
	b.ReportMetric(float64(spent[1].Nanoseconds())/float64(b.N)/10, "plain-ns/policy")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "plain/bare")
	b.ReportMetric(float64(spent[2])/float64(spent[0]), "traced/bare")
}

// upstream is validating.NewPlugin as the API server starts it, with a fake client.
func upstream(t testing.TB, policies []*admissionv1.ValidatingAdmissionPolicy, bindings []*admissionv1.ValidatingAdmissionPolicyBinding) *validating.Plugin {
	objects := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	for i := range policies {
		objects = append(objects, policies[i], bindings[i])
	}
	plugin, err := validating.NewPlugin(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	initializer.New(client, dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), factory, allowNothing{}, nil, nil, stop, meta.NewDefaultRESTMapper(nil)).Initialize(plugin)
	if err := plugin.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	if !plugin.WaitForReady() {
		t.Fatal("the plugin did not become ready")
	}
	return plugin
}

// BenchmarkCompile is the cost of making a policy ready, paid once, at its first use.
func BenchmarkCompile(b *testing.B) {
	policies, bindings, s := benchSet(b, 1)
	r := createPod(object(b, plainPod))
	prepared, err := harness.Prepare(r, harness.Cluster{})
	if err == nil {
		err = harness.Complete(&r, harness.Cluster{}, now)
	}
	if err != nil {
		b.Fatal(err)
	}
	s.Evaluate(context.Background(), prepared, harness.Options{})
	b.ReportAllocs()
	for b.Loop() {
		s, err := harness.Compile(policies, bindings)
		if err != nil {
			b.Fatal(err)
		}
		s.Evaluate(context.Background(), prepared, harness.Options{})
	}
}

// BenchmarkPrepare is the cost of completing and decoding a request, paid once a request.
func BenchmarkPrepare(b *testing.B) {
	pod := object(b, plainPod)
	b.ReportAllocs()
	for b.Loop() {
		r := createPod(pod)
		if err := harness.Complete(&r, harness.Cluster{}, now); err != nil {
			b.Fatal(err)
		}
		if _, err := harness.Prepare(r, harness.Cluster{}); err != nil {
			b.Fatal(err)
		}
	}
}
