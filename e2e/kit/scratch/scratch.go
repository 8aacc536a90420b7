// Package scratch gives tests a folder that does not outlive them: unlike testing.T.TempDir, what
// a killed test left behind is removed by the next one.
package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const prefix = "holdshort-e2e-"

// Dir returns an empty folder that is removed at the end of the test.
func Dir(t testing.TB) string {
	t.Helper()
	sweep(os.TempDir())
	dir, err := os.MkdirTemp("", prefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("scratch folder: %v", err)
		}
	})
	return dir
}

// sweep removes the folders of processes that are gone. What cannot be removed is somebody else's.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		number, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if ours && err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
}
