package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Source is what Read reads.
type Source struct {
	// Paths are files of any name, folders, or "-" for Stdin. A folder is read with the folders
	// in it, in the order of names: its files with the extensions .yaml, .yml and .json, without
	// those whose name, or whose folder's name, begins with a dot. Links in a folder are
	// followed as long as they stay inside it.
	Paths []string
	Stdin io.Reader
	// Limits of what is accepted; the zero value is the documented defaults.
	Limits Limits
}

// Read yields the documents of a source in order. It reads as it goes and holds one document at
// a time. An error is an *Error, except for paths that cannot be opened. After an error the
// documents that follow are still yielded, where it can be told where they begin; who wants the
// first error only stops there.
func Read(src Source) iter.Seq2[Document, error] {
	src.Limits.setDefaults()
	return func(yield func(Document, error) bool) {
		files, usedStdin := 0, false
		for _, name := range src.Paths {
			if name == "-" {
				if usedStdin || src.Stdin == nil {
					if !yield(Document{}, errors.New("stdin can be read once: give - once only")) {
						return
					}
					continue
				}
				usedStdin = true
				if !readStream("stdin", src.Stdin, src.Limits, yield) {
					return
				}
				continue
			}
			for file, err := range expand(name) {
				if files++; err == nil && src.Limits.Files > 0 && files > src.Limits.Files {
					yield(Document{}, &Error{File: file.name, Msg: fmt.Sprintf("more than %d files", src.Limits.Files), Hint: "give fewer folders"})
					return
				}
				if err != nil {
					if !yield(Document{}, err) {
						return
					}
					continue
				}
				if !file.read(src.Limits, yield) {
					return
				}
			}
		}
	}
}

// Parse yields the documents of data; name stands for the file in them and in errors.
func Parse(name string, r io.Reader, limits Limits) iter.Seq2[Document, error] {
	limits.setDefaults()
	return func(yield func(Document, error) bool) { readStream(name, r, limits, yield) }
}

// readStream yields a stream's documents, and tells whether to go on with further streams.
func readStream(name string, r io.Reader, limits Limits, yield func(Document, error) bool) bool {
	s := newSplitter(name, r, limits)
	count := 0
	for {
		c, err := s.next()
		if errors.Is(err, io.EOF) {
			return true
		}
		var stop end
		if errors.As(err, &stop) {
			return yield(Document{}, stop.error)
		}
		if err != nil {
			if !yield(Document{}, err) {
				return false
			}
			continue
		}
		for doc, err := range c.documents(name) {
			if count++; limits.Documents > 0 && count > limits.Documents {
				return yield(Document{}, &Error{File: name, Line: c.line, Hint: "split the file",
					Msg: fmt.Sprintf("more than %d documents", limits.Documents)})
			}
			if !yield(doc, err) {
				return false
			}
		}
	}
}

// file is a file to read, in a folder's root or by itself.
type file struct {
	name     string
	open     func() (fs.File, error)
	inFolder bool
}

func (f file) read(limits Limits, yield func(Document, error) bool) bool {
	r, err := f.open()
	if err != nil {
		return yield(Document{}, err)
	}
	defer r.Close()
	return readStream(f.name, r, limits, func(doc Document, err error) bool {
		doc.inFolder = f.inFolder
		return yield(doc, err)
	})
}

// expand yields the file behind a path, or a folder's files.
func expand(name string) iter.Seq2[file, error] {
	return func(yield func(file, error) bool) {
		info, err := os.Stat(name)
		if err != nil {
			yield(file{name: name}, err)
			return
		}
		if !info.IsDir() {
			// Whoever names a path means it: a pipe or a device is read like a file.
			yield(file{name: name, open: func() (fs.File, error) { return os.Open(name) }}, nil)
			return
		}
		root, err := os.OpenRoot(name)
		if err != nil {
			yield(file{name: name}, err)
			return
		}
		defer root.Close()
		err = fs.WalkDir(root.FS(), ".", func(at string, entry fs.DirEntry, err error) error {
			full := filepath.Join(name, filepath.FromSlash(at))
			switch {
			case err != nil:
			case at != "." && strings.HasPrefix(entry.Name(), "."):
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			case entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(at)):
				return nil
			default:
				err = regular(root, at, full)
			}
			open := func() (fs.File, error) { return root.Open(filepath.FromSlash(at)) }
			if !yield(file{name: full, open: open, inFolder: true}, err) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(file{name: name}, err)
		}
	}
}

// regular refuses what a folder may hold besides files: pipes, devices, links that lead out of it.
func regular(root *os.Root, at, full string) error {
	info, err := root.Stat(filepath.FromSlash(at))
	if err != nil {
		return &Error{File: full, Msg: "cannot be read: " + err.Error(), Hint: "a link must stay inside the folder", Err: err}
	}
	if !info.Mode().IsRegular() {
		return &Error{File: full, Msg: "expected a file, found something else of this name"}
	}
	return nil
}
