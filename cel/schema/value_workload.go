package schema

import (
	"fmt"
	"maps"
	"math"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// podSpecOf is the pod or the template of a pod that an object holds and whose contents are
// defaulted, nil if it holds none.
func podSpecOf(typed any) *corev1.PodSpec {
	switch o := typed.(type) {
	case *corev1.Pod:
		return &o.Spec
	case *corev1.PodTemplate:
		return &o.Template.Spec
	case *corev1.ReplicationController:
		if o.Spec.Template != nil {
			return &o.Spec.Template.Spec
		}
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec
	case *appsv1.DaemonSet:
		return &o.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &o.Spec.Template.Spec
	case *appsv1.ReplicaSet:
		return &o.Spec.Template.Spec
	case *batchv1.Job:
		return &o.Spec.Template.Spec
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template.Spec
	}
	return nil
}

func copyLabels(labels map[string]string) map[string]string { return maps.Clone(labels) }

func fillWorkload(typed any, minor int) bool {
	switch o := typed.(type) {
	case *appsv1.Deployment:
		fillDeployment(&o.Spec.Strategy)
	case *appsv1.DaemonSet:
		fillDaemonSet(o)
	case *appsv1.StatefulSet:
		fillStatefulSet(&o.Spec.UpdateStrategy, minor)
		// apps/v1/conversion.go, Convert_apps_StatefulSetSpec_To_v1_StatefulSetSpec.
		for i := range o.Spec.VolumeClaimTemplates {
			o.Spec.VolumeClaimTemplates[i].APIVersion = "v1"
			o.Spec.VolumeClaimTemplates[i].Kind = "PersistentVolumeClaim"
		}
	case *batchv1.Job:
		fillJob(o)
	case *autoscalingv1.HorizontalPodAutoscaler:
		fillAutoscalerV1(o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		fillAutoscaler(o.Spec.Behavior)
	default:
		return false
	}
	return true
}

// fillDeployment: apps/v1/defaults.go, SetDefaults_Deployment.
func fillDeployment(s *appsv1.DeploymentStrategy) {
	bound := intstr.FromString("25%")
	switch rolling := s.Type == "" || s.Type == appsv1.RollingUpdateDeploymentStrategyType; {
	case !rolling && s.RollingUpdate == nil:
		return
	case !rolling:
		bound = intstr.FromInt32(0) // the internal version has no unset numbers
	case s.RollingUpdate == nil:
		s.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	}
	if s.RollingUpdate.MaxUnavailable == nil {
		s.RollingUpdate.MaxUnavailable = new(bound)
	}
	if s.RollingUpdate.MaxSurge == nil {
		s.RollingUpdate.MaxSurge = new(bound)
	}
}

// fillDaemonSet: apps/v1/defaults.go, SetDefaults_DaemonSet; apps/v1/conversion.go,
// Convert_apps_DaemonSet_To_v1_DaemonSet, which writes the template's generation, here that of an
// object that has none.
func fillDaemonSet(ds *appsv1.DaemonSet) {
	if _, ok := ds.Annotations[appsv1.DeprecatedTemplateGeneration]; !ok {
		setLabel(&ds.Annotations, appsv1.DeprecatedTemplateGeneration, "0")
	}
	s, bound := &ds.Spec.UpdateStrategy, intstr.FromInt32(1)
	switch rolling := s.Type == "" || s.Type == appsv1.RollingUpdateDaemonSetStrategyType; {
	case !rolling && s.RollingUpdate == nil:
		return
	case !rolling:
		bound = intstr.FromInt32(0) // the internal version has no unset numbers
	case s.RollingUpdate == nil:
		s.RollingUpdate = &appsv1.RollingUpdateDaemonSet{}
	}
	if s.RollingUpdate.MaxUnavailable == nil {
		s.RollingUpdate.MaxUnavailable = new(bound)
	}
	if s.RollingUpdate.MaxSurge == nil {
		s.RollingUpdate.MaxSurge = new(intstr.FromInt32(0))
	}
}

// fillStatefulSet: apps/v1/defaults.go, SetDefaults_StatefulSet.
func fillStatefulSet(s *appsv1.StatefulSetUpdateStrategy, minor int) {
	if s.Type == "" {
		s.Type = appsv1.RollingUpdateStatefulSetStrategyType
		if s.RollingUpdate == nil {
			s.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
	}
	if s.RollingUpdate == nil {
		return
	}
	if s.RollingUpdate.Partition == nil {
		s.RollingUpdate.Partition = new(int32(0))
	}
	// The feature gate MaxUnavailableStatefulSet is on since 1.37.
	rolling := s.Type == appsv1.RollingUpdateStatefulSetStrategyType
	if rolling && s.RollingUpdate.MaxUnavailable == nil && minor >= 37 {
		s.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(1))
	}
}

// fillJob: batch/v1/defaults.go, SetDefaults_Job.
func fillJob(job *batchv1.Job) {
	spec := &job.Spec
	if spec.Completions == nil && spec.Parallelism == nil {
		spec.Completions = new(int32(1))
	}
	if spec.BackoffLimit == nil {
		spec.BackoffLimit = new(int32(6))
		if spec.BackoffLimitPerIndex != nil {
			spec.BackoffLimit = new(int32(math.MaxInt32))
		}
	}
	if spec.PodReplacementPolicy == nil {
		spec.PodReplacementPolicy = new(batchv1.TerminatingOrFailed)
		if spec.PodFailurePolicy != nil {
			spec.PodReplacementPolicy = new(batchv1.Failed)
		}
	}
	if len(job.Labels) == 0 && spec.Template.Labels != nil {
		// One map from here on, as on the server: labels that the strategy adds to the template
		// turn up on the job too.
		job.Labels = spec.Template.Labels
	}
}

// currentMetricsAnnotation carries the metrics of an autoscaler's status between versions
// (pkg/apis/autoscaling/annotations.go, MetricStatusesAnnotation).
const currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"

// fillAutoscalerV1: autoscaling/v1/conversion.go,
// Convert_v1_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler and back. Metrics,
// behavior and conditions that a client wrote into the annotations that carry them between
// versions are left as they are.
func fillAutoscalerV1(hpa *autoscalingv1.HorizontalPodAutoscaler) {
	if hpa.Spec.TargetCPUUtilizationPercentage == nil {
		hpa.Spec.TargetCPUUtilizationPercentage = new(int32(80))
	}
	if used := hpa.Status.CurrentCPUUtilizationPercentage; used != nil {
		setLabel(&hpa.Annotations, currentMetricsAnnotation,
			fmt.Sprintf(`[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":%d,"currentAverageValue":"0"}}]`, *used))
	}
}

// fillAutoscaler: autoscaling/v2/defaults.go, SetDefaults_HorizontalPodAutoscalerBehavior: rules
// without a list of policies get one, an empty list stays.
func fillAutoscaler(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
	if b == nil {
		return
	}
	percent := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}
	pods := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15}
	if b.ScaleUp != nil && b.ScaleUp.Policies == nil {
		b.ScaleUp.Policies = []autoscalingv2.HPAScalingPolicy{pods, percent}
	}
	if b.ScaleDown != nil && b.ScaleDown.Policies == nil {
		b.ScaleDown.Policies = []autoscalingv2.HPAScalingPolicy{percent}
	}
}
