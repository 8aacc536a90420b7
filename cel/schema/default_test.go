package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/diff"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// object reads YAML into the form that the package works on.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	b, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(b, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// difference is empty for equal values.
func difference(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return diff.Diff(want, got)
}

func compare(t *testing.T, got map[string]any, want string) {
	t.Helper()
	if d := difference(object(t, want), got); d != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", d)
	}
}

func TestDefaultFillsWhatTheServerFills(t *testing.T) {
	for _, c := range []struct {
		name     string
		minor    int
		kind     schema.GroupVersionKind
		in, want string
	}{
		{
			"a pod, its image without a tag, limits without requests", 37, gvk("", "v1", "Pod"),
			`{metadata: {name: a}, spec: {containers: [{name: c, image: nginx, resources: {limits: {cpu: 1000m}}}]}}`,
			`
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: c
    image: nginx
    imagePullPolicy: Always
    resources: {limits: {cpu: "1"}, requests: {cpu: "1"}}
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext: {}
  terminationGracePeriodSeconds: 30
status: {}`,
		},
		{
			"a zero that the client wrote is kept where it can be told from nothing", 37, gvk("apps", "v1", "ReplicaSet"),
			`{metadata: {name: a}, spec: {replicas: 0, minReadySeconds: 0, selector: null, template: {spec: {terminationGracePeriodSeconds: 0, restartPolicy: ""}}}}`,
			`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: a}
spec:
  replicas: 0
  selector: null
  template:
    metadata: {}
    spec:
      containers: null
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 0
status: {replicas: 0}`,
		},
		{
			"a field that the kind does not have is dropped", 37, gvk("", "v1", "ConfigMap"),
			`{metadata: {name: a, colour: red}, data: {k: v}, nothing: 1}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}`,
		},
		{
			"subjects and roles get their group", 37, gvk("rbac.authorization.k8s.io", "v1", "RoleBinding"),
			`{metadata: {name: a}, roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s}]}`,
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r},
			  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: u}, {kind: ServiceAccount, name: s}]}`,
		},
		{
			"a secret's text is encoded", 37, gvk("", "v1", "Secret"),
			`{metadata: {name: a}, data: {b: Yg==}, stringData: {a: x}}`,
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, type: Opaque, data: {a: eA==, b: Yg==}}`,
		},
		{
			"a default that a later version has", 36, gvk("apps", "v1", "StatefulSet"),
			`{spec: {serviceName: s, selector: {}, template: {spec: {containers: []}}}}`,
			`
apiVersion: apps/v1
kind: StatefulSet
metadata: {}
spec:
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}
  podManagementPolicy: OrderedReady
  replicas: 1
  revisionHistoryLimit: 10
  selector: {}
  serviceName: s
  template:
    metadata: {}
    spec: {containers: [], dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}
status: {availableReplicas: 0, replicas: 0}`,
		},
		{
			"an unknown kind is left alone", 37, gvk("example.com", "v1", "Widget"),
			`{spec: {a: 1}}`, `{spec: {a: 1}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj := object(t, c.in)
			if err := Default(BuiltIn(c.minor), c.kind, obj); err != nil {
				t.Fatal(err)
			}
			compare(t, obj, c.want)
		})
	}
}

func TestObjectsThatTheServerCannotReadAreLeftAlone(t *testing.T) {
	for name, in := range map[string]string{
		"a number instead of a text": `{spec: {restartPolicy: 1}}`,
		"a map instead of a list":    `{spec: {containers: {a: b}}}`,
		"a text instead of metadata": `{metadata: a}`,
		"a malformed quantity":       `{spec: {containers: [{resources: {limits: {cpu: much}}}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(t, in)
			for what, change := range map[string]func(*Table, schema.GroupVersionKind, map[string]any) error{"Default": Default, "Create": Create} {
				err := change(BuiltIn(Newest), gvk("", "v1", "Pod"), obj)
				if err == nil || !strings.Contains(err.Error(), "not a valid Pod") {
					t.Errorf("%s: error %v", what, err)
				}
				compare(t, obj, in)
			}
		})
	}
}

func TestPullPolicyFollowsTheTag(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for image, want := range map[string]string{
		"nginx": "Always", "nginx:latest": "Always", "nginx:1.2": "IfNotPresent",
		"registry.example.com:5000/a/b": "Always", "registry.example.com:5000/a/b:v1": "IfNotPresent",
		"nginx@" + digest: "IfNotPresent", "nginx:latest@" + digest: "Always",
		"nginx@sha256:12": "IfNotPresent", "": "IfNotPresent", "Nginx": "IfNotPresent", "Host/nginx": "Always",
		strings.Repeat("a", 64): "IfNotPresent", "localhost/x": "Always", "[::1]:5000/x": "Always",
	} {
		if got := string(pullPolicy(image)); got != want {
			t.Errorf("%q: got %s", image, got)
		}
	}
}

func TestCreateMakesAFreshObject(t *testing.T) {
	for _, c := range []struct {
		name     string
		minor    int
		kind     schema.GroupVersionKind
		in, want string // want holds the changed fields only
	}{
		{
			"a pod is pending and has a class", 37, gvk("", "v1", "Pod"),
			`{metadata: {name: a}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1Gi}}}]}, status: {phase: Running}}`,
			`{metadata: {name: a, generation: 1}, status: {phase: Pending, qosClass: Guaranteed}}`,
		},
		{
			"a pod before generations", 32, gvk("", "v1", "Pod"),
			`{metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}`,
			`{metadata: {name: a}, status: {phase: Pending, qosClass: BestEffort}}`,
		},
		{
			"a service has addresses", 37, gvk("", "v1", "Service"),
			`{metadata: {name: a}, spec: {type: NodePort, selector: {a: b}, ports: [{port: 80}]}}`,
			`{spec: {clusterIP: 10.0.0.100, clusterIPs: [10.0.0.100], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, type: NodePort,
			  externalTrafficPolicy: Cluster, internalTrafficPolicy: Cluster, sessionAffinity: None, selector: {a: b},
			  ports: [{port: 80, targetPort: 80, protocol: TCP, nodePort: 30100}]}}`,
		},
		{
			"a headless service without a selector has two families", 37, gvk("", "v1", "Service"),
			`{metadata: {name: a}, spec: {clusterIP: None}}`,
			`{spec: {clusterIP: None, clusterIPs: [None], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack, type: ClusterIP, internalTrafficPolicy: Cluster, sessionAffinity: None}}`,
		},
		{
			"a namespace has its finalizer", 37, gvk("", "v1", "Namespace"),
			`{metadata: {name: a}}`,
			`{metadata: {name: a, labels: {kubernetes.io/metadata.name: a}}, spec: {finalizers: [kubernetes]}, status: {phase: Active}}`,
		},
		{
			"a job without labels selects its own pods", 37, gvk("batch", "v1", "Job"),
			`{metadata: {name: a, uid: u}, spec: {template: {spec: {containers: []}}}}`,
			`{metadata: {name: a, uid: u, generation: 1}, status: {}}`,
		},
		{
			"a job whose labels are its template's gets the template's new ones", 37, gvk("batch", "v1", "Job"),
			`{metadata: {name: a, uid: u}, spec: {template: {metadata: {labels: {x: z}}, spec: {containers: []}}}}`,
			`{metadata: {name: a, uid: u, generation: 1, labels: {x: z, job-name: a, controller-uid: u, batch.kubernetes.io/job-name: a, batch.kubernetes.io/controller-uid: u}}}`,
		},
		{
			"a job with the same labels of its own keeps them", 37, gvk("batch", "v1", "Job"),
			`{metadata: {name: a, uid: u, labels: {x: z}}, spec: {template: {metadata: {labels: {x: z}}, spec: {containers: []}}}}`,
			`{metadata: {name: a, uid: u, generation: 1, labels: {x: z}}}`,
		},
		{
			"a daemon set's template has a generation", 37, gvk("apps", "v1", "DaemonSet"),
			`{metadata: {name: a}, spec: {template: {spec: {containers: []}}}}`,
			`{metadata: {name: a, generation: 1, annotations: {deprecated.daemonset.template.generation: "1"}}}`,
		},
		{
			"a token for nobody is for the server", 37, gvk("authentication.k8s.io", "v1", "TokenRequest"),
			`{spec: {audiences: []}}`,
			`{spec: {audiences: ["https://kubernetes.default.svc"], boundObjectRef: null, expirationSeconds: 3600}}`,
		},
		{
			"a role has no generation", 37, gvk("rbac.authorization.k8s.io", "v1", "Role"),
			`{metadata: {name: a}, rules: []}`,
			`{metadata: {name: a}, rules: []}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj, table := object(t, c.in), BuiltIn(c.minor)
			if err := Create(table, c.kind, obj); err != nil {
				t.Fatal(err)
			}
			for field, want := range object(t, c.want) {
				if d := difference(want, obj[field]); d != "" {
					t.Errorf("%s: want (-) and got (+) differ:\n%s", field, d)
				}
			}
		})
	}
}

func FuzzDefaultNeverPanics(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{"containers":[{"image":"a:b"}],"volumes":[{}]}}`, `{"spec":null,"metadata":null}`,
		`{"metadata":{"labels":{"a":"b"}},"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`,
		`{"spec":{"template":{"spec":{"containers":[null]}},"strategy":{"type":"Recreate"}}}`, `{"spec":[1,2.5,"x"],"status":true}`,
	} {
		f.Add(seed)
	}
	kinds := []schema.GroupVersionKind{
		gvk("", "v1", "Pod"), gvk("", "v1", "Service"), gvk("", "v1", "Secret"), gvk("apps", "v1", "Deployment"), gvk("apps", "v1", "StatefulSet"),
		gvk("batch", "v1", "Job"), gvk("batch", "v1", "CronJob"), gvk("apiregistration.k8s.io", "v1", "APIService"),
		gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), gvk("networking.k8s.io", "v1", "NetworkPolicy"),
		gvk("flowcontrol.apiserver.k8s.io", "v1beta3", "FlowSchema"), gvk("stable.example.com", "v1", "CronTab"),
	}
	table, err := BuiltIn(Newest).WithCRDs(cronTab(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var obj map[string]any
		if utiljson.Unmarshal([]byte(text), &obj) != nil || obj == nil {
			t.Skip("not an object")
		}
		for _, kind := range kinds {
			once := runtime.DeepCopyJSON(obj)
			if Default(table, kind, once) != nil {
				continue
			}
			twice := runtime.DeepCopyJSON(once)
			if err := Default(table, kind, twice); err != nil {
				t.Fatalf("%s: the second time: %v", kind, err)
			}
			if d := difference(once, twice); d != "" {
				in, _ := json.Marshal(obj)
				t.Fatalf("%s: the second time changes %s:\n%s", kind, in, d)
			}
			_ = Create(table, kind, once)
		}
	})
}

func BenchmarkDefaultPod(b *testing.B) {
	pod := object(b, `{metadata: {name: a, labels: {app: a}}, spec: {volumes: [{name: v, configMap: {name: c}}], containers: [
	  {name: c, image: "nginx:1", ports: [{containerPort: 80}], livenessProbe: {httpGet: {port: 80}}, resources: {limits: {cpu: 1, memory: 1Gi}},
	   env: [{name: A, value: b}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], volumeMounts: [{name: v, mountPath: /v}]}]}}`)
	table := BuiltIn(Newest)
	b.ReportAllocs()
	for b.Loop() {
		if err := Default(table, gvk("", "v1", "Pod"), runtime.DeepCopyJSON(pod)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseTables(b *testing.B) {
	for b.Loop() {
		parseDefaults()
		parseCreations()
	}
}
