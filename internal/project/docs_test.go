package project

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the output of the commands into the documents")

// documents whose commands are run.
var documents = []string{"README.md", "docs/eval.md", "docs/test.md", "docs/mutate.md", "docs/render.md", "docs/proof.md", "docs/fix.md", "CONTRIBUTING.md"}

// commandTimeout ends a command that hangs; the longest takes a second, on a busy machine a minute.
const commandTimeout = 4 * time.Minute

// Marks stand in a comment on the line before a block of a document.
const (
	// runMark: the commands of the block are run, and print what the block shows.
	runMark = "<!-- run -->"
	// skipMark begins a mark that says why the commands of the block are not run.
	skipMark = "<!-- not run: "
	// fileMark begins a mark that names the file which holds the block.
	fileMark = "<!-- file: "
)

func TestTheDocumentsShowWhatTheirCommandsPrint(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	watchSources(t, root)
	bin := buildPolicygen(t, root)
	for _, name := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(root, name)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := shell{root: root, bin: bin, out: t.TempDir()}
			result := s.rewrite(t, name, string(content))
			if *update && result != string(content) {
				if err := os.WriteFile(path, []byte(result), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// buildPolicygen builds the program that the commands call where `make run` has it, and returns the
// folder it is in.
func buildPolicygen(t testing.TB, root string) string {
	t.Helper()
	build := exec.Command("go", "build", "-o", "bin/policygen", "./cmd/policygen")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build policygen: %v\n%s", err, output)
	}
	return filepath.Join(root, "bin")
}

// watchSources looks at every file of the project, which tells the go command not to take the
// result of a test from its cache when one of them has changed.
func watchSources(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name := entry.Name(); path != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "out") {
				return fs.SkipDir
			}
			return nil
		}
		_, err = os.Stat(path)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a test may remove its own file meanwhile
		t.Fatal(err)
	}
}

// shell runs a document's commands at the root of the project.
type shell struct{ root, bin, out string }

// rewrite returns a document with what its commands really print, and reports differences.
func (s shell) rewrite(t *testing.T, name, document string) string {
	var result strings.Builder
	mark := ""
	lines := strings.SplitAfter(document, "\n")
	for i := 0; i < len(lines); i++ {
		language, fenced := strings.CutPrefix(lines[i], "```")
		if !fenced {
			if text := strings.TrimSpace(lines[i]); text != "" {
				mark = text
			}
			result.WriteString(lines[i])
			continue
		}
		end := i + 1 + slices.Index(lines[i+1:], "```\n")
		if end == i {
			t.Fatalf("%s:%d: the block has no end", name, i+1)
		}
		block := lines[i+1 : end]
		where := fmt.Sprintf("%s:%d", name, i+1)
		switch file, isFile := strings.CutPrefix(mark, fileMark); {
		case mark == runMark:
			block = s.runBlock(t, where, block)
		case isFile:
			s.compareFile(t, where, strings.TrimSuffix(file, " -->"), block)
		case strings.TrimSpace(language) == "console" && !strings.HasPrefix(mark, skipMark):
			t.Errorf("%s: commands need a mark before them: %s, or %s and why -->", where, runMark, skipMark)
		}
		result.WriteString(lines[i] + strings.Join(block, "") + lines[end])
		i, mark = end, ""
	}
	return result.String()
}

// runBlock runs the commands of a block, which are the lines that begin with "$ ", and returns the
// block with what they print. A command may say on its last line that it fails: # exit status 1.
func (s shell) runBlock(t *testing.T, where string, block []string) []string {
	var result []string
	for len(block) > 0 {
		command, isCommand := strings.CutPrefix(block[0], "$ ")
		if !isCommand {
			t.Errorf("%s: expected a command, found %q", where, block[0])
			return block
		}
		length := 1 + slices.IndexFunc(block[1:], func(line string) bool { return strings.HasPrefix(line, "$ ") })
		if length == 0 {
			length = len(block)
		}
		shown := strings.Join(block[1:length], "")
		printed := s.run(t, where, strings.TrimSpace(command))
		if !shows(shown, printed) {
			if *update {
				shown = printed
			} else {
				t.Errorf("%s: %s\nprints\n%s\nand is shown as\n%s", where, strings.TrimSpace(command), printed, shown)
			}
		}
		result = append(append(result, block[0]), shown)
		block = block[length:]
	}
	return result
}

func (s shell) run(t *testing.T, where, command string) string {
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-c", command)
	bash.Dir = s.root
	bash.Env = append(os.Environ(), "PATH="+s.bin+":"+os.Getenv("PATH"), "OUT="+s.out, "MAKEFLAGS=", "MAKELEVEL=0", "NO_COLOR=1")
	var output bytes.Buffer
	bash.Stdout, bash.Stderr = &output, &output
	err := bash.Run()
	want := 0
	if _, err := fmt.Sscanf(command[strings.LastIndex(command, "#")+1:], " exit status %d", &want); err != nil {
		want = 0
	}
	var exit *exec.ExitError
	switch {
	case err == nil && want == 0:
	case errors.As(err, &exit) && exit.ExitCode() == want && want != 0:
	default:
		t.Errorf("%s: %s: expected exit status %d, got %v\n%s", where, command, want, err, output.String())
	}
	text := output.String()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return strings.ReplaceAll(text, s.out, "out")
}

// shows reports whether a document shows what was printed. Three dots at the end of a line, or as a
// whole line, stand for anything up to what is shown after them.
func shows(shown, printed string) bool {
	parts := strings.Split(shown, "...\n")
	return match(parts, printed)
}

// match reports whether text is made of the parts in their order, with anything between them. The
// first part begins the text and the last one ends it.
func match(parts []string, text string) bool {
	if len(parts) == 1 {
		return parts[0] == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// compareFile holds a block that shows a file to what the file says.
func (s shell) compareFile(t *testing.T, where, file string, block []string) {
	content, err := os.ReadFile(filepath.Join(s.root, file))
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	if !shows(strings.Join(block, ""), string(content)) {
		t.Errorf("%s: the block is not what %s holds", where, file)
	}
}

func TestADocumentIsHeldToItsCommands(t *testing.T) {
	tests := []struct {
		name, shown, printed string
		want                 bool
	}{
		{"the same text", "a\nb\n", "a\nb\n", true},
		{"another text", "a\n", "b\n", false},
		{"nothing shown of some output", "", "a\n", false},
		{"dots at the end", "a\n...\n", "a\nb\nc\n", true},
		{"dots at the start", "...\nc\n", "a\nb\nc\n", true},
		{"dots between", "a\n...\nc\n", "a\nb\nc\n", true},
		{"dots do not skip a wrong line", "a\n...\nd\n", "a\nb\nc\n", false},
		{"dots twice, in order", "...\nb\n...\n", "a\nb\nc\n", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if have := shows(test.shown, test.printed); have != test.want {
				t.Errorf("shows(%q, %q) = %t", test.shown, test.printed, have)
			}
		})
	}
}
