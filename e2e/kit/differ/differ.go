// Package differ compares a request that the harness has completed with the one that a real server's
// admission saw, and names the cause of each difference.
package differ

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"hangar.io/holdshort/cel/harness"
)

// Difference is one place where the completed request and the recorded one are not equal.
type Difference struct {
	Path              string // such as object.spec.tolerations
	Written, Recorded any    // nil: absent
	// Cause is why they differ, empty if nobody knows.
	Cause string
}

// String is the difference as a person reads it.
func (d Difference) String() string {
	return fmt.Sprintf("%s: fixture %v, server %v", d.Path, d.Written, d.Recorded)
}

// Requests compares two requests and names the cause of each difference.
func Requests(written, recorded harness.Request) []Difference {
	a, b := Plain(written), Plain(recorded)
	var out []Difference
	compare("", a, b, &out)
	for i := range out {
		out[i].Cause = cause(out[i], written)
		if out[i].Cause == "" && (follows(out[i], written, recorded) || sameMoment(out[i])) {
			out[i].Cause = drawn
		}
	}
	return out
}

// follows tells whether a text differs only by the object's uid or generated name in it.
func follows(d Difference, written, recorded harness.Request) bool {
	text, isText := d.Written.(string)
	if !isText {
		return false
	}
	for _, field := range []string{"uid", "name"} {
		for _, objects := range [][2]map[string]any{{written.Object, recorded.Object}, {written.OldObject, recorded.OldObject}} {
			from, _, _ := unstructured.NestedString(objects[0], "metadata", field)
			to, _, _ := unstructured.NestedString(objects[1], "metadata", field)
			if from != "" && from != to {
				text = strings.ReplaceAll(text, from, to)
			}
		}
	}
	return text == d.Recorded
}

// Plain is a request as one JSON value.
func Plain(r harness.Request) map[string]any {
	groups := slices.Sorted(slices.Values(r.User.Groups))
	return map[string]any{
		"operation": string(r.Operation), "resource": r.Resource.String(), "subResource": r.Subresource,
		"kind": r.Kind.String(), "namespace": r.Namespace, "name": r.Name, "dryRun": r.DryRun,
		"object": object(r.Object), "oldObject": object(r.OldObject), "options": object(r.Options),
		"userInfo": map[string]any{
			"username": r.User.Name, "uid": r.User.UID, "groups": fmt.Sprint(groups), "extra": fmt.Sprint(r.User.Extra),
		},
	}
}

func object(o map[string]any) any {
	if o == nil {
		return nil
	}
	return o
}

// moment is how far the times of the completion and of the server may be apart.
const moment = time.Minute

// sameMoment tells whether both values are the time of the request.
func sameMoment(d Difference) bool {
	a, aIsText := d.Written.(string)
	b, bIsText := d.Recorded.(string)
	if !aIsText || !bIsText {
		return false
	}
	at, err := time.Parse(time.RFC3339, a)
	if err != nil {
		return false
	}
	bt, err := time.Parse(time.RFC3339, b)
	return err == nil && at.Sub(bt).Abs() < moment
}

// compare descends into mappings and into lists of equal length; the rest is compared as a whole.
func compare(path string, a, b any, out *[]Difference) {
	am, aIsMap := a.(map[string]any)
	bm, bIsMap := b.(map[string]any)
	if aIsMap && bIsMap {
		keys := slices.Collect(maps.Keys(am))
		for k := range bm {
			if _, both := am[k]; !both {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			compare(strings.TrimPrefix(path+"."+k, "."), am[k], bm[k], out)
		}
		return
	}
	al, aIsList := a.([]any)
	bl, bIsList := b.([]any)
	if aIsList && bIsList && len(al) == len(bl) {
		for i := range al {
			compare(fmt.Sprintf("%s[%d]", path, i), al[i], bl[i], out)
		}
		return
	}
	if !reflect.DeepEqual(a, b) {
		*out = append(*out, Difference{Path: path, Written: a, Recorded: b})
	}
}
