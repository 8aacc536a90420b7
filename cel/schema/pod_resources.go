package schema

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// fillPodResources fills the resources of a whole pod, if it states any, from those of its
// containers: core/v1/defaults.go, defaultHugePagePodLimits and defaultPodRequests.
func fillPodResources(pod *corev1.Pod) {
	r := pod.Spec.Resources
	if r == nil {
		return
	}
	if len(r.Limits) > 0 || len(r.Requests) > 0 {
		for name, sum := range sumResources(&pod.Spec, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Limits }) {
			_, limited := r.Limits[name]
			_, requested := r.Requests[name]
			if isHugePages(name) && !limited && !requested {
				setResource(&r.Limits, name, sum)
			}
		}
	}
	if len(r.Limits) == 0 {
		return
	}
	requestForPod(pod)
}

// isPodLevel: component-helpers resource/helpers.go, IsSupportedPodLevelResource.
func isPodLevel(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || isHugePages(name)
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// sumResources is what a pod's containers need together: component-helpers resource/helpers.go,
// aggregateContainerResourcesByFn. Init containers run one after the other, beside the sidecars
// that were started before them.
func sumResources(spec *corev1.PodSpec, of func(*corev1.Container) corev1.ResourceList) corev1.ResourceList {
	total, sidecars, peak := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.Containers {
		addResources(total, of(&spec.Containers[i]))
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			addResources(total, of(c))
			addResources(sidecars, of(c))
			raiseResources(peak, sidecars)
			continue
		}
		here := corev1.ResourceList{}
		addResources(here, of(c))
		addResources(here, sidecars)
		raiseResources(peak, here)
	}
	raiseResources(total, peak)
	return total
}

func addResources(to, more corev1.ResourceList) {
	for name, q := range more {
		sum := to[name]
		sum.Add(q)
		to[name] = sum
	}
}

func raiseResources(to, least corev1.ResourceList) {
	for name, q := range least {
		if have, ok := to[name]; !ok || q.Cmp(have) > 0 {
			to[name] = q.DeepCopy()
		}
	}
}

// preparePodResources is the form of fillPodResources that looks at a new pod when all mutating
// admission is done: kubernetes pkg/api/pod/util.go, DefaultPodLevelResources.
func preparePodResources(pod *corev1.Pod) {
	r := pod.Spec.Resources
	if r == nil || len(r.Requests) == 0 && len(r.Limits) == 0 {
		return
	}
	limits := sumResources(&pod.Spec, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Limits })
	for name, sum := range limits {
		_, limited := r.Limits[name]
		_, requested := r.Requests[name]
		if isHugePages(name) && !limited && !requested {
			setResource(&r.Limits, name, sum)
		}
	}
	requestForPod(pod)
	for name, request := range r.Requests {
		limit, ok := limits[name]
		if _, limited := r.Limits[name]; limited || !ok || !isPodLevel(name) || !limitedEverywhere(&pod.Spec, name) {
			continue
		}
		if request.Cmp(limit) > 0 {
			limit = request
		}
		setResource(&r.Limits, name, limit)
	}
}

// requestForPod: the sum of the containers' requests, else the pod's limit.
func requestForPod(pod *corev1.Pod) {
	r := pod.Spec.Resources
	for name, sum := range sumResources(&pod.Spec, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests }) {
		if _, ok := r.Requests[name]; !ok && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			setResource(&r.Requests, name, sum)
		}
	}
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; !ok && isPodLevel(name) {
			setResource(&r.Requests, name, limit)
		}
	}
}

// limitedEverywhere tells whether every container of the pod states a limit.
func limitedEverywhere(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if _, ok := containers[i].Resources.Limits[name]; !ok {
				return false
			}
		}
	}
	for i := range spec.EphemeralContainers {
		if _, ok := spec.EphemeralContainers[i].Resources.Limits[name]; !ok {
			return false
		}
	}
	return true
}
