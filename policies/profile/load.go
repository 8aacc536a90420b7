package profile

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

//go:embed ground.yaml flight.yaml
var builtinFiles embed.FS

// maxSize bounds a Profile file: the built-in ones have 3 KB, and a file that is a hundred times as
// long is no Profile.
const maxSize = 1 << 20

// Builtin are the example profiles that the program carries: ground and flight.
func Builtin() []Profile {
	all := builtin()
	return append([]Profile(nil), all...)
}

var builtin = sync.OnceValue(func() []Profile {
	all := make([]Profile, len(Tiers))
	for i, tier := range Tiers {
		file := string(tier) + ".yaml"
		data, err := builtinFiles.ReadFile(file)
		if err == nil {
			all[i], err = Parse(file, data)
		}
		if err != nil {
			panic("built-in profile: " + err.Error())
		}
	}
	return all
})

// Load returns the built-in profile of that name, or reads the file. What has neither a path
// separator nor an ending is a name.
func Load(nameOrFile string) (Profile, error) {
	for _, p := range builtin() {
		if p.Name == nameOrFile {
			return p, nil
		}
	}
	if !strings.ContainsAny(nameOrFile, `./\`) {
		return Profile{}, fmt.Errorf("no built-in profile %q: expected ground, flight or a file", nameOrFile)
	}
	f, err := os.Open(nameOrFile)
	if err != nil {
		return Profile{}, fmt.Errorf("read profile: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return Profile{}, fmt.Errorf("read profile: %w", err)
	}
	return Parse(nameOrFile, data)
}

// Parse reads a Profile. The error joins a *FieldError for each thing that is wrong; file is the
// name that they carry.
func Parse(file string, data []byte) (Profile, error) {
	p := &problems{file: file, lines: map[string]int{}}
	profile := Profile{Name: nameOf(file)}
	if parse(p, data, &profile); len(p.list) == 0 {
		profile.setDefaults()
		profile.check(p)
	}
	if err := p.err(); err != nil {
		return Profile{}, err
	}
	return profile, nil
}

// nameOf makes a name of a file's name that is safe in a path and in a comment.
func nameOf(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return unsafeInName.ReplaceAllString(name, "-")
}

var unsafeInName = regexp.MustCompile(`^\.+|[^A-Za-z0-9._-]`)

// Complete returns the Profile with its defaults filled in, or the error that joins all that is
// wrong with it. It is for Profiles made in code.
func (p Profile) Complete() (Profile, error) {
	found := &problems{}
	p.setDefaults()
	p.check(found)
	if err := found.err(); err != nil {
		return Profile{}, err
	}
	return p, nil
}

// Hash identifies what a Profile says: two files with the same hash render the same manifests,
// whatever their comments, order and left-out defaults.
func (p Profile) Hash() string {
	data, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("encode profile: %v", err)) // strings, numbers and lists always encode
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
