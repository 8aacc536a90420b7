package witness

import (
	"fmt"
	"strings"

	"hangar.io/holdshort/cel"
	"hangar.io/holdshort/cel/schema"
)

// Is is what a fact says of the value at a path.
type Is uint8

// What facts can say. All but Absent and Lacks say as well that there is a value.
const (
	Absent Is = iota
	Present
	Null
	// EqualTo and DifferentFrom the fact's Value.
	EqualTo
	DifferentFrom
	// OfKind: of one of the kinds that the fact's Value, a schema.Kinds, has.
	OfKind
	// Contains and Lacks: the fact's Value is, or is not, an item of a list or a key of a map.
	Contains
	Lacks
	// AtLeast and AtMost are for numbers, SizeAtLeast and SizeAtMost for what has a size. The fact's
	// Value is an int64.
	AtLeast
	AtMost
	SizeAtLeast
	SizeAtMost
	// True and False are for a path to an expression: its field, as in harness.Expression.
	True
	False
)

// Fact is something that holds of a request.
type Fact struct {
	// Path is a chain of fields as CEL writes it: object.spec.hostNetwork, request.userInfo.username,
	// object.metadata.labels['app'], object.spec.containers[0].image. In the place of an index, [*]
	// stands for every item of a list. For True and False it is the field of a match condition or a
	// validation: matchConditions[0].
	Path  string
	Is    Is
	Value any // in JSON form
}

// Condition is facts that hold at once: the condition of a path through expressions.
type Condition []Fact

// String is the fact for a person.
func (f Fact) String() string {
	words := map[Is]string{
		Absent: "is absent", Present: "is present", Null: "is null", EqualTo: "is", DifferentFrom: "is not", OfKind: "is of kind",
		Contains: "contains", Lacks: "lacks", AtLeast: "is at least", AtMost: "is at most",
		SizeAtLeast: "has a size of at least", SizeAtMost: "has a size of at most", True: "is true", False: "is false",
	}
	if f.takesValue() {
		return fmt.Sprintf("%s %s %v", f.Path, words[f.Is], f.Value)
	}
	return f.Path + " " + words[f.Is]
}

func (f Fact) takesValue() bool { return f.Is >= EqualTo && f.Is <= SizeAtMost }

// String is the condition for a person.
func (c Condition) String() string {
	texts := make([]string, len(c))
	for i, f := range c {
		texts[i] = f.String()
	}
	return strings.Join(texts, ", ")
}

// expression is the fact in CEL, for the API server's evaluator to tell whether it holds.
func (f Fact) expression() (string, error) {
	at := parsePath(f.Path)
	if len(at) == 0 || f.Is > SizeAtMost {
		return "", fmt.Errorf("the fact %q: %q is no path", f, f.Path)
	}
	text, err := f.of(at.root(), at[1:], 0)
	if err != nil {
		return "", fmt.Errorf("the fact %q: %w", f, err)
	}
	return text, nil
}

// of is the fact of what stands at a path from a value, which is an expression.
func (f Fact) of(value string, at path, depth int) (string, error) {
	present := value + " != null"
	for i, s := range at {
		if s.kind == toAny {
			item := fmt.Sprintf("e%d", depth)
			inner, err := f.of(item, at[i+1:], depth+1)
			if i > 0 {
				value += ".orValue([])"
			}
			return fmt.Sprintf("%s.all(%s, %s)", value, item, inner), err
		}
		step, err := s.optional()
		if err != nil {
			return "", err
		}
		value += step
		present = value + ".hasValue()"
	}
	if len(at) > 0 {
		value += ".value()"
	}
	if f.Is == Absent {
		return "!(" + present + ")", nil
	}
	test, err := f.test("dyn(" + value + ")")
	switch f.Is {
	case Present:
		return present, nil
	case Null:
		if len(at) == 0 {
			return value + " == null", nil
		}
	case Lacks:
		return fmt.Sprintf("(!(%s) || !(%s))", present, test), err
	}
	return fmt.Sprintf("(%s && %s)", present, test), err
}

// test is the fact of a value that is there.
func (f Fact) test(value string) (string, error) {
	if f.Is == Null {
		return value + " == null", nil
	}
	if f.Is == OfKind {
		kinds, ok := f.Value.(schema.Kinds)
		if !ok {
			return "", fmt.Errorf("its value is %T, expected schema.Kinds", f.Value)
		}
		var tests []string
		for _, k := range namedKinds {
			if kinds&k.kind != 0 {
				tests = append(tests, fmt.Sprintf("type(%s) == %s", value, k.name))
			}
		}
		if len(tests) == 0 {
			return "false", nil
		}
		return "(" + strings.Join(tests, " || ") + ")", nil
	}
	if !f.takesValue() {
		return "true", nil
	}
	literal, err := cel.Literal(f.Value)
	if err != nil {
		return "", err
	}
	switch f.Is {
	case DifferentFrom:
		return value + " != " + literal, nil
	case Contains, Lacks:
		return literal + " in " + value, nil
	case AtLeast:
		return value + " >= " + literal, nil
	case AtMost:
		return value + " <= " + literal, nil
	case SizeAtLeast:
		return "size(" + value + ") >= " + literal, nil
	case SizeAtMost:
		return "size(" + value + ") <= " + literal, nil
	}
	return value + " == " + literal, nil
}

// namedKinds are the kinds that a value of a request can have, with the names of their types in CEL.
var namedKinds = []struct {
	kind schema.Kinds
	name string
}{
	{schema.Null, "null_type"}, {schema.Bool, "bool"}, {schema.Int, "int"}, {schema.Uint, "uint"}, {schema.Double, "double"},
	{schema.String, "string"}, {schema.Bytes, "bytes"}, {schema.List, "list"}, {schema.Map, "map"},
}
