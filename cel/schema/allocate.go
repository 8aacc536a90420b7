package schema

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// A server allocates addresses and ports of services before validating admission. Which ones
// cannot be known; these stand for them, from the ranges that servers use by default.
const (
	assumedClusterIP = "10.0.0.100"
	assumedNodePort  = 30100
)

// allocate does what the server's storage of services does first on a create, on a cluster with
// IPv4 only: pkg/registry/core/service/storage/storage.go, beginCreate, and alloc.go,
// allocateCreate.
func allocate(svc *corev1.Service) {
	spec := &svc.Spec
	if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	allocateFamilies(spec)
	if spec.ClusterIP == "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIP, spec.ClusterIPs = assumedClusterIP, []string{assumedClusterIP}
	}
	if spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer {
		allocateNodePorts(spec)
	}
}

// allocateFamilies: alloc.go, initIPFamilyFields.
func allocateFamilies(spec *corev1.ServiceSpec) {
	anywhere := spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
		if anywhere {
			spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack)
		}
	}
	for i, ip := range spec.ClusterIPs {
		addr, err := netip.ParseAddr(ip)
		if err != nil || i < len(spec.IPFamilies) {
			continue
		}
		family := corev1.IPv6Protocol
		if addr.Is4() {
			family = corev1.IPv4Protocol
		}
		spec.IPFamilies = append(spec.IPFamilies, family)
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if anywhere && len(spec.IPFamilies) == 1 && *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		other := corev1.IPv6Protocol
		if spec.IPFamilies[0] == other {
			other = corev1.IPv4Protocol
		}
		spec.IPFamilies = append(spec.IPFamilies, other)
	}
}

// allocateNodePorts: alloc.go, txnAllocNodePorts and initNodePorts.
func allocateNodePorts(spec *corev1.ServiceSpec) {
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	if !balanced || spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts {
		for i := range spec.Ports {
			if spec.Ports[i].NodePort == 0 {
				spec.Ports[i].NodePort = int32(assumedNodePort + i)
			}
		}
	}
	if balanced && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = int32(assumedNodePort + len(spec.Ports))
	}
}
