package differ

import (
	"regexp"
	"strings"

	"hangar.io/holdshort/cel/harness"
)

// Causes of differences between a completed request and the recorded one. The harness imitates
// the API; what a cluster adds to it by plugins, allocators and storage is named here.
const (
	drawn       = "drawn by the server: uid, time, generated name"
	fields      = "managedFields: who set what, kept by the server"
	storage     = "storage: resourceVersion and generation, after the writes that made the object"
	account     = "mutating plugin ServiceAccount: account and its token volume"
	tolerations = "mutating plugin DefaultTolerationSeconds"
	priority    = "mutating plugin Priority"
	protection  = "mutating plugin StorageObjectInUseProtection: finalizers"
	taints      = "mutating plugin TaintNodesByCondition"
	controller  = "controller: status of a definition"
	allocation  = "allocation: cluster IPs and node ports of a service"
)

// explanation names the cause of the differences whose path matches, of the resources it names (empty: all).
type explanation struct {
	cause    string
	resource string
	path     *regexp.Regexp
	// only, unless nil, restricts it further.
	only func(Difference) bool
}

// added: the server has something that the fixture has not.
func added(d Difference) bool { return d.Written == nil }

// both have a value.
func both(d Difference) bool { return d.Written != nil && d.Recorded != nil }

// later: a counter is further on a server, where a seeded object takes several writes.
func later(d Difference) bool {
	a, aIsNumber := d.Written.(int64)
	b, bIsNumber := d.Recorded.(int64)
	return aIsNumber && bIsNumber && b > a
}

var explanations = []explanation{
	{drawn, "", regexp.MustCompile(`^(object|oldObject)\.metadata\.(uid|creationTimestamp|deletionTimestamp)$`), both},
	{drawn, "", regexp.MustCompile(`^object\.metadata\.name$`), both},
	{fields, "", regexp.MustCompile(`^(object|oldObject)\.metadata\.managedFields$`), added},
	{storage, "", regexp.MustCompile(`^(object|oldObject)\.metadata\.resourceVersion$`), nil},
	{storage, "", regexp.MustCompile(`^(object|oldObject)\.metadata\.generation$`), later},
	{account, "pods", regexp.MustCompile(`\.spec\.(serviceAccountName|serviceAccount|volumes|(initC|c)ontainers\[\d+\]\.volumeMounts)$`), extends},
	{tolerations, "pods", regexp.MustCompile(`\.spec\.tolerations$`), extends},
	{priority, "pods", regexp.MustCompile(`\.spec\.(priority|preemptionPolicy|priorityClassName)$`), added},
	{protection, "persistentvolumeclaims", regexp.MustCompile(`\.metadata\.finalizers$`), extends},
	{protection, "persistentvolumes", regexp.MustCompile(`\.metadata\.finalizers$`), extends},
	{taints, "nodes", regexp.MustCompile(`\.spec\.taints$`), extends},
	{controller, "customresourcedefinitions", regexp.MustCompile(`^oldObject\.status(\.|$)`), nil},
	{allocation, "services", regexp.MustCompile(`\.spec\.(clusterIP|clusterIPs(\[\d+\])?|ipFamilies|ipFamilyPolicy|healthCheckNodePort|ports\[\d+\]\.nodePort)$`), nil},
}

// extends: the server's value begins with the fixture's, which may be absent.
func extends(d Difference) bool {
	if d.Written == nil {
		return true
	}
	a, aIsList := d.Written.([]any)
	b, bIsList := d.Recorded.([]any)
	return aIsList && bIsList && len(b) > len(a)
}

func cause(d Difference, r harness.Request) string {
	for _, e := range explanations {
		if e.resource != "" && e.resource != r.Resource.Resource {
			continue
		}
		if e.path.MatchString(d.Path) && (e.only == nil || e.only(d)) {
			return e.cause
		}
	}
	return ""
}

// generic is a path without the indexes of its lists.
func generic(path string) string { return indexes.ReplaceAllString(strings.TrimSpace(path), "[]") }

var indexes = regexp.MustCompile(`\[\d+\]`)
