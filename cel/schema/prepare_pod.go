package schema

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// preparePod: pkg/registry/core/pod/strategy.go, PrepareForCreate.
func preparePod(pod *corev1.Pod, minor int) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message:            "Scheduling is blocked due to non-empty scheduling gates",
			LastTransitionTime: pod.CreationTimestamp,
		}}
	}
	if minor >= 31 { // feature gate MatchLabelKeysInPodAffinity
		selectByAffinityKeys(pod.Spec.Affinity, pod.Labels)
	}
	if minor >= 34 { // feature gate MatchLabelKeysInPodTopologySpreadSelectorMerge
		for i := range pod.Spec.TopologySpreadConstraints {
			c := &pod.Spec.TopologySpreadConstraints[i]
			selectByKeys(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
		}
	}
	confine(pod)
	if minor >= 37 { // feature gate PodLevelResourcesFixDefaulting
		preparePodResources(pod)
	}
	pod.Status.QOSClass = qosClass(&pod.Spec, minor)
}

// selectByAffinityKeys: strategy.go, mutatePodAffinity.
func selectByAffinityKeys(affinity *corev1.Affinity, labels map[string]string) {
	apply := func(term *corev1.PodAffinityTerm) {
		selectByKeys(term.LabelSelector, term.MatchLabelKeys, metav1.LabelSelectorOpIn, labels)
		selectByKeys(term.LabelSelector, term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, labels)
	}
	both := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			apply(&required[i])
		}
		for i := range preferred {
			apply(&preferred[i].PodAffinityTerm)
		}
	}
	if affinity == nil {
		return
	}
	if a := affinity.PodAffinity; a != nil {
		both(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		both(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// selectByKeys: strategy.go, applyLabelKeysToLabelSelector.
func selectByKeys(selector *metav1.LabelSelector, keys []string, op metav1.LabelSelectorOperator, labels map[string]string) {
	if selector == nil {
		return
	}
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{value}})
		}
	}
}

// confine copies AppArmor annotations to the fields that replace them: strategy.go,
// applyAppArmorVersionSkew.
func confine(pod *corev1.Pod) {
	if pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return
	}
	var whole *corev1.AppArmorProfile
	if pod.Spec.SecurityContext != nil {
		whole = pod.Spec.SecurityContext.AppArmorProfile
	}
	one := func(name string, context **corev1.SecurityContext) {
		annotation, ok := pod.Annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+name]
		if !ok || *context != nil && (*context).AppArmorProfile != nil {
			return
		}
		profile := appArmorProfile(annotation)
		if profile == nil || equality.Semantic.DeepEqual(profile, whole) {
			return
		}
		if *context == nil {
			*context = &corev1.SecurityContext{}
		}
		(*context).AppArmorProfile = profile
	}
	for i := range pod.Spec.InitContainers {
		one(pod.Spec.InitContainers[i].Name, &pod.Spec.InitContainers[i].SecurityContext)
	}
	for i := range pod.Spec.Containers {
		one(pod.Spec.Containers[i].Name, &pod.Spec.Containers[i].SecurityContext)
	}
	for i := range pod.Spec.EphemeralContainers {
		one(pod.Spec.EphemeralContainers[i].Name, &pod.Spec.EphemeralContainers[i].SecurityContext)
	}
}

// maxProfilePath is the longest name of a profile: pkg/apis/core/validation/validation.go,
// ValidateAppArmorProfileField.
const maxProfilePath = 4095

// appArmorProfile reads an annotation; nil if it is not valid (pkg/api/pod/util.go,
// ApparmorFieldForAnnotation).
func appArmorProfile(annotation string) *corev1.AppArmorProfile {
	switch annotation {
	case corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	name, ok := strings.CutPrefix(annotation, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	if !ok || name == "" || name != strings.TrimSpace(name) || len(name) > maxProfilePath {
		return nil
	}
	return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
}

// qosClass: pkg/apis/core/helper/qos/qos.go, ComputePodQOS.
func qosClass(spec *corev1.PodSpec, minor int) corev1.PodQOSClass {
	// The feature gate PodLevelResources is on since 1.34.
	if minor >= 34 && spec.Resources != nil && (minor < 37 || hasPodLevel(spec.Resources)) {
		return qosOf(spec.Resources)
	}
	var class corev1.PodQOSClass
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := qosOf(&containers[i].Resources)
			if class != "" && c != class {
				return corev1.PodQOSBurstable
			}
			class = c
		}
	}
	if class == "" {
		return corev1.PodQOSBestEffort
	}
	return class
}

func hasPodLevel(r *corev1.ResourceRequirements) bool {
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for name := range list {
			if isPodLevel(name) {
				return true
			}
		}
	}
	return false
}

func qosOf(r *corev1.ResourceRequirements) corev1.PodQOSClass {
	one := func(name corev1.ResourceName) corev1.PodQOSClass {
		request, limit := r.Requests[name], r.Limits[name]
		switch {
		case !request.Equal(limit):
			return corev1.PodQOSBurstable
		case request.IsZero():
			return corev1.PodQOSBestEffort
		}
		return corev1.PodQOSGuaranteed
	}
	cpu, memory := one(corev1.ResourceCPU), one(corev1.ResourceMemory)
	if cpu != memory {
		return corev1.PodQOSBurstable
	}
	return cpu
}
