package schema

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fillValues fills what depends on more than the presence of its parent, and changes what the
// server changes on the way through its internal version. The table is applied afterwards, so an
// empty field here may still get a constant. Line references are to Kubernetes 1.37,
// pkg/apis/<group>/<version>/.
func fillValues(typed any, minor int) {
	if spec := podSpecOf(typed); spec != nil {
		fillPodSpec(spec, minor)
	}
	if !fillCore(typed, minor) && !fillWorkload(typed, minor) {
		fillOther(typed)
	}
	// The overhead of a runtime class is left as it is: node.k8s.io has no defaulting.
	if _, ok := typed.(*nodev1.RuntimeClass); !ok {
		roundResources(reflect.ValueOf(typed))
	}
}

func fillCore(typed any, minor int) bool {
	switch o := typed.(type) {
	case *corev1.Pod:
		fillPod(o, minor)
	case *corev1.Service:
		fillService(o)
	case *corev1.Secret:
		fillSecret(o)
	case *corev1.ConfigMap:
	case *corev1.Namespace:
		// core/v1/defaults.go, SetDefaults_Namespace: not with generateName.
		if o.Name != "" {
			setLabel(&o.Labels, corev1.LabelMetadataName, o.Name)
		}
	case *corev1.Node:
		fillNode(o)
	case *corev1.LimitRange:
		for i := range o.Spec.Limits {
			fillLimitRangeItem(&o.Spec.Limits[i])
		}
	case *corev1.ReplicationController:
		fillReplicationController(o)
	default:
		return false
	}
	return true
}

func setLabel(labels *map[string]string, key, value string) {
	if *labels == nil {
		*labels = map[string]string{}
	}
	(*labels)[key] = value
}

// fillPodSpec: core/v1/defaults.go, SetDefaults_PodSpec, SetDefaults_Container,
// SetDefaults_Volume. It holds for pods and all templates of pods.
func fillPodSpec(spec *corev1.PodSpec, minor int) {
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	fillContainers(spec.InitContainers)
	fillContainers(spec.Containers)
	for i := range spec.EphemeralContainers {
		c := &spec.EphemeralContainers[i]
		if c.ImagePullPolicy == "" {
			c.ImagePullPolicy = pullPolicy(c.Image)
		}
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if v.VolumeSource == (corev1.VolumeSource{}) {
			v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
		// The feature gate ImageVolume is on since 1.35 (pkg/features/kube_features.go).
		if v.Image != nil && v.Image.PullPolicy == "" && minor >= 35 {
			v.Image.PullPolicy = pullPolicy(v.Image.Reference)
		}
	}
}

func fillContainers(containers []corev1.Container) {
	for i := range containers {
		if containers[i].ImagePullPolicy == "" {
			containers[i].ImagePullPolicy = pullPolicy(containers[i].Image)
		}
	}
}

// fillPod: core/v1/defaults.go, SetDefaults_Pod and SetDefaults_PodStatus, which do not hold for
// templates.
func fillPod(pod *corev1.Pod, minor int) {
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		*g = 1
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			requestLimits(&containers[i].Resources)
			if pod.Spec.HostNetwork {
				usePortsOnHost(containers[i].Ports)
			}
		}
	}
	// The feature gate PodLevelResources is on since 1.34; since 1.37 this is done later, see
	// PrepareForCreate (gate PodLevelResourcesFixDefaulting).
	if minor >= 34 && minor < 37 {
		fillPodResources(pod)
	}
	switch s := &pod.Status; {
	case s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP):
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	case s.PodIP == "" && len(s.PodIPs) > 0:
		s.PodIP = s.PodIPs[0].IP
	}
}

// requestLimits sets the request of every limited resource that has none.
func requestLimits(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; !ok {
			setResource(&r.Requests, name, limit)
		}
	}
}

func setResource(list *corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = q.DeepCopy()
}

// usePortsOnHost: core/v1/defaults.go, defaultHostNetworkPorts.
func usePortsOnHost(ports []corev1.ContainerPort) {
	for i := range ports {
		if ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
	}
}

// fillService: core/v1/defaults.go, SetDefaults_Service.
func fillService(svc *corev1.Service) {
	spec := &svc.Spec
	kind := spec.Type
	if kind == "" {
		kind = corev1.ServiceTypeClusterIP
	}
	switch spec.SessionAffinity {
	case "", corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		c := spec.SessionAffinityConfig
		if c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			seconds := corev1.DefaultClientIPServiceAffinitySeconds
			spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
		}
	}
	for i := range spec.Ports {
		if p := &spec.Ports[i]; p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	balanced := kind == corev1.ServiceTypeLoadBalancer
	// pkg/api/v1/service/util.go, ExternallyAccessible.
	external := balanced || kind == corev1.ServiceTypeNodePort || kind == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
	if external && spec.ExternalTrafficPolicy == "" {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	inCluster := balanced || kind == corev1.ServiceTypeNodePort || kind == corev1.ServiceTypeClusterIP
	if inCluster && spec.InternalTrafficPolicy == nil {
		spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	}
	if !balanced {
		return
	}
	if spec.AllocateLoadBalancerNodePorts == nil {
		spec.AllocateLoadBalancerNodePorts = new(true)
	}
	for i := range svc.Status.LoadBalancer.Ingress {
		if in := &svc.Status.LoadBalancer.Ingress[i]; in.IP != "" && in.IPMode == nil {
			in.IPMode = new(corev1.LoadBalancerIPModeVIP)
		}
	}
}

// fillSecret: core/v1/conversion.go, Convert_v1_Secret_To_core_Secret.
func fillSecret(s *corev1.Secret) {
	for k, v := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

// fillNode: core/v1/defaults.go, SetDefaults_NodeStatus; core/v1/conversion.go,
// Convert_v1_NodeSpec_To_core_NodeSpec and back.
func fillNode(n *corev1.Node) {
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	if c := n.Spec.PodCIDR; c != "" && (len(n.Spec.PodCIDRs) == 0 || n.Spec.PodCIDRs[0] != c) {
		n.Spec.PodCIDRs = []string{c}
	}
	if len(n.Spec.PodCIDRs) > 0 {
		n.Spec.PodCIDR = n.Spec.PodCIDRs[0]
	}
}

// fillLimitRangeItem: core/v1/defaults.go, SetDefaults_LimitRangeItem.
func fillLimitRangeItem(item *corev1.LimitRangeItem) {
	if item.Type != corev1.LimitTypeContainer {
		return
	}
	fill := func(list *corev1.ResourceList, from corev1.ResourceList) {
		for name, q := range from {
			if _, ok := (*list)[name]; !ok {
				setResource(list, name, q)
			}
		}
	}
	fill(&item.Default, item.Max)
	fill(&item.DefaultRequest, item.Default)
	fill(&item.DefaultRequest, item.Min)
}

// fillReplicationController: core/v1/defaults.go, SetDefaults_ReplicationController.
func fillReplicationController(rc *corev1.ReplicationController) {
	if rc.Spec.Template == nil || rc.Spec.Template.Labels == nil {
		return
	}
	if len(rc.Spec.Selector) == 0 {
		rc.Spec.Selector = copyLabels(rc.Spec.Template.Labels)
	}
	if len(rc.Labels) == 0 {
		rc.Labels = copyLabels(rc.Spec.Template.Labels)
	}
}

var resourceListType = reflect.TypeFor[corev1.ResourceList]()

// roundResources rounds quantities in resource lists up to thousandths: core/v1/defaults.go,
// SetDefaults_ResourceList.
func roundResources(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			roundResources(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				roundResources(v.Field(i))
			}
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Struct || k == reflect.Pointer {
			for i := range v.Len() {
				roundResources(v.Index(i))
			}
		}
	case reflect.Map:
		if v.Type() == resourceListType {
			list := v.Interface().(corev1.ResourceList)
			for name, q := range list {
				q.RoundUp(resource.Milli)
				list[name] = q
			}
		}
	}
}
