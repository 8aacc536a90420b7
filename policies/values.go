package policies

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hangar.io/holdshort/policies/profile"
)

// shared are the placeholders that all policies have.
var shared = map[string]func(profile.Profile) any{
	// Identities. The writer's user name is what requests carry; kind, namespace and name are those
	// of the one subject that may stand for it in a binding. The kind decides the API group
	// (kubernetes pkg/apis/rbac/validation, ValidateRoleBindingSubject).
	"writer":          func(p profile.Profile) any { return p.Identities.Writer.Username() },
	"writerKind":      func(p profile.Profile) any { return p.Identities.Writer.Subject().Kind },
	"writerNamespace": func(p profile.Profile) any { return p.Identities.Writer.Subject().Namespace },
	"writerName":      func(p profile.Profile) any { return p.Identities.Writer.Subject().Name },

	// The people who run the cluster.
	"operatorGroups": func(p profile.Profile) any { return p.Identities.Operators.Groups },
	"operatorUsers":  func(p profile.Profile) any { return p.Identities.Operators.Users },

	// Names.
	"portal":    func(p profile.Profile) any { return p.Names.Portal },
	"prefix":    func(p profile.Profile) any { return p.Names.Prefix },
	"managedBy": func(p profile.Profile) any { return p.Names.ManagedBy },
	"liveRole":  func(p profile.Profile) any { return p.Names.Roles.Live },
	"copyRole":  func(p profile.Profile) any { return p.Names.Roles.Copy },

	// Keys of labels and annotations.
	"appLabel":         func(p profile.Profile) any { return p.Namespaces.Labels.App },
	"copyLabel":        func(p profile.Profile) any { return p.Names.LabelDomain + "/breakglass-copy" },
	"requesterKey":     func(p profile.Profile) any { return p.Names.LabelDomain + "/breakglass-requester" },
	"approverKey":      func(p profile.Profile) any { return p.Names.LabelDomain + "/breakglass-approver" },
	"glassBrokenKey":   func(p profile.Profile) any { return p.Names.LabelDomain + "/breakglass-glass-broken" },
	"processAccessKey": func(p profile.Profile) any { return p.Names.LabelDomain + "/breakglass-process-access" },

	// The debug images that may run, as containers name them.
	"images": func(p profile.Profile) any { return debugImages(p) },

	// The time to live.
	"ttlLabel":  func(p profile.Profile) any { return p.TTL.Label },
	"ttls":      func(p profile.Profile) any { return p.TTL.Allowed },
	"ttlMin":    func(p profile.Profile) any { return p.TTL.Allowed[0] },
	"ttlMax":    func(p profile.Profile) any { return p.TTL.Allowed[len(p.TTL.Allowed)-1] },
	"extension": func(p profile.Profile) any { return p.TTL.Extension },

	// Namespaces that are never an app's, whatever their labels say: a regular expression.
	"platformNamespaces": func(p profile.Profile) any {
		n := p.Namespaces
		return namespacePattern(slices.Concat(n.Portal, n.Sidecar, n.Pipeline))
	},
}

// debugImages are the references of the debug images, each by its digest.
func debugImages(p profile.Profile) []string {
	images := []string{}
	for _, digest := range p.Images.Digests {
		images = append(images, p.Images.Repository+"@"+digest)
	}
	return images
}

// namespacePattern is the anchored regular expression of names and patterns of namespaces, where
// * stands for any characters that the name of a namespace has.
func namespacePattern(patterns []string) string { return "^" + oneOf(patterns) + "$" }

// oneOf is the group of a regular expression that matches one of the patterns.
func oneOf(patterns []string) string {
	quoted := make([]string, len(patterns))
	for i, p := range patterns {
		quoted[i] = strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, "[a-z0-9-]*")
	}
	return "(" + strings.Join(quoted, "|") + ")"
}

// lookup finds the values of a policy's placeholders for a Profile.
func (p Policy) lookup(x profile.Profile) func(string) (any, bool) {
	return func(name string) (any, bool) {
		value, ok := p.Values[name]
		if !ok {
			value, ok = shared[name]
		}
		if !ok {
			return nil, false
		}
		return value(x), true
	}
}

var placeholder = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

// expandText puts the values of placeholders into a message.
func expandText(text string, value func(string) (any, bool)) (string, error) {
	var unknown error
	expanded := placeholder.ReplaceAllStringFunc(text, func(match string) string {
		v, ok := value(match[1:])
		if !ok {
			unknown = fmt.Errorf("unknown placeholder %s", match)
		}
		if list, ok := v.([]string); ok {
			return strings.Join(list, ", ")
		}
		return fmt.Sprint(v)
	})
	return expanded, unknown
}
