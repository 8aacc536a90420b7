package schema

import (
	_ "embed"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed resources.txt
var resourceLines string

// builtInResources reads the lines of one minor version. The file is generated and embedded, so a
// malformed line is a defect of this package.
func builtInResources(minor int) []Resource {
	out := make([]Resource, 0, 256)
	verbs := map[string][]string{}
	for line := range strings.Lines(resourceLines) {
		if line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 9 {
			panic("schema: malformed line in resources.txt: " + line)
		}
		if !inRange(minor, f[8]) {
			continue
		}
		if verbs[f[6]] == nil {
			verbs[f[6]] = verbNames(f[6])
		}
		gv := schema.GroupVersion{Group: undash(f[0]), Version: f[1]}
		out = append(out, Resource{
			GVR:          gv.WithResource(f[2]),
			Subresource:  undash(f[3]),
			Kind:         kindOf(gv, f[4]),
			Namespaced:   f[5] == "N",
			Verbs:        verbs[f[6]],
			OffByDefault: f[7] == "off",
		})
	}
	return out
}

// inRange reads "first-last".
func inRange(minor int, text string) bool {
	a, b, _ := strings.Cut(text, "-")
	first, err := strconv.Atoi(a)
	last, err2 := strconv.Atoi(b)
	if err != nil || err2 != nil {
		panic("schema: malformed range in resources.txt: " + text)
	}
	return first <= minor && minor <= last
}

func undash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// kindOf reads "Kind" (of the resource's own group version) or "group/version/Kind".
func kindOf(gv schema.GroupVersion, s string) schema.GroupVersionKind {
	if p := strings.Split(s, "/"); len(p) == 3 {
		return schema.GroupVersionKind{Group: p[0], Version: p[1], Kind: p[2]}
	}
	return gv.WithKind(s)
}

// verbNames reads the letters that hack/gen writes.
func verbNames(letters string) []string {
	names := map[rune]string{
		'c': "create", 'd': "delete", 'D': "deletecollection", 'g': "get",
		'l': "list", 'p': "patch", 'u': "update", 'w': "watch",
	}
	var out []string
	for _, l := range letters {
		out = append(out, names[l])
	}
	return out
}
