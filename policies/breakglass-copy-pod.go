package policies

import (
	"regexp"
	"slices"
	"strings"

	"hangar.io/holdshort/policies/profile"
)

// BreakglassCopyPod holds the pods that the writer may create to copies of an app's pod.
var BreakglassCopyPod = policy(Policy{
	Name:    "breakglass-copy-pod",
	Summary: "the writer creates only copy pods, without power over the node, without an identity and out of the app's way",
	Doc: `The role of a session in a copy includes the creation of pods, and a pod is whatever its author writes: root on
the node, the token of any ServiceAccount of the namespace, a backend of the app's Service. Without this policy the
writer's token is worth the cluster.

The copy's debug containers have rules of their own, in breakglass-debug-container. This policy is about everything else
in the pod. Its baseline is that of the Pod Security Standards, as k8s.io/pod-security-admission checks it for Kubernetes
1.37, for all containers, with three things stricter: procMount is the default also in a user namespace, seccomp is
checked in annotations too, and it holds whatever the labels of the namespace say. An AppArmor annotation has become the
field by the time that the policy looks.

Placement keeps the two ways closed that go around the scheduler and the taints: a node's name, and tolerations. The two
that the API server adds to every pod last 300 seconds. If your API server has a longer default, the portal sends both
with 300 itself. Node selectors and affinity stay, since an app may need an architecture, and taints hold for them.

Two names of the cluster's own stay as well. One is priorityClassName: the API server fills in the cluster's default
class, and the request does not tell who chose it. So a copy may name the highest class that is not the system's, and
push other pods off a full node; a ResourceQuota for that class closes this. The other is runtimeClassName, since an app
may need its sandbox: keep no RuntimeClass that isolates less than your default. The tolerations that one adds are
refused like others.

Volumes are those of the namespace's own objects. A claim that is made for the pod gets new, empty storage from a class
that provisions; a class without a provisioner gives it a free PersistentVolume with what is on it.

Labels and tokens that webhooks of the cluster add to every pod are refused like others: keep such webhooks away from
copies, or let copies run as a ServiceAccount for which they add nothing.

What is left to somebody who holds the writer's token, and with it the right to create copies in an app's namespace: the
images and commands of the copy's containers, every Secret and ConfigMap of the namespace as volume or environment, and
every PersistentVolumeClaim, which a container that is not called debug-* may also write. An app's copy needs its own of
these, and the request does not tell which those are. So the token is worth all Secrets and volumes of app namespaces,
by way of a container that the holder chooses, until the copy's time is over. A NetworkPolicy on the copy label and
an image policy narrow it; the grant and the copy are in the audit log. A copy may also be called like the next pod of a
StatefulSet, which then waits for the copy to go; and injectors obey the copy's annotations.`,
	Links: []string{
		"https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline",
		"https://github.com/kubernetes/pod-security-admission/tree/master/policy",
	},
	Match: On(Create, "pods"),
	Conditions: []Condition{{
		Name: "is-writer",
		Expr: `has(request.userInfo.username) && request.userInfo.username == $writer`,
	}},
	Values: map[string]func(profile.Profile) any{
		"copyLabels": func(p profile.Profile) any {
			d := p.Names.LabelDomain
			return []string{"app.kubernetes.io/managed-by", p.TTL.Label, d + "/breakglass-copy", d + "/breakglass-session"}
		},
		"mountToken":       func(p profile.Profile) any { return p.Copy.MountToken },
		"pipelineAccount":  func(p profile.Profile) any { return p.Pipeline.ServiceAccount },
		"platformAccounts": platformAccounts,
		// Operators that are all ServiceAccounts, or all of a namespace.
		"accountGroups": func(p profile.Profile) any {
			return slices.DeleteFunc(slices.Clone(p.Identities.Operators.Groups), func(g string) bool {
				return !strings.HasPrefix(g, "system:serviceaccounts")
			})
		},
	},
	Variables: []Variable{
		{Name: "copyLabel", Expr: `$copyLabel`},
		{Name: "copyLabels", Expr: `$copyLabels`},
		{Name: "labels", Expr: `has(object.metadata.labels) ? object.metadata.labels : {}`},
		{Name: "annotations", Expr: `has(object.metadata.annotations) ? object.metadata.annotations : {}`},
		{Name: "requestNamespace", Expr: `has(request.namespace) ? request.namespace : ''`},
		{Name: "containers", Expr: `
			(has(object.spec.containers) && object.spec.containers != null ? object.spec.containers : []) +
			(has(object.spec.initContainers) ? object.spec.initContainers : [])`},
		{Name: "volumes", Expr: `has(object.spec.volumes) ? object.spec.volumes : []`},

		// Baseline, in the order of the Pod Security Standards.
		{Name: "onTheNode", Expr: `
			(has(object.spec.hostNetwork) && object.spec.hostNetwork) ||
			(has(object.spec.hostPID) && object.spec.hostPID) ||
			(has(object.spec.hostIPC) && object.spec.hostIPC) ||
			variables.containers.exists(c, has(c.ports) && c.ports.exists(p, has(p.hostPort)))`},
		{Name: "handlers", Expr: `
			variables.containers.filter(c, has(c.livenessProbe)).map(c, c.livenessProbe) +
			variables.containers.filter(c, has(c.readinessProbe)).map(c, c.readinessProbe) +
			variables.containers.filter(c, has(c.startupProbe)).map(c, c.startupProbe) +
			variables.containers.filter(c, has(c.lifecycle) && has(c.lifecycle.postStart)).map(c, c.lifecycle.postStart) +
			variables.containers.filter(c, has(c.lifecycle) && has(c.lifecycle.preStop)).map(c, c.lifecycle.preStop)`},
		{Name: "callsElsewhere", Expr: `
			variables.handlers.exists(h,
			  (has(h.httpGet) && has(h.httpGet.host)) ||
			  (has(h.tcpSocket) && has(h.tcpSocket.host)))`},
		{Name: "contexts", Expr: `
			(has(object.spec.securityContext) ? [object.spec.securityContext] : []) +
			variables.containers.filter(c, has(c.securityContext)).map(c, c.securityContext)`},
		{Name: "capabilities", Expr: `
			['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'SETFCAP',
			 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT']`},
		{Name: "privileged", Expr: `
			variables.contexts.exists(s,
			  (has(s.privileged) && s.privileged) ||
			  (has(s.windowsOptions) && has(s.windowsOptions.hostProcess) && s.windowsOptions.hostProcess) ||
			  (has(s.capabilities) && has(s.capabilities.add) &&
			    s.capabilities.add.exists(c, !(c in variables.capabilities))))`},
		{Name: "unconfined", Expr: `
			variables.contexts.exists(s,
			  (has(s.seccompProfile) && !(s.seccompProfile.type in ['RuntimeDefault', 'Localhost'])) ||
			  (has(s.appArmorProfile) && !(s.appArmorProfile.type in ['RuntimeDefault', 'Localhost'])) ||
			  (has(s.procMount) && s.procMount != 'Default') ||
			  (has(s.seLinuxOptions) && (
			    (has(s.seLinuxOptions.type) && !(s.seLinuxOptions.type in
			      ['container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'])) ||
			    (has(s.seLinuxOptions.user) && s.seLinuxOptions.user != '') ||
			    (has(s.seLinuxOptions.role) && s.seLinuxOptions.role != '')))) ||
			variables.annotations.exists(k,
			  (k == 'seccomp.security.alpha.kubernetes.io/pod' || k.startsWith('container.seccomp.security.alpha.kubernetes.io/')) &&
			  !(variables.annotations[k] in ['runtime/default', 'docker/default']) &&
			  !variables.annotations[k].startsWith('localhost/'))`},
		{Name: "sysctls", Expr: `
			['kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range', 'net.ipv4.ip_local_reserved_ports',
			 'net.ipv4.ip_unprivileged_port_start', 'net.ipv4.ping_group_range', 'net.ipv4.tcp_fin_timeout',
			 'net.ipv4.tcp_keepalive_intvl', 'net.ipv4.tcp_keepalive_probes', 'net.ipv4.tcp_keepalive_time',
			 'net.ipv4.tcp_notsent_lowat', 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_slow_start_after_idle',
			 'net.ipv4.tcp_syncookies', 'net.ipv4.tcp_wmem']`},
		{Name: "unsafeSysctls", Expr: `
			has(object.spec.securityContext) && has(object.spec.securityContext.sysctls) &&
			object.spec.securityContext.sysctls.exists(x, !(x.name in variables.sysctls))`},

		// The identity. The API server has put the older field serviceAccount into this one.
		{Name: "account", Expr: `has(object.spec.serviceAccountName) ? object.spec.serviceAccountName : 'default'`},
		{Name: "isPlatforms", Expr: `
			variables.requestNamespace.matches($platformNamespaces) || variables.account == $pipelineAccount ||
			('system:serviceaccount:' + variables.requestNamespace + ':' + variables.account) in $platformAccounts ||
			['system:serviceaccounts', 'system:serviceaccounts:' + variables.requestNamespace].exists(g, g in $accountGroups)`},
		{Name: "sources", Expr: `
			variables.volumes.filter(v, has(v.projected) && has(v.projected.sources) && v.projected.sources != null)
			  .map(v, v.projected.sources)`},
		{Name: "hasToken", Expr: `
			!has(object.spec.automountServiceAccountToken) || object.spec.automountServiceAccountToken ||
			variables.sources.exists(l, l.exists(s, has(s.serviceAccountToken)))`},
		{Name: "hasOtherToken", Expr: `
			variables.sources.exists(l, l.exists(s, has(s.serviceAccountToken) && has(s.serviceAccountToken.audience)))`},
		{Name: "hasCertificate", Expr: `variables.sources.exists(l, l.exists(s, has(s.podCertificate)))`},
		{Name: "mountToken", Expr: `$mountToken`},
	},
	Validations: []Validation{{
		Name:    "is-copy",
		Expr:    `variables.copyLabel in variables.labels && variables.labels[variables.copyLabel] == 'true'`,
		Message: `$portal may create only copy pods, which carry the label $copyLabel: "true".`,
		Why:     "The label is how the rules for debug containers, the delete policy and the reaper know the pod: without it none of them holds.",
	}, {
		Name: "baseline",
		Expr: `
			!variables.onTheNode && !variables.callsElsewhere && !variables.privileged && !variables.unconfined &&
			!variables.unsafeSysctls`,
		Message: "A copy pod keeps to the baseline of the Pod Security Standards in all of its containers: nothing privileged, nothing of the node's (namespaces, ports), no added capability, no profile taken off, no unsafe sysctl, no probe of another host.",
		Why:     "Each of these is a way out of the container to the node, and from there to every pod and credential on it.",
	}, {
		Name: "volumes",
		Expr: `
			variables.volumes.all(v,
			  has(v.configMap) || has(v.secret) || has(v.emptyDir) || has(v.downwardAPI) || has(v.projected) ||
			  has(v.persistentVolumeClaim) ||
			  (has(v.ephemeral) && has(v.ephemeral.volumeClaimTemplate) &&
			    !has(v.ephemeral.volumeClaimTemplate.spec.volumeName) &&
			    !has(v.ephemeral.volumeClaimTemplate.spec.selector) &&
			    !has(v.ephemeral.volumeClaimTemplate.spec.dataSource) &&
			    !has(v.ephemeral.volumeClaimTemplate.spec.dataSourceRef)))`,
		Message: "A copy pod has no volumes but configMap, secret, emptyDir, downwardAPI, projected, persistentVolumeClaim and ephemeral, and an ephemeral one has no volumeName, selector, dataSource or dataSourceRef.",
		Why:     "hostPath is the node's disk, and nfs, iscsi and flexVolume mount any server's from the node. A csi volume's driver can get a token of the pod's ServiceAccount, and return what that account may read. A claim that chooses its volume or source takes the data of another.",
	}, {
		Name: "no-devices",
		Expr: `
			!has(object.spec.resourceClaims) && variables.containers.all(c,
			  !has(c.resources) || !has(c.resources.limits) ||
			  c.resources.limits.all(r, r in ['cpu', 'memory', 'ephemeral-storage']))`,
		Message: "A copy pod has no resourceClaims, and its containers have no limits but cpu, memory and ephemeral-storage.",
		Why:     "Device plugins and drivers give devices of the node for a limit or a claim, with no privilege in the pod.",
	}, {
		Name: "service-account",
		Expr: `
			!variables.isPlatforms && !variables.hasCertificate &&
			(variables.mountToken ? !variables.hasOtherToken : !variables.hasToken)`,
		Message: "A copy pod runs as no ServiceAccount of the platform and has no token (automountServiceAccountToken: false, no projected token or certificate).",
		Why:     "A pod acts as its ServiceAccount: a copy with a pipeline's account starts pipelines, one with an operator's account is an operator.",
	}, {
		Name: "placement",
		Expr: `
			!has(object.spec.nodeName) &&
			(!has(object.spec.tolerations) || object.spec.tolerations.all(t,
			  has(t.key) && t.key in ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'] &&
			  has(t.operator) && t.operator == 'Exists' && has(t.effect) && t.effect == 'NoExecute' &&
			  has(t.tolerationSeconds) && t.tolerationSeconds <= 300)) &&
			(!has(object.spec.priorityClassName) || !object.spec.priorityClassName.startsWith('system-')) &&
			(!has(object.spec.schedulerName) || object.spec.schedulerName == 'default-scheduler')`,
		Message: "A copy pod goes where the default scheduler puts it: no nodeName, no tolerations but those that the API server adds, for at most 300 seconds, no system priority class.",
		Why:     "A node's name and a toleration lead onto the control plane, and a long toleration keeps the copy on a node that is lost; a system priority pushes the cluster's own pods off their node.",
	}, {
		Name:    "labels",
		Expr:    `variables.labels.all(k, k in variables.copyLabels)`,
		Message: "A copy pod carries no labels but $copyLabels.",
		Why:     "With the app's labels the copy is a pod of the app: its Service sends it the users' requests, and its ReplicaSet deletes another pod for it.",
	}, {
		Name: "metadata",
		Expr: `
			!has(object.metadata.finalizers) && !has(object.metadata.ownerReferences) &&
			(!has(object.spec.terminationGracePeriodSeconds) || object.spec.terminationGracePeriodSeconds <= 3600)`,
		Message: "A copy pod has no finalizers and no ownerReferences, and terminationGracePeriodSeconds is at most 3600.",
		Why:     "A finalizer or a long grace period keeps the copy running after its deletion; an owner lets somebody else decide when it ends.",
	}},
})

// platformAccounts are the user names of the ServiceAccounts that the Profile knows as somebody's,
// other than those in the platform's namespaces.
func platformAccounts(p profile.Profile) any {
	i, n := p.Identities, p.Namespaces
	platform := regexp.MustCompile(namespacePattern(slices.Concat(n.Portal, n.Sidecar, n.Pipeline)))
	accounts := []string{}
	for _, x := range []profile.Identity{i.Writer, i.Reader, i.Portal, i.Pipeline} {
		if x.ServiceAccount != "" {
			accounts = append(accounts, x.Username())
		}
	}
	for _, u := range i.Operators.Users {
		if strings.HasPrefix(u, "system:serviceaccount:") {
			accounts = append(accounts, u)
		}
	}
	return slices.DeleteFunc(accounts, func(username string) bool {
		namespace, _, _ := strings.Cut(strings.TrimPrefix(username, "system:serviceaccount:"), ":")
		return platform.MatchString(namespace)
	})
}
