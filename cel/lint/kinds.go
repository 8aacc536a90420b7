package lint

import (
	"strings"

	"hangar.io/holdshort/cel/schema"
)

var kindNameList = []struct {
	kind schema.Kinds
	name string
}{
	{schema.Null, "null"},
	{schema.Bool, "a bool"},
	{schema.Int, "an int"},
	{schema.Uint, "a uint"},
	{schema.Double, "a double"},
	{schema.String, "text"},
	{schema.Bytes, "bytes"},
	{schema.List, "a list"},
	{schema.Map, "a map"},
	{schema.Timestamp, "a timestamp"},
	{schema.Duration, "a duration"},
	{schema.Type, "a type"},
	{schema.Optional, "an optional"},
	{schema.Opaque, "a value of a library"},
}

// kindNames are kinds as a person reads them.
func kindNames(k schema.Kinds) string {
	var names []string
	for _, n := range kindNameList {
		if k&n.kind != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " or ")
}
