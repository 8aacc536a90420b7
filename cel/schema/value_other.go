package schema

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func fillOther(typed any) {
	switch o := typed.(type) {
	case *networkingv1.NetworkPolicy:
		fillNetworkPolicy(&o.Spec)
	case *rbacv1.RoleBinding:
		fillSubjects(o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		fillSubjects(o.Subjects)
	case *resourcev1.ResourceClaim:
		fillDevices(o.Spec.Devices.Requests)
	case *resourcev1.ResourceClaimTemplate:
		fillDevices(o.Spec.Spec.Devices.Requests)
	case *resourcev1beta2.ResourceClaim:
		fillDevicesBeta2(o.Spec.Devices.Requests)
	case *resourcev1beta2.ResourceClaimTemplate:
		fillDevicesBeta2(o.Spec.Spec.Devices.Requests)
	case *resourcev1beta1.ResourceClaim:
		fillDevicesBeta1(o.Spec.Devices.Requests)
	case *resourcev1beta1.ResourceClaimTemplate:
		fillDevicesBeta1(o.Spec.Spec.Devices.Requests)
	case *apiextensionsv1.CustomResourceDefinition:
		fillDefinition(o)
	}
}

// fillNetworkPolicy: networking/v1/defaults.go, SetDefaults_NetworkPolicy.
func fillNetworkPolicy(spec *networkingv1.NetworkPolicySpec) {
	if len(spec.PolicyTypes) > 0 {
		return
	}
	spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	if len(spec.Egress) > 0 {
		spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	}
}

// fillSubjects: rbac/v1/defaults.go, SetDefaults_Subject.
func fillSubjects(subjects []rbacv1.Subject) {
	for i := range subjects {
		s := &subjects[i]
		if s.APIGroup == "" && (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) {
			s.APIGroup = rbacv1.GroupName
		}
	}
}

// fillDevices: resource/v1/defaults.go, SetDefaults_ExactDeviceRequest and
// SetDefaults_DeviceSubRequest.
func fillDevices(requests []resourcev1.DeviceRequest) {
	for i := range requests {
		if r := requests[i].Exactly; r != nil {
			count(string(r.AllocationMode), &r.Count)
		}
		for j := range requests[i].FirstAvailable {
			r := &requests[i].FirstAvailable[j]
			count(string(r.AllocationMode), &r.Count)
		}
	}
}

// fillDevicesBeta2: resource/v1beta2/defaults.go, as in v1.
func fillDevicesBeta2(requests []resourcev1beta2.DeviceRequest) {
	for i := range requests {
		if r := requests[i].Exactly; r != nil {
			count(string(r.AllocationMode), &r.Count)
		}
		for j := range requests[i].FirstAvailable {
			r := &requests[i].FirstAvailable[j]
			count(string(r.AllocationMode), &r.Count)
		}
	}
}

// fillDevicesBeta1: resource/v1beta1/defaults.go, SetDefaults_DeviceRequest: only a request with a
// class of its own is exact.
func fillDevicesBeta1(requests []resourcev1beta1.DeviceRequest) {
	for i := range requests {
		r := &requests[i]
		if r.DeviceClassName != "" {
			count(string(r.AllocationMode), &r.Count)
			if r.AllocationMode == "" {
				r.AllocationMode = resourcev1beta1.DeviceAllocationModeExactCount
			}
		}
		for j := range r.FirstAvailable {
			s := &r.FirstAvailable[j]
			count(string(s.AllocationMode), &s.Count)
		}
	}
}

// count is one device for a request that counts and says no number.
func count(mode string, n *int64) {
	if (mode == "" || mode == string(resourcev1.DeviceAllocationModeExactCount)) && *n == 0 {
		*n = 1
	}
}

// fillDefinition: apiextensions-apiserver pkg/apis/apiextensions/v1/defaults.go.
func fillDefinition(crd *apiextensionsv1.CustomResourceDefinition) {
	names := &crd.Spec.Names
	if names.Singular == "" {
		names.Singular = strings.ToLower(names.Kind)
	}
	if names.ListKind == "" && names.Kind != "" {
		names.ListKind = names.Kind + "List"
	}
	// Convert_apiextensions_CustomResourceConversion_To_v1_CustomResourceConversion.
	if c := crd.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig == nil && c.Webhook.ConversionReviewVersions == nil {
		c.Webhook = nil
	}
	if len(crd.Status.StoredVersions) > 0 {
		return
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			crd.Status.StoredVersions = []string{v.Name}
			return
		}
	}
}
