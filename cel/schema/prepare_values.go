package schema

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prepareValues makes the changes to a new object that depend on its values. Line references are
// to the strategy of the kind in Kubernetes 1.37, pkg/registry/<group>/<kind>/strategy.go,
// PrepareForCreate, unless said otherwise.
func prepareValues(typed any, minor int) {
	if spec := podSpecOf(typed); spec != nil {
		dropStopSignals(spec)
	}
	switch o := typed.(type) {
	case *corev1.Pod:
		preparePod(o, minor)
	case *corev1.Service:
		allocate(o)
	case *corev1.Namespace:
		if !slices.Contains(o.Spec.Finalizers, corev1.FinalizerKubernetes) {
			o.Spec.Finalizers = append(o.Spec.Finalizers, corev1.FinalizerKubernetes)
		}
	case *corev1.PersistentVolume:
		now := o.CreationTimestamp
		o.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
	case *corev1.PersistentVolumeClaim:
		prepareClaim(&o.Spec)
	case *corev1.ServiceAccount:
		for i := range o.Secrets {
			o.Secrets[i] = corev1.ObjectReference{Name: o.Secrets[i].Name}
		}
	case *appsv1.DaemonSet:
		if g, _ := strconv.ParseInt(o.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64); g < 1 {
			setLabel(&o.Annotations, appsv1.DeprecatedTemplateGeneration, "1")
		}
	case *appsv1.StatefulSet:
		// The feature gate MaxUnavailableStatefulSet is on since 1.37.
		if r := o.Spec.UpdateStrategy.RollingUpdate; r != nil && minor < 37 {
			r.MaxUnavailable = nil
		}
	case *autoscalingv1.HorizontalPodAutoscaler:
		// They carry the status, which is reset.
		delete(o.Annotations, currentMetricsAnnotation)
		delete(o.Annotations, "autoscaling.alpha.kubernetes.io/conditions")
	case *batchv1.Job:
		prepareJob(o)
	case *authenticationv1.TokenRequest:
		// pkg/registry/core/serviceaccount/storage/token.go, Create: a token is for the server itself
		// if it does not say for whom. The audience is that of the default issuer.
		if len(o.Spec.Audiences) == 0 {
			o.Spec.Audiences = []string{assumedAudience}
		}
	case *apiService:
		prepareAPIService(o)
	case *apiextensionsv1.CustomResourceDefinition:
		o.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		fillDefinition(o)
	}
}

// assumedAudience is the issuer of a server that names none (kubernetes
// pkg/controlplane/apiserver/options, and every kubeadm cluster).
const assumedAudience = "https://kubernetes.default.svc"

// dropStopSignals: pkg/api/pod/util.go, dropContainerStopSignals; the feature gate
// ContainerStopSignals is off.
func dropStopSignals(spec *corev1.PodSpec) {
	drop := func(l **corev1.Lifecycle) {
		if *l == nil || (*l).StopSignal == nil {
			return
		}
		(*l).StopSignal = nil
		if **l == (corev1.Lifecycle{}) {
			*l = nil
		}
	}
	for i := range spec.InitContainers {
		drop(&spec.InitContainers[i].Lifecycle)
	}
	for i := range spec.Containers {
		drop(&spec.Containers[i].Lifecycle)
	}
	for i := range spec.EphemeralContainers {
		drop(&spec.EphemeralContainers[i].Lifecycle)
	}
}

// prepareClaim: pkg/api/persistentvolumeclaim/util.go, DropDisabledFields (the feature gate
// CrossNamespaceVolumeDataSource is off), EnforceDataSourceBackwardsCompatibility and
// NormalizeDataSources.
func prepareClaim(spec *corev1.PersistentVolumeClaimSpec) {
	if r := spec.DataSourceRef; r != nil && r.Namespace != nil && *r.Namespace != "" {
		spec.DataSourceRef = nil
	}
	old, ref := spec.DataSource, spec.DataSourceRef
	switch {
	case ref == nil && old != nil:
		group := ""
		if old.APIGroup != nil {
			group = *old.APIGroup
		}
		claim := old.Kind == "PersistentVolumeClaim" && group == ""
		snapshot := old.Kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io"
		if !claim && !snapshot {
			spec.DataSource = nil
			return
		}
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: old.APIGroup, Kind: old.Kind, Name: old.Name}
	case ref != nil && old == nil:
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	}
}

// prepareJob: generateSelector. The name and uid must be set by now.
func prepareJob(job *batchv1.Job) {
	spec := &job.Spec
	if spec.ManualSelector != nil && *spec.ManualSelector {
		return
	}
	for label, value := range map[string]string{
		"job-name":                 job.Name,
		batchv1.JobNameLabel:       job.Name,
		"controller-uid":           string(job.UID),
		batchv1.ControllerUidLabel: string(job.UID),
	} {
		if _, ok := spec.Template.Labels[label]; !ok {
			setLabel(&spec.Template.Labels, label, value)
		}
	}
	if spec.Selector == nil {
		spec.Selector = &metav1.LabelSelector{}
	}
	if _, ok := spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !ok {
		setLabel(&spec.Selector.MatchLabels, batchv1.ControllerUidLabel, string(job.UID))
	}
}

// prepareAPIService: kube-aggregator pkg/registry/apiservice/strategy.go.
func prepareAPIService(s *apiService) {
	s.Status = apiServiceStatus{}
	if s.Spec.Service == nil {
		s.Status.Conditions = []apiServiceCondition{{
			Type: "Available", Status: "True", LastTransitionTime: s.CreationTimestamp,
			Reason: "Local", Message: "Local APIServices are always available",
		}}
	}
}
