package profile

// Tier is what a cluster is used for: the rules are stricter on Flight.
type Tier string

const (
	// Ground is development.
	Ground Tier = "ground"
	// Flight is production.
	Flight Tier = "flight"
)

// Tiers are all tiers, from the mildest to the strictest.
var Tiers = []Tier{Ground, Flight}

// Profile describes one cluster to the rule set. A Profile from Load, Parse or Builtin is valid,
// has its defaults filled in and is read only.
type Profile struct {
	// Name is ground or flight for the built-in profiles, else the file's name without its ending.
	Name string `json:"-"`

	// Tier of the cluster: ground (development) or flight (production). Required.
	Tier Tier `json:"tier"`
	// Home says whether this is the cluster that the portal itself runs on. Default: false.
	Home bool `json:"home,omitempty"`
	// Names are the names of the portal and of what belongs to it.
	Names Names `json:"names"`
	// Identities are those whose requests the policies judge.
	Identities Identities `json:"identities"`
	// Namespaces tells app namespaces from those of the platform.
	Namespaces Namespaces `json:"namespaces"`
	// TTL is how long a break-glass object may live.
	TTL TTL `json:"ttl,omitzero"`
	// Images are the debug images that a session may run.
	Images Images `json:"images,omitzero"`
	// Copy is what a copy of a pod may have.
	Copy Copy `json:"copy,omitzero"`
	// Signer is who must have signed the debug images.
	Signer Signer `json:"signer,omitzero"`
	// Pipeline is the shape of the pipeline runs that the pipeline API may start.
	Pipeline Pipeline `json:"pipeline,omitzero"`
	// ClosedWorld is everything that the privileged identities may write.
	ClosedWorld ClosedWorld `json:"closedWorld,omitzero"`
	// Federation is how tokens of the home cluster are accepted by another one.
	Federation Federation `json:"federation,omitzero"`
	// Recording is where recordings of sessions are kept.
	Recording Recording `json:"recording,omitzero"`
	// Tiers overrides, policy by policy, the tiers that the policy is rendered for; an empty list
	// switches the policy off. Default: what each policy says.
	Tiers map[string][]Tier `json:"tiers,omitempty"`
	// Accepted are gaps in the policies that someone has looked at and accepted.
	Accepted []Acceptance `json:"accepted,omitempty"`
}

// Names are the names of the portal and of what belongs to it.
type Names struct {
	// Portal is the portal's display name, as messages print it. Required.
	Portal string `json:"portal"`
	// Prefix begins the name of each break-glass object; it ends in a hyphen. Required.
	Prefix string `json:"prefix"`
	// LabelDomain is the domain of the labels and annotations. Default: hangar.io.
	LabelDomain string `json:"labelDomain,omitempty"`
	// ManagedBy is the value of the label app.kubernetes.io/managed-by on break-glass objects.
	// Default: the prefix without its last hyphen.
	ManagedBy string `json:"managedBy,omitempty"`
	// Roles are the names of the ClusterRoles.
	Roles Roles `json:"roles,omitzero"`
	// Bindings are the names of the bindings that exist at rest.
	Bindings Bindings `json:"bindings,omitzero"`
}

// Roles are the names of the ClusterRoles.
type Roles struct {
	// Live is the role of a session inside a running pod. Default: the prefix and debug-live.
	Live string `json:"live,omitempty"`
	// Copy is the role of a session in a copy of a pod. Default: the prefix and debug-copy.
	Copy string `json:"copy,omitempty"`
	// Binder is the role that may bind the other two. Default: the prefix and binder.
	Binder string `json:"binder,omitempty"`
}

// Bindings are the names of the bindings that exist at rest.
type Bindings struct {
	// Binder binds the binder role to the writer. Default: the name of the role.
	Binder string `json:"binder,omitempty"`
	// Reader begins the names of the reader's bindings. Default: the managedBy name and -reader.
	Reader string `json:"reader,omitempty"`
}

// Identities are those whose requests the policies judge.
type Identities struct {
	// Writer is the privileged identity: it binds the debug roles to itself. Required.
	Writer Identity `json:"writer"`
	// Reader reads the cluster for the portal and writes nothing; it may be the writer. Required.
	Reader Identity `json:"reader"`
	// Portal is what the portal's backend runs as on its home cluster. Required there.
	Portal Identity `json:"portal,omitzero"`
	// Pipeline is what the pipeline API runs as.
	Pipeline Identity `json:"pipeline,omitzero"`
	// Operators are the people who run the cluster. Default: the group system:masters.
	Operators Operators `json:"operators,omitzero"`
}

// Identity is one user or one ServiceAccount.
type Identity struct {
	// User is the name of a user, for an identity that is no ServiceAccount of this cluster.
	User string `json:"user,omitempty"`
	// ServiceAccount is namespace/name of a ServiceAccount of this cluster.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// Groups are the groups of the user, besides those that the API server adds.
	Groups []string `json:"groups,omitempty"`
}

// Operators are the people who run the cluster.
type Operators struct {
	// Groups whose members are operators.
	Groups []string `json:"groups,omitempty"`
	// Users who are operators.
	Users []string `json:"users,omitempty"`
}

// Namespaces tells app namespaces from those of the platform. Where patterns are allowed, * stands
// for any characters.
type Namespaces struct {
	// Labels are the keys of the labels of app namespaces.
	Labels NamespaceLabels `json:"labels,omitzero"`
	// Apps are patterns of the names of app namespaces. Default: app-*.
	Apps []string `json:"apps,omitempty"`
	// Portal are the namespaces of the portal. Required.
	Portal []string `json:"portal"`
	// Sidecar are the namespaces of the sidecar, the webhook and the reaper. Default: holdshort.
	Sidecar []string `json:"sidecar,omitempty"`
	// Pipeline are names or patterns of the namespaces that pipelines run in.
	Pipeline []string `json:"pipeline,omitempty"`
}

// NamespaceLabels are the keys of the labels of app namespaces.
type NamespaceLabels struct {
	// App names the app. Default: the label domain and /app.
	App string `json:"app,omitempty"`
	// Env names the app's environment. Default: the label domain and /env.
	Env string `json:"env,omitempty"`
	// Preview marks the environment of a pull request. Default: the label domain and /ephemeral-env.
	Preview string `json:"preview,omitempty"`
}

// TTL is how long a break-glass object may live.
type TTL struct {
	// Label is the key of the label that holds the time to live. Default: cleanup.kyverno.io/ttl.
	Label string `json:"label,omitempty"`
	// Allowed are the values that the label may have, in whole minutes, from the shortest to the
	// longest. The list is exact: elsewhere a malformed value is accepted and never acted on.
	// Default: 15m, 30m, 45m, 60m, 75m.
	Allowed []string `json:"allowed,omitempty"`
	// Extension is the one extension of a session, which the TTL already includes. Default: 15m.
	Extension string `json:"extension,omitempty"`
}

// Images are the debug images that a session may run.
type Images struct {
	// Repository of the debug images, without tag and digest.
	Repository string `json:"repository,omitempty"`
	// Digests of the images that may run, each sha256: and 64 hexadecimal digits. Several at a time
	// let a new build in before the old one goes. None: no debug container is admitted.
	Digests []string `json:"digests,omitempty"`
}

// Copy is what a copy of a pod may have.
type Copy struct {
	// MountToken lets the app's containers in a copy have the token of their ServiceAccount, for apps
	// that do not start without. Whoever may create copies can then act as each ServiceAccount of the
	// namespace. Default: false.
	MountToken bool `json:"mountToken,omitempty"`
}

// Signer is who must have signed the debug images.
type Signer struct {
	// Issuer is the https URL of the token issuer that the signing certificate names.
	Issuer string `json:"issuer,omitempty"`
	// Subject is the identity that the signing certificate names, exactly.
	Subject string `json:"subject,omitempty"`
	// Log is the https URL of the transparency log.
	Log string `json:"log,omitempty"`
	// Root is the file with the trusted root. Default: the public good instance.
	Root string `json:"root,omitempty"`
}

// Pipeline is the shape of the pipeline runs that the pipeline API may start.
type Pipeline struct {
	// Catalog is the namespace that pipelines are taken from.
	Catalog string `json:"catalog,omitempty"`
	// ServiceAccount is the name of the ServiceAccount that runs use.
	ServiceAccount string `json:"serviceAccount,omitempty"`
}

// ClosedWorld is everything that the privileged identities may write.
type ClosedWorld struct {
	// Allow is what they may do. Default: what sessions need in app namespaces and, at home, the
	// portal's token requests.
	Allow []Allowance `json:"allow,omitempty"`
	// Proxies are the services that the writer may reach through the API server, which Allow need not
	// say again.
	Proxies []Proxy `json:"proxies,omitempty"`
}

// Allowance is one entry of the closed world.
type Allowance struct {
	// Identity is writer, reader or group (the federated group). Required.
	Identity string `json:"identity"`
	// Operations are some of CREATE, UPDATE, DELETE and CONNECT. Required.
	Operations []string `json:"operations"`
	// Resources are plurals with group and subresource, such as pods/attach or
	// rolebindings.rbac.authorization.k8s.io. Required.
	Resources []string `json:"resources"`
	// Namespaces are names or patterns of namespaces. Default: cluster-scoped resources only, among
	// them namespaces.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Proxy is a service that the writer may reach through the API server.
type Proxy struct {
	// Service is namespace/name of the service. Required.
	Service string `json:"service"`
	// Port is the number or the name of its port. Required.
	Port string `json:"port"`
	// Path begins the paths that may be called: /v1/ stands for all below it, /v1 for itself and all
	// below it. Required.
	Path string `json:"path"`
}

// Federation is how tokens of the home cluster are accepted by another one.
type Federation struct {
	// Issuer is the https URL of the home cluster's token issuer.
	Issuer string `json:"issuer,omitempty"`
	// Audience that a token must be made for.
	Audience string `json:"audience,omitempty"`
	// Group that federated identities are in.
	Group string `json:"group,omitempty"`
	// Accounts are namespace/name of the home cluster's ServiceAccounts whose tokens are accepted.
	Accounts []string `json:"accounts,omitempty"`
	// Lifetime of a token in seconds. Less than 600 is never issued. Default: 600.
	Lifetime int `json:"lifetime,omitempty"`
	// Targets are the clusters that accept these tokens.
	Targets []Target `json:"targets,omitempty"`
	// Actions are what the portal may have done with a token.
	Actions []Action `json:"actions,omitempty"`
}

// Target is a cluster that accepts the home cluster's tokens.
type Target struct {
	// Name of the cluster. Required.
	Name string `json:"name"`
	// Server is the https URL of its API server. Required.
	Server string `json:"server"`
	// Audience of the tokens for it. Required.
	Audience string `json:"audience"`
	// CAFile is the file with the certificate authority of the server. Default: the system's.
	CAFile string `json:"caFile,omitempty"`
}

// Action is something that the portal may have done with a token of the writer.
type Action struct {
	// Name of the action. Required.
	Name string `json:"name"`
	// Target is the name of the cluster. Required.
	Target string `json:"target"`
	// Method is the HTTP method. Required.
	Method string `json:"method"`
	// Path is the path on the API server, with {name} for a path segment. Required.
	Path string `json:"path"`
}

// Recording is where recordings of sessions are kept.
type Recording struct {
	// Store is the URL of the object store, dir:///PATH or s3://BUCKET?endpoint=URL. Default: none,
	// and then no session starts.
	Store string `json:"store,omitempty"`
	// RetentionDays is how long a recording cannot be deleted. Default: 365.
	RetentionDays int `json:"retentionDays,omitempty"`
	// Anchor is the https URL of the transparency log for the hashes of recordings. Default: none.
	Anchor string `json:"anchor,omitempty"`
}

// Acceptance is a gap in the policies that someone has looked at and accepted.
type Acceptance struct {
	// Identity is writer, reader or group. Required.
	Identity string `json:"identity"`
	// Operation is CREATE, UPDATE, DELETE or CONNECT. Required.
	Operation string `json:"operation"`
	// Resource is a plural with group and subresource. Required.
	Resource string `json:"resource"`
	// Reason says why the gap is accepted. Required.
	Reason string `json:"reason"`
}
