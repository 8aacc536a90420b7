package scratch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestTheFoldersOfDeadProcessesAreRemovedAndNoOthers(t *testing.T) {
	parent := t.TempDir()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(parent, prefix+strconv.Itoa(dead.Process.Pid)+"-1")
	kept := []string{filepath.Join(parent, prefix+strconv.Itoa(os.Getpid())+"-1"), filepath.Join(parent, prefix+"x"), filepath.Join(parent, "other")}
	for _, dir := range append(kept, gone) {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweep(parent)
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", gone, err)
	}
	for _, dir := range kept {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}

func TestTheFolderIsRemovedAtTheEnd(t *testing.T) {
	var dir string
	t.Run("inner", func(t *testing.T) { dir = Dir(t) })
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}
