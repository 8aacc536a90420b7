package schema

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The grammar of image references (github.com/distribution/reference, reference.go), as far as
// their tag depends on it.
const (
	domainPart   = `(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])`
	imageDomain  = `(?:` + domainPart + `(?:\.` + domainPart + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
	pathPart     = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
	imagePath    = pathPart + `(?:/` + pathPart + `)*`
	imageTagPart = `[\w][\w.-]{0,127}`
	imageDigest  = `[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[[:xdigit:]]{32,}`
)

var (
	imageReference = regexp.MustCompile(`^(?:` + imageDomain + `/)(` + imagePath + `)(?::(` + imageTagPart + `))?(?:@(` + imageDigest + `))?$`)
	bareDigest     = regexp.MustCompile(`^[a-f0-9]{64}$`)
	knownDigest    = regexp.MustCompile(`^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$`)
)

// maxImagePath is the longest name of an image without domain, tag and digest (reference.go,
// RepositoryNameTotalLengthMax).
const maxImagePath = 255

// pullPolicy is the default for an image: Always for the tag "latest", given or implied, else
// IfNotPresent, also for a reference that cannot be read (kubernetes pkg/apis/core/v1/defaults.go,
// SetDefaults_Container; pkg/util/parsers/parsers.go, ParseImageName).
func pullPolicy(image string) corev1.PullPolicy {
	if bareDigest.MatchString(image) {
		return corev1.PullIfNotPresent
	}
	m := imageReference.FindStringSubmatch(withDomain(image))
	if m == nil || len(m[1]) > maxImagePath || m[3] != "" && !knownDigest.MatchString(m[3]) {
		return corev1.PullIfNotPresent
	}
	if m[2] == "latest" || m[2] == "" && m[3] == "" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// withDomain adds the default domain to a short reference (github.com/distribution/reference,
// normalize.go, splitDockerDomain): its first part is a domain only if it looks like one.
func withDomain(image string) string {
	first, _, ok := strings.Cut(image, "/")
	if ok && (strings.ContainsAny(first, ".:") || first == "localhost" || strings.ToLower(first) != first) {
		return image
	}
	if !ok {
		image = "library/" + image
	}
	return "docker.io/" + image
}
