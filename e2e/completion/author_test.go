package completion_test

import (
	"reflect"
	"testing"

	"hangar.io/holdshort/e2e/completion"
)

func TestObjectsOfOneSeedAreTheSameAndOthersDiffer(t *testing.T) {
	write := func(seed uint64) []any {
		a, err := completion.NewAuthor(seed)
		if err != nil {
			t.Fatal(err)
		}
		var all []any
		for i := range a.Kinds() {
			o, err := a.Write(i, 10)
			if err != nil {
				t.Fatal(err)
			}
			if o["apiVersion"] == nil || o["kind"] == nil || o["metadata"] == nil {
				t.Errorf("object %d is none: %v", i, o)
			}
			all = append(all, o)
		}
		return all
	}
	if !reflect.DeepEqual(write(1), write(1)) {
		t.Error("one seed, two sets of objects")
	}
	if reflect.DeepEqual(write(1), write(2)) {
		t.Error("two seeds, one set of objects")
	}
}
