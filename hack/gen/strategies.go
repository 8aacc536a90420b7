package main

import (
	"context"

	crd "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"

	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apiserverinternal/storageversion"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/coordination/leasecandidate"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/lifecycle/eviction"
	"k8s.io/kubernetes/pkg/registry/lifecycle/evictionrequest"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/compositepodgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/podgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/scheduling/workload"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
	"k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"
)

// creator is the part of a registry's strategy that changes a new object (apiserver
// pkg/registry/rest/create.go, RESTCreateStrategy).
type creator interface {
	PrepareForCreate(ctx context.Context, obj runtime.Object)
}

// strategies are the server's own, for every kind that has a resource of its own which can be
// created and is stored.
var strategies = map[schema.GroupKind]creator{
	{Kind: "ConfigMap"}:                     configmap.Strategy,
	{Kind: "Endpoints"}:                     endpoint.Strategy,
	{Kind: "Event"}:                         event.Strategy,
	{Kind: "LimitRange"}:                    limitrange.Strategy,
	{Kind: "Namespace"}:                     namespace.Strategy,
	{Kind: "Node"}:                          node.Strategy,
	{Kind: "PersistentVolume"}:              persistentvolume.Strategy,
	{Kind: "PersistentVolumeClaim"}:         persistentvolumeclaim.Strategy,
	{Kind: "Pod"}:                           pod.Strategy,
	{Kind: "PodTemplate"}:                   podtemplate.Strategy,
	{Kind: "ReplicationController"}:         replicationcontroller.Strategy,
	{Kind: "ResourceQuota"}:                 resourcequota.Strategy,
	{Kind: "Secret"}:                        secret.Strategy,
	{Kind: "Service"}:                       service.Strategy,
	{Kind: "ServiceAccount"}:                serviceaccount.Strategy,
	{Group: "events.k8s.io", Kind: "Event"}: event.Strategy,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:          mutatingadmissionpolicy.NewStrategy(nil, nil),
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   mutatingadmissionpolicybinding.NewStrategy(nil, nil, nil),
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     mutatingwebhookconfiguration.Strategy,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        validatingadmissionpolicy.NewStrategy(nil, nil),
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: validatingadmissionpolicybinding.NewStrategy(nil, nil, nil),
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   validatingwebhookconfiguration.Strategy,
	{Group: "internal.apiserver.k8s.io", Kind: "StorageVersion"}:                      storageversion.Strategy,
	{Group: "apps", Kind: "ControllerRevision"}:                                       controllerrevision.Strategy,
	{Group: "apps", Kind: "DaemonSet"}:                                                daemonset.Strategy,
	{Group: "apps", Kind: "Deployment"}:                                               deployment.Strategy,
	{Group: "apps", Kind: "ReplicaSet"}:                                               replicaset.Strategy,
	{Group: "apps", Kind: "StatefulSet"}:                                              statefulset.Strategy,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:                           horizontalpodautoscaler.Strategy,
	{Group: "batch", Kind: "CronJob"}:                                                 cronjob.Strategy,
	{Group: "batch", Kind: "Job"}:                                                     job.Strategy,
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:                 certificates.Strategy,
	{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}:                        clustertrustbundle.Strategy,
	{Group: "certificates.k8s.io", Kind: "PodCertificateRequest"}:                     podcertificaterequest.NewStrategy(),
	{Group: "coordination.k8s.io", Kind: "Lease"}:                                     lease.Strategy,
	{Group: "coordination.k8s.io", Kind: "LeaseCandidate"}:                            leasecandidate.Strategy,
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:                                endpointslice.Strategy,
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}:                       flowschema.Strategy,
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"}:       prioritylevelconfiguration.Strategy,
	{Group: "lifecycle.k8s.io", Kind: "Eviction"}:                                     eviction.NewStrategy(nil),
	{Group: "lifecycle.k8s.io", Kind: "EvictionRequest"}:                              evictionrequest.NewStrategy(),
	{Group: "networking.k8s.io", Kind: "Ingress"}:                                     ingress.Strategy,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                                ingressclass.Strategy,
	{Group: "networking.k8s.io", Kind: "IPAddress"}:                                   ipaddress.Strategy,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                               networkpolicy.Strategy,
	{Group: "networking.k8s.io", Kind: "ServiceCIDR"}:                                 servicecidr.Strategy,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                      runtimeclass.Strategy,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                                    poddisruptionbudget.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                         clusterrole.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                  clusterrolebinding.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                                role.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:                         rolebinding.Strategy,
	{Group: "resource.k8s.io", Kind: "DeviceClass"}:                                   deviceclass.Strategy,
	{Group: "resource.k8s.io", Kind: "DeviceTaintRule"}:                               devicetaintrule.Strategy,
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                                 resourceclaim.NewStrategy(nil, nil),
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}:                         resourceclaimtemplate.NewStrategy(nil),
	{Group: "resource.k8s.io", Kind: "ResourcePoolStatusRequest"}:                     resourcepoolstatusrequest.Strategy,
	{Group: "resource.k8s.io", Kind: "ResourceSlice"}:                                 resourceslice.Strategy,
	{Group: "scheduling.k8s.io", Kind: "CompositePodGroup"}:                           compositepodgroup.NewStrategy(),
	{Group: "scheduling.k8s.io", Kind: "PodGroup"}:                                    podgroup.NewStrategy(),
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                               priorityclass.Strategy,
	{Group: "scheduling.k8s.io", Kind: "Workload"}:                                    workload.Strategy,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                      csidriver.Strategy,
	{Group: "storage.k8s.io", Kind: "CSINode"}:                                        csinode.Strategy,
	{Group: "storage.k8s.io", Kind: "CSIStorageCapacity"}:                             csistoragecapacity.Strategy,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                                   storageclass.Strategy,
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"}:                               volumeattachment.Strategy,
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:                          volumeattributesclass.Strategy,
	{Group: "storagemigration.k8s.io", Kind: "StorageVersionMigration"}:               storagemigration.Strategy,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:                 crd.NewStrategy(scheme),
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:                             apiservice.NewStrategy(scheme),
}
