package policies

import (
	"cmp"

	"hangar.io/holdshort/policies/profile"
)

// PipelinerunShape holds the runs that the pipeline API starts to their shape, and the writer off them.
var PipelinerunShape = policy(Policy{
	Name:    "pipelinerun-shape",
	Summary: "only the pipeline API writes PipelineRuns for the portal: it starts pipelines of the catalog, in their own namespaces, and cancels",
	Doc: `Whoever may create PipelineRuns where they like runs any image as any ServiceAccount: with the rights that
pipelines have, that is the cluster. So the portal does not write them. It asks the pipeline API, which authorizes the
person and writes the run as its own ServiceAccount. This policy makes the way around it a refusal, and limits what the
pipeline API itself can be talked into: the pipeline comes from the catalog, whose content is reviewed; it runs as the
one account for runs, with new volumes only; and nothing of the run can be changed afterwards except that it is
cancelled. Without it a flaw in the pipeline API is the right to run anything.

A run is judged as the client sent it, in v1 or v1beta1. Each demand holds for the fields of both versions, since a field
of the other version may become effective when the run is stored. The names of pipelines are not listed: the catalog is
the list. Timeouts, params and labels are free. What a run becomes is told by its status, which only the controller
writes: pipelineruns/status is refused to the pipeline API too. Deleting runs is left to RBAC.`,
	Links: []string{
		"https://tekton.dev/docs/pipelines/pipelineruns/",
		"https://tekton.dev/docs/pipelines/cluster-resolver/",
	},
	Match: On(Create|Update|Delete, "pipelineruns.tekton.dev", "pipelineruns.tekton.dev/status").In("v1", "v1beta1"),
	Conditions: []Condition{{
		Name: "writer-or-pipeline",
		Expr: `
			has(request.userInfo.username) &&
			(request.userInfo.username == $writer || request.userInfo.username == $pipelineUser)`,
	}},
	Variables: []Variable{
		{Name: "isWriter", Expr: `has(request.userInfo.username) && request.userInfo.username == $writer`},
		{Name: "isPipeline", Expr: `has(request.userInfo.username) && request.userInfo.username == $pipelineUser`},
		{Name: "creates", Expr: `variables.isPipeline && request.operation == 'CREATE'`},
		{Name: "updates", Expr: `variables.isPipeline && request.operation == 'UPDATE'`},
		{Name: "inNamespace", Expr: `has(request.namespace) && request.namespace.matches($pipelineNamespaces)`},
		{Name: "catalog", Expr: `$catalog`},
		{Name: "account", Expr: `$runAccount`},
		// The definition of the resource may keep what it does not know, so values may be of any type.
		{Name: "spec", Expr: `object != null && has(object.spec) && type(object.spec) == map ? object.spec : {}`},
		{Name: "oldSpec", Expr: `oldObject != null && has(oldObject.spec) && type(oldObject.spec) == map ? oldObject.spec : {}`},
		{Name: "metadata", Expr: `object != null && has(object.metadata) ? object.metadata : {}`},
		{Name: "oldMetadata", Expr: `oldObject != null && has(oldObject.metadata) ? oldObject.metadata : {}`},
		{Name: "template", Expr: `
			has(variables.spec.taskRunTemplate) && type(variables.spec.taskRunTemplate) == map ?
			  variables.spec.taskRunTemplate : {}`},
		{Name: "ref", Expr: `
			has(variables.spec.pipelineRef) && type(variables.spec.pipelineRef) == map ? variables.spec.pipelineRef : {}`},
		{Name: "params", Expr: `has(variables.ref.params) && type(variables.ref.params) == list ? variables.ref.params : []`},
		{Name: "podTemplates", Expr: `
			(has(variables.spec.podTemplate) ? [variables.spec.podTemplate] : []) +
			(has(variables.template.podTemplate) ? [variables.template.podTemplate] : [])`},
		{Name: "newAccount", Expr: `has(variables.template.serviceAccountName) ? variables.template.serviceAccountName : ''`},
		{Name: "betaAccount", Expr: `has(variables.spec.serviceAccountName) ? variables.spec.serviceAccountName : ''`},
		{Name: "managed", Expr: `['generation', 'managedFields', 'resourceVersion']`},
	},
	Validations: []Validation{{
		Name:    "not-the-writer",
		Expr:    `!variables.isWriter`,
		Message: "$portal writes PipelineRuns only through the pipeline API.",
		Why:     "A run that the writer makes itself was authorized by nobody, and its shape is whatever the writer likes.",
	}, {
		Name:    "namespace",
		Expr:    `!variables.isPipeline || variables.inNamespace`,
		Message: "The pipeline API writes PipelineRuns only in the namespaces of pipelines: $pipelines.",
		Why:     "In another namespace a run reaches what that namespace holds: the credentials of the platform, or an app's data.",
	}, {
		Name: "pipeline-ref",
		Expr: `
			!variables.creates ||
			(variables.catalog != '' &&
			  variables.ref.all(k, k in ['resolver', 'params']) &&
			  has(variables.ref.resolver) && variables.ref.resolver == 'cluster' &&
			  variables.params.size() == 3 &&
			  variables.params.all(p, type(p) == map && p.size() == 2 && has(p.name) && has(p.value) && type(p.value) == string) &&
			  variables.params.exists(p, p.name == 'kind' && p.value == 'pipeline') &&
			  variables.params.exists(p, p.name == 'name' && p.value != '') &&
			  variables.params.exists(p, p.name == 'namespace' && p.value == variables.catalog))`,
		Message: "The pipeline API starts only pipelines of the catalog: a pipelineRef with the resolver cluster and exactly the params kind: pipeline, name and namespace: $catalogName.",
		Why:     "What a pipeline does is decided by who may write it. The catalog is written by review; a Git repository, a bundle or another namespace is written by anybody.",
	}, {
		Name: "service-account",
		Expr: `
			!variables.creates ||
			(variables.account != '' &&
			  (request.kind.version == 'v1beta1' ? variables.betaAccount : variables.newAccount) == variables.account &&
			  variables.betaAccount in ['', variables.account] && variables.newAccount in ['', variables.account])`,
		Message: "A PipelineRun of the pipeline API runs as the ServiceAccount $runAccountName.",
		Why:     "Without a name the run takes the namespace's default account, and with another one it takes rights that were given to something else.",
	}, {
		Name:    "no-inline-spec",
		Expr:    `!variables.creates || !has(variables.spec.pipelineSpec)`,
		Message: "A PipelineRun of the pipeline API has no inline pipelineSpec.",
		Why:     "An inline pipeline runs any image with any command, and no review has seen it.",
	}, {
		Name: "no-task-run-specs",
		Expr: `
			!variables.creates || !has(variables.spec.taskRunSpecs) ||
			(type(variables.spec.taskRunSpecs) == list && variables.spec.taskRunSpecs.size() == 0)`,
		Message: "A PipelineRun of the pipeline API has no taskRunSpecs.",
		Why:     "They give single tasks another ServiceAccount and pod template, past the demands on the run's own.",
	}, {
		Name: "pod-template",
		Expr: `
			!variables.creates ||
			variables.podTemplates.all(p, type(p) == map && p.all(k, k == 'hostAliases'))`,
		Message: "The pod template of a PipelineRun of the pipeline API has only hostAliases.",
		Why:     "A pod template mounts volumes of the node, joins its network and chooses where a run is placed.",
	}, {
		Name: "workspaces",
		Expr: `
			!variables.creates || !has(variables.spec.workspaces) ||
			(type(variables.spec.workspaces) == list && variables.spec.workspaces.all(w,
			  type(w) == map && w.all(k, k in ['name', 'subPath', 'emptyDir', 'volumeClaimTemplate']) &&
			  (has(w.emptyDir) || has(w.volumeClaimTemplate)) &&
			  (!has(w.volumeClaimTemplate) || (type(w.volumeClaimTemplate) == map &&
			    (!has(w.volumeClaimTemplate.spec) || (type(w.volumeClaimTemplate.spec) == map &&
			      w.volumeClaimTemplate.spec.all(k, k in ['accessModes', 'resources', 'storageClassName', 'volumeMode'])))))))`,
		Message: "The workspaces of a PipelineRun of the pipeline API are new and empty: an emptyDir, or a volumeClaimTemplate without a data source, a selector or the name of a volume.",
		Why:     "Other workspaces bring the Secrets and volumes of the namespace into the run, which prints them.",
	}, {
		Name: "no-pac-annotations",
		Expr: `
			!variables.creates || !has(variables.metadata.annotations) ||
			!variables.metadata.annotations.exists(k, k.startsWith('pipelinesascode.tekton.dev/'))`,
		Message: "A PipelineRun of the pipeline API has no annotations of Pipelines as Code (pipelinesascode.tekton.dev/*).",
		Why:     "Pipelines as Code takes such a run for its own: it reports it to the commit that the annotations name, as if that had been tested.",
	}, {
		Name: "cancel-only",
		Expr: `
			!variables.updates ||
			((!has(request.subResource) || request.subResource == '') &&
			  has(variables.spec.status) && variables.spec.status in ['Cancelled', 'CancelledRunFinally', 'StoppedRunFinally'] &&
			  variables.spec.all(k, k == 'status' || (k in variables.oldSpec && variables.spec[k] == variables.oldSpec[k])) &&
			  variables.oldSpec.all(k, k == 'status' || k in variables.spec) &&
			  variables.metadata.all(k, k in variables.managed ||
			    (k in variables.oldMetadata && variables.metadata[k] == variables.oldMetadata[k])) &&
			  variables.oldMetadata.all(k, k in variables.managed || k in variables.metadata) &&
			  object.all(k, k in ['metadata', 'spec'] || (k in oldObject && object[k] == oldObject[k])) &&
			  oldObject.all(k, k in ['metadata', 'spec'] || k in object))`,
		Message: "The pipeline API changes a PipelineRun only to cancel it: spec.status is Cancelled, CancelledRunFinally or StoppedRunFinally, and nothing else differs.",
		Why:     "A run whose labels, annotations, owner or result can be changed afterwards proves nothing about what ran.",
	}},
	Values: map[string]func(profile.Profile) any{
		"pipelineUser":       func(p profile.Profile) any { return p.Identities.Pipeline.Username() },
		"pipelineNamespaces": func(p profile.Profile) any { return namespacePattern(p.Namespaces.Pipeline) },
		"pipelines":          func(p profile.Profile) any { return orNone(p.Namespaces.Pipeline) },
		"catalog":            func(p profile.Profile) any { return p.Pipeline.Catalog },
		"catalogName":        func(p profile.Profile) any { return cmp.Or(p.Pipeline.Catalog, "none") },
		"runAccount":         func(p profile.Profile) any { return p.Pipeline.ServiceAccount },
		"runAccountName":     func(p profile.Profile) any { return cmp.Or(p.Pipeline.ServiceAccount, "none") },
	},
})
