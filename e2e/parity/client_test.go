package parity

import (
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestAChangeIsMadeOnTheStoredObject(t *testing.T) {
	const before = `{labels: {a: b, c: d}, containers: [{image: a:1}], finalizers: [x]}`
	for _, tc := range []struct{ name, after, want string }{
		{
			"a changed image leaves the mounts that a plugin added",
			`{labels: {a: b, c: d}, containers: [{image: a:2}], finalizers: [x]}`,
			`{labels: {a: b, c: d}, containers: [{image: a:2, mounts: [token]}], finalizers: [x], account: default}`,
		},
		{
			"a label that is left out is deleted",
			`{labels: {c: d}, containers: [{image: a:1}], finalizers: [x]}`,
			`{labels: {c: d}, containers: [{image: a:1, mounts: [token]}], finalizers: [x], account: default}`,
		},
		{
			"a list that is left out is deleted, an added element is added",
			`{labels: {a: b, c: d}, containers: [{image: a:1}, {image: b:1}]}`,
			`{labels: {a: b, c: d}, containers: [{image: a:1, mounts: [token]}, {image: b:1}], account: default}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := change(parse(t, `{labels: {a: b, c: d}, containers: [{image: a:1, mounts: [token]}], finalizers: [x], account: default}`),
				parse(t, before), parse(t, tc.after))
			if want := parse(t, tc.want); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
