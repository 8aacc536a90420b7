package manifest

// Limits bound what Read accepts. A zero field takes the default, a negative one lifts the bound.
type Limits struct {
	// FileBytes of one file or of stdin.
	FileBytes int64
	// Documents of one file, items of lists included.
	Documents int
	// Files of one Read, those found in folders included.
	Files int
}

// Defaults of Limits.
const (
	// MaxFileBytes is 1 GiB: about 350,000 audit events of 3 KiB, a minute's reading. Files are
	// streamed, so the bound is one on time, not on memory.
	MaxFileBytes = 1 << 30
	// MaxDocuments in a file: the smallest document that says anything ("{}" and a line break)
	// has 3 bytes, so MaxFileBytes alone would admit 350 million of them.
	MaxDocuments = 2_000_000
	// MaxFiles in one Read: fifty times the 2,000 files of a large fixture folder.
	MaxFiles = 100_000
)

// Bounds of one document. They are not options: one document is held in memory as a whole.
const (
	// maxJSONBytes of a JSON document: ten times what the API server takes in a request
	// (3 MiB, apiserver pkg/server/config.go MaxRequestBodyBytes), for the lists that
	// `kubectl get -o json` prints.
	maxJSONBytes = 32 << 20
	// maxYAMLBytes of a YAML document. A YAML node costs about 250 bytes while it is parsed,
	// a JSON value about 60, hence a quarter of maxJSONBytes.
	maxYAMLBytes = 8 << 20
	// maxYAMLMarks counts the characters in a YAML document that can begin a node
	// (one of , [ { : - ?) before it is parsed. At most two nodes stand behind each, so the
	// tree has at most two million nodes, 500 MB. Lines of real manifests hold one or two and
	// have 25 bytes on average: 8 MiB of them stay below 700,000.
	maxYAMLMarks = 1_000_000
	// maxDepth of nesting. The deepest objects in use are CustomResourceDefinitions that embed
	// a pod template, about 60 levels; a depth of 200 keeps every recursion over an object
	// far from the stack's end.
	maxDepth = 200
	// maxNodes of a document after aliases and merge keys are expanded: maxJSONBytes of pods
	// hold about 1.3 million values.
	maxNodes = 2_000_000
	// maxAliased is how many of them may stem from aliases: a hundred uses of an anchor on a
	// whole pod template (about 400 values) are 40,000. A chain of anchors that hold nine
	// aliases of the one before passes it at the sixth link (9^6 = 531,441).
	maxAliased = 100_000
)

func (l *Limits) setDefaults() {
	if l.FileBytes == 0 {
		l.FileBytes = MaxFileBytes
	}
	if l.Documents == 0 {
		l.Documents = MaxDocuments
	}
	if l.Files == 0 {
		l.Files = MaxFiles
	}
}
