package request

import "testing"

func TestMisfitNamesTheFieldOfAValueOfTheWrongType(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text for an integer", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: \"3\"\n",
			`in.yaml:5: spec.replicas: expected an integer, found text`},
		{"a number for text, in a list", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n  - name: b\n    image: 7\n",
			"in.yaml:8: spec.containers[1].image: expected text, found a number"},
		{"in a review", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"object":{"apiVersion":"v1","kind":"Pod","spec":{"nodeName":[]}}}}`,
			"in.yaml:1: request.object.spec.nodeName: expected text, found a list"},
		{"in an event", `{"apiVersion":"audit.k8s.io/v1","kind":"Event","requestObject":{"apiVersion":"v1","kind":"Pod","spec":{"nodeName":true}}}`,
			"in.yaml:1: requestObject.spec.nodeName: expected text, found a boolean"},
		{"all fits", pod, ""},
		{"an unknown kind", "apiVersion: x.io/v1\nkind: Widget\nspec: 7\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if err := Misfit(read(t, c.in)); err != nil {
				err.Hint = ""
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
