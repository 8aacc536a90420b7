package policies

import "hangar.io/holdshort/policies/profile"

// BreakglassDebugContainer decides what a person gets to sit in during a session.
var BreakglassDebugContainer = policy(Policy{
	Name:    "breakglass-debug-container",
	Summary: "a debug container runs a pinned image without privileges, mounts volumes read-only and gets no ServiceAccount token",
	Doc: `RBAC can say who adds containers to the pods of a namespace, but not which containers. Whoever may add one
may add a privileged one that mounts the node. This policy is the difference between looking at an app and
owning the node that it runs on; without it each session is the latter.

It judges what a request adds: each ephemeral container that the pod does not have yet, and in a copy pod (copy
label exactly "true") each container called debug-*, init containers included. Containers that are there
already are not judged again, so an old one never stands in the way of a session. The app's own containers in a copy
are none of its business: breakglass-copy-pod looks at those of the writer.

What is demanded has to stand on the container itself, so that it can be read there. Only the profiles of seccomp,
AppArmor and SELinux may come from the pod, which apps have and debug containers rarely set. What counts for them is
what the kubelet makes of both. An AppArmor annotation has become the field by the time that the policy looks.

On Flight the rules hold for everyone, everywhere. On Ground they hold for the writer everywhere, in whatever groups;
for others in app namespaces, and system:masters, who could delete the policy, is exempt. The writer has no business
elsewhere, but a right that it should not have must not be worth a node. Time to live and managed-by label of a copy
hold everywhere for everyone: a forgotten copy runs the app's code with the app's secrets, whoever made it.

Two powers no rule here takes away. With process access a debug container that runs as the app's user, which the
request chooses, is in the app's own file system by /proc/<pid>/root: it writes the app's files and volumes, and stops
its processes. And every debug container shares the network of its pod: it reaches the ports that listen on localhost
alone, and to all others, a service mesh included, it is the pod.

A volume is judged by what the pod says of it. A Secret that holds a token, a claim on a volume that is a folder of
the node, or a CSI driver that hands out credentials look like any other volume. The annotation of process access
says that the writer, or whoever else may annotate pods, set it: nothing here knows of an approval. And the image of a
container of a copy can be changed later by whoever may update pods; breakglass-pod-annotate keeps the writer from it.`,
	Links: []string{
		"https://kubernetes.io/docs/concepts/workloads/pods/ephemeral-containers/",
		"https://kubernetes.io/docs/reference/kubectl/generated/kubectl_debug/",
		"https://kubernetes.io/docs/concepts/security/pod-security-standards/",
	},
	Example: `
		cat > debug-custom.json <<'EOF'
		{"securityContext": {"runAsUser": 65532, "runAsGroup": 65532, "runAsNonRoot": true,
		  "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}}
		EOF
		kubectl debug -it POD -n NAMESPACE --image=$image \
		  --profile=restricted --custom=debug-custom.json -- sh

		# To see the processes of a container, or in a pod that shares its process namespace:
		kubectl annotate pod POD -n NAMESPACE $processAccessKey=ID
		kubectl debug -it POD -n NAMESPACE --image=$image \
		  --profile=restricted --custom=debug-custom.json --target=CONTAINER -c debug-ID -- sh`,
	Match: On(Update, "pods/ephemeralcontainers").Or(On(Create, "pods")),
	Conditions: []Condition{{
		Name: "debug-or-copy",
		Expr: `
			request.operation == 'UPDATE' || (has(object.metadata.labels) && $copyLabel in object.metadata.labels &&
			  object.metadata.labels[$copyLabel] == 'true')`,
	}},
	Variables: []Variable{
		{Name: "isCopy", Expr: `request.operation == 'CREATE'`},
		{Name: "isWriter", Expr: `has(request.userInfo.username) && request.userInfo.username == $writer`},
		{Name: "judged", Tiers: ground, Expr: `
			variables.isWriter || (has(namespaceObject.metadata.labels) && $appLabel in namespaceObject.metadata.labels &&
			(!has(request.userInfo.groups) || !('system:masters' in request.userInfo.groups)))`},
		{Name: "judged", Tiers: flight, Expr: `true`},

		// The debug containers, and what the pod gives to them.
		{Name: "own", Expr: `
			(has(object.spec.containers) && object.spec.containers != null ? object.spec.containers : []) +
			(has(object.spec.initContainers) ? object.spec.initContainers : [])`},
		{Name: "before", Expr: `has(oldObject.spec.ephemeralContainers) ? oldObject.spec.ephemeralContainers : []`},
		{Name: "added", Expr: `
			(has(object.spec.ephemeralContainers) ? object.spec.ephemeralContainers : []).filter(c, !(c in variables.before))`},
		{Name: "containers", Expr: `
			!variables.judged ? [] :
			variables.isCopy ? variables.own.filter(c, c.name.startsWith('debug-')) : variables.added`},
		{Name: "contexts", Expr: `variables.containers.map(c, has(c.securityContext) ? c.securityContext : {})`},
		{Name: "mounts", Expr: `variables.containers.map(c, has(c.volumeMounts) ? c.volumeMounts : [])`},
		{Name: "images", Expr: `$images`},

		// Volumes, by name.
		{Name: "volumes", Expr: `has(object.spec.volumes) ? object.spec.volumes : []`},
		{Name: "forbidden", Expr: `
			variables.volumes.filter(v, has(v.hostPath) ||
			  (has(v.projected) && has(v.projected.sources) && v.projected.sources != null &&
			  v.projected.sources.exists(s, has(s.serviceAccountToken) || has(s.podCertificate)))).map(v, v.name)`},
		{Name: "emptyDirs", Expr: `variables.isCopy ? variables.volumes.filter(v, has(v.emptyDir)).map(v, v.name) : []`},
		{Name: "tokenPath", Expr: `'/var/run/secrets/kubernetes.io/serviceaccount'`},
		{Name: "covers", Expr: `
			variables.mounts.map(ms, ms.filter(m, m.mountPath == variables.tokenPath && m.name in variables.emptyDirs)).
			filter(ms, ms.size() > 0).map(ms, ms[0].name)`},

		// What containers inherit from the pod.
		{Name: "context", Expr: `has(object.spec.securityContext) ? object.spec.securityContext : {}`},
		{Name: "seccomp", Expr: `has(variables.context.seccompProfile) ? variables.context.seccompProfile.type : ''`},
		{Name: "appArmor", Expr: `has(variables.context.appArmorProfile) ? variables.context.appArmorProfile.type : ''`},
		{Name: "seLinux", Expr: `has(variables.context.seLinuxOptions) ? variables.context.seLinuxOptions : {}`},
		{Name: "hostProcess", Expr: `
			has(variables.context.windowsOptions) && has(variables.context.windowsOptions.hostProcess) &&
			variables.context.windowsOptions.hostProcess`},

		// The session that may see the pod's processes.
		{Name: "sharesProcesses", Expr: `
			(has(object.spec.shareProcessNamespace) && object.spec.shareProcessNamespace) ||
			(has(object.spec.hostPID) && object.spec.hostPID)`},
		{Name: "annotations", Expr: `has(object.metadata.annotations) ? object.metadata.annotations : {}`},
		{Name: "session", Expr: `$processAccessKey in variables.annotations ? variables.annotations[$processAccessKey] : ''`},

		// The labels of a copy.
		{Name: "labels", Expr: `has(object.metadata.labels) ? object.metadata.labels : {}`},
		{Name: "ttl", Expr: `$ttlLabel in variables.labels ? variables.labels[$ttlLabel] : ''`},
		{Name: "ttls", Expr: `$ttls`},
		{Name: "managedBy", Expr: `$managedBy`},
	},
	Validations: []Validation{{
		Name:    "image",
		Expr:    `variables.containers.all(c, has(c.image) && c.image in variables.images)`,
		Message: "A debug container runs one of the pinned images, spelled exactly so: $pinned.",
		Why:     "A tag can be moved to another image, and the digest of another repository is another image.",
	}, {
		Name: "non-root",
		Expr: `
			variables.contexts.all(s, has(s.runAsNonRoot) && s.runAsNonRoot &&
			  (!has(s.runAsUser) || s.runAsUser != 0))`,
		Message: "A debug container sets runAsNonRoot: true, and no runAsUser of 0.",
		Why:     "Root in a container is root for every file that a volume shows, and halfway out of the container.",
	}, {
		Name:    "group",
		Expr:    `variables.contexts.all(s, has(s.runAsGroup) && s.runAsGroup != 0)`,
		Message: "A debug container sets a runAsGroup that is not 0.",
		Why:     "Without it a runtime takes the group of the image, which is 0 for most: the group that may read what is root's.",
	}, {
		Name:    "no-escalation",
		Expr:    `variables.contexts.all(s, has(s.allowPrivilegeEscalation) && !s.allowPrivilegeEscalation)`,
		Message: "A debug container sets allowPrivilegeEscalation: false.",
		Why:     "A setuid program in the image or on a volume would make the person root.",
	}, {
		Name:    "read-only-root",
		Expr:    `variables.contexts.all(s, has(s.readOnlyRootFilesystem) && s.readOnlyRootFilesystem)`,
		Message: "A debug container sets readOnlyRootFilesystem: true.",
		Why:     "The tools of the pinned image stay what they are. That is no limit on what runs: a program below /pod-volumes can be started, and a shell takes any script.",
	}, {
		Name: "unprivileged",
		Expr: `
			variables.contexts.all(s, !(has(s.privileged) && s.privileged) && !has(s.windowsOptions) &&
			  !variables.hostProcess)`,
		Message: "A debug container is not privileged, has no windowsOptions and is no HostProcess container.",
		Why:     "A privileged container is the node.",
	}, {
		Name: "capabilities",
		Expr: `
			variables.contexts.all(s, has(s.capabilities) && has(s.capabilities.drop) &&
			  s.capabilities.drop == ['ALL'] && !has(s.capabilities.add))`,
		Message: "A debug container drops the capabilities [ALL], spelled so, and adds none.",
		Why:     "NET_RAW listens to the pod's traffic, SYS_PTRACE reads its memory. Some runtimes also know all and All, but none has promised it.",
	}, {
		Name: "read-only-mounts",
		Expr: `
			variables.mounts.all(ms, ms.all(m, has(m.readOnly) && m.readOnly && !has(m.subPath) && !has(m.subPathExpr) &&
			  (!has(m.mountPropagation) || m.mountPropagation == 'None')))`,
		Message: "A debug container mounts volumes with readOnly: true, whole (no subPath) and without mountPropagation.",
		Why:     "By its mounts a session looks at the app's data and does not change it. A subPath that is missing is created even for a read-only mount, and what is propagated into a mount is not read-only.",
	}, {
		Name:    "no-token-mount",
		Expr:    `variables.mounts.all(ms, ms.all(m, !(m.name in variables.forbidden)))`,
		Message: "A debug container mounts no ServiceAccount token, no pod certificate and no hostPath volume.",
		Why:     "With the app's token the person is the app to the API server, which may be allowed far more than a session.",
	}, {
		Name: "mount-path",
		Expr: `
			variables.mounts.all(ms, ms.all(m, m.mountPath.matches('^/pod-volumes/[A-Za-z0-9_-][A-Za-z0-9._-]*$') ||
			  (m.mountPath == variables.tokenPath && m.name in variables.emptyDirs))) &&
			variables.containers.all(c, !has(c.terminationMessagePath) ||
			  c.terminationMessagePath == '/dev/termination-log')`,
		Message: "A debug container mounts volumes directly below /pod-volumes/ only; in a copy pod also an empty emptyDir at the token's path. Its terminationMessagePath stays /dev/termination-log.",
		Why:     "A volume over /bin or /etc replaces the pinned image with files that somebody else wrote. A mount inside another follows the links that the app left there, and the kubelet mounts a writable file at terminationMessagePath.",
	}, {
		Name: "no-devices",
		Expr: `
			variables.containers.all(c, !has(c.volumeDevices) && (!has(c.resources) || (!has(c.resources.claims) &&
			  (!has(c.resources.limits) ||
			  c.resources.limits.all(r, r in ['cpu', 'memory', 'ephemeral-storage'])))))`,
		Message: "A debug container has no volumeDevices, no resource claims and no limits but cpu, memory and ephemeral-storage.",
		Why:     "A raw block device can be written in spite of every read-only mount, and device plugins give devices of the node for a limit.",
	}, {
		Name: "no-secret-env",
		Expr: `
			variables.containers.all(c, !has(c.envFrom) && (!has(c.env) || c.env.all(e,
			  !has(e.valueFrom) || has(e.valueFrom.fieldRef) || has(e.valueFrom.resourceFieldRef))))`,
		Message: "A debug container takes no environment from Secrets, ConfigMaps or files: no envFrom, and valueFrom only with fieldRef or resourceFieldRef.",
		Why:     "A name is enough to read any Secret or ConfigMap of the namespace, of this app or another; the pod's own are shown by its volumes.",
	}, {
		Name: "profiles",
		Expr: `
			variables.contexts.all(s,
			  (has(s.seccompProfile) ? s.seccompProfile.type : variables.seccomp) != 'Unconfined' &&
			  (has(s.appArmorProfile) ? s.appArmorProfile.type : variables.appArmor) != 'Unconfined' &&
			  (!has(s.procMount) || s.procMount == 'Default') &&
			  [has(s.seLinuxOptions) ? s.seLinuxOptions : variables.seLinux].all(o, !has(o.user) && !has(o.role) &&
			    (!has(o.type) || o.type in ['container_t', 'container_init_t', 'container_kvm_t'])))`,
		Message: "A debug container is not Unconfined by seccomp or AppArmor, by its own profile or the pod's; its procMount is Default, its SELinux type a container's, without user and role.",
		Why:     "The profiles are what stands between a bug of the kernel and the node.",
	}, {
		Name: "process-access",
		Expr: `
			variables.containers.all(c, !(variables.sharesProcesses || has(c.targetContainerName)) ||
			  (variables.session != '' && c.name == 'debug-' + variables.session))`,
		Message: "A debug container that sees the processes of the pod (targetContainerName, shareProcessNamespace, hostPID) needs the annotation $processAccessKey with the session's id on the pod, and is named debug-<id>.",
		Why:     "Beside the app's processes, as its user, a debug container reads the app's memory, environment and files, and through /proc/<pid>/root writes those files, whatever its own mounts say; it can stop the processes. A pod that shares its process namespace gives this to every container, without being asked.",
	}, {
		Name:    "name",
		Expr:    `!variables.isWriter || variables.containers.all(c, c.name.startsWith('debug-'))`,
		Message: "$portal names a debug container debug-*.",
		Why:     "By the name the policies for attaching and for the deletion of pods know a session's container; another could not be attached to or cleaned up.",
	}, {
		Name:    "ttl",
		Expr:    `!variables.isCopy || variables.ttl in variables.ttls`,
		Message: "A copy pod carries $ttlLabel of $ttlMin to $ttlMax (a session plus its one extension of $extension): one of $ttls.",
		Why:     "A copy runs the app's code until somebody deletes it. A value in another spelling is accepted by the cluster, but nothing ever deletes the pod.",
	}, {
		Name: "managed-by",
		Expr: `
			!variables.isCopy || ('app.kubernetes.io/managed-by' in variables.labels &&
			  variables.labels['app.kubernetes.io/managed-by'] == variables.managedBy)`,
		Message: "A copy pod carries the label app.kubernetes.io/managed-by: $managedBy.",
		Why:     "The reaper and the check for leftovers select by this label: a copy without it is found by neither.",
	}, {
		Name: "token-path-covered",
		Expr: `
			!variables.isCopy || (variables.covers.size() == variables.containers.size() &&
			  variables.own.all(c, c.name.startsWith('debug-') || !has(c.volumeMounts) ||
			    c.volumeMounts.all(m, !(m.name in variables.covers))))`,
		Message: "In a copy pod a debug container mounts at /var/run/secrets/kubernetes.io/serviceaccount an emptyDir that only debug containers mount.",
		Why:     "The API server mounts the app's token there into every container of a new pod that mounts nothing there.",
	}, {
		Name:  "host-namespaces",
		Tiers: flight,
		Expr: `
			!variables.isCopy || !((has(object.spec.hostNetwork) && object.spec.hostNetwork) ||
			  (has(object.spec.hostPID) && object.spec.hostPID) || (has(object.spec.hostIPC) && object.spec.hostIPC))`,
		Message: "A Flight copy pod does not use hostNetwork, hostPID or hostIPC.",
		Why:     "In the namespaces of the node a shell sees the node's processes, and reaches what trusts the node's address.",
	}},
	Values: map[string]func(profile.Profile) any{
		"pinned": func(p profile.Profile) any { return orNone(debugImages(p)) },
		// image is the one that the example runs.
		"image": func(p profile.Profile) any {
			if all := debugImages(p); len(all) > 0 {
				return all[0]
			}
			return "IMAGE"
		},
	},
})
