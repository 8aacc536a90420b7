package policies

// StaticSuffix ends the names of all policies and bindings that an API server reads from files
// (apiserver pkg/admission/plugin/manifest/validation.go, StaticConfigSuffix).
const StaticSuffix = ".static.k8s.io"

// Static is the form of the manifests that API servers from 1.37 read from a folder at their start,
// before they serve a request. Nobody can change or delete these policies through the API, and they
// also judge requests for admission policies, which stored ones never do.
func (m Manifests) Static() Manifests {
	static := Manifests{Profile: m.Profile, target: "manifest"}
	for i := range m.Policies {
		p, b := m.Policies[i].DeepCopy(), m.Bindings[i].DeepCopy()
		p.Name += StaticSuffix
		b.Name += StaticSuffix
		b.Spec.PolicyName += StaticSuffix
		static.Policies, static.Bindings = append(static.Policies, p), append(static.Bindings, b)
	}
	return static
}
