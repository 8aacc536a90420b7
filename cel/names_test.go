package cel_test

import (
	"slices"
	"testing"

	"hangar.io/holdshort/cel"
)

func TestNamesAreThoseThatAnExpressionReads(t *testing.T) {
	for expr, want := range map[string][]string{
		`true`:                               nil,
		`object.spec.authorizer == 'params'`: {"object"},
		`has(object.metadata.labels) && 'a' in object.metadata.labels`:                {"object"},
		`variables.all.all(e, e.name == params.name)`:                                 {"e", "params", "variables"},
		`.authorizer.group('').resource('pods').check('get').allowed()`:               {"authorizer"},
		`object.?metadata.?labels['a'].orValue(namespaceObject.metadata.name) == "b"`: {"namespaceObject", "object"},
		`[1].exists(x, {'k': [request.name]}['k'].size() == x) // authorizer`:         {"request", "x"},
		`Object{spec: Object.spec{name: oldObject.metadata.name}}.spec.name == ""`:    {"oldObject"},
	} {
		have, err := cel.Names(expr)
		if err != nil || !slices.Equal(have, want) {
			t.Errorf("%s: %q, %v", expr, have, err)
		}
	}
	if _, err := cel.Names("object."); err == nil {
		t.Error("a broken expression has names")
	}
}
