package main

import (
	"encoding/json"
	"io"
	"strings"
)

// beginning keeps how what is read from it begins.
type beginning struct {
	io.Reader
	kept []byte
	more bool // there was more than was kept
}

// maxBeginning is more than an empty list of any kind needs; kubectl prints about 100 bytes.
const maxBeginning = 4 << 10

func (b *beginning) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	keep := min(n, maxBeginning-len(b.kept))
	b.kept = append(b.kept, p[:keep]...)
	b.more = b.more || keep < n
	return n, err
}

// emptyList tells whether all that was read is a list without items in JSON, which kubectl prints
// if there are no objects.
func (b *beginning) emptyList() bool {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	return !b.more && json.Unmarshal(b.kept, &list) == nil && strings.HasSuffix(list.Kind, "List") && list.Items != nil && len(list.Items) == 0
}
