package proc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hangar.io/holdshort/e2e/kit/proc"
	"hangar.io/holdshort/e2e/kit/wait"
)

// orphanEnv makes the test binary start a process, tell its id and wait to be killed.
const orphanEnv = "PROC_TEST_ORPHAN_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(orphanEnv); dir != "" {
		p, err := proc.NewGroup(dir).Start(context.Background(), proc.Spec{Name: "sleep", Path: "sleep", Args: []string{"600"}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		select {}
	}
	os.Exit(m.Run())
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestCloseStopsEveryProcess(t *testing.T) {
	g := proc.NewGroup(t.TempDir())
	var pids []int
	for _, name := range []string{"a", "b"} {
		p, err := g.Start(t.Context(), proc.Spec{Name: name, Path: "sleep", Args: []string{"600"}})
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, p.PID())
	}
	g.Close()
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
}

func TestAProcessThatEndsBeforeItIsReadyIsReportedWithItsLog(t *testing.T) {
	g := proc.NewGroup(t.TempDir())
	defer g.Close()
	_, err := g.Start(t.Context(), proc.Spec{
		Name: "broken", Path: "sh", Args: []string{"-c", "echo flag not known; exit 3"},
		Ready: func(context.Context) error { return errors.New("not listening") },
	})
	if err == nil || !strings.Contains(err.Error(), "flag not known") || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("got %v", err)
	}
}

func TestAProcessDiesWithAParentThatIsKilled(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphanEnv+"="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatal("the child never ran")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	err = wait.Until(t.Context(), 10*time.Second, "the child's death", func(context.Context) error {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(stat), ") Z ") {
			return errors.New("alive")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFreePortsDiffer(t *testing.T) {
	ports, err := proc.FreePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range ports {
		if seen[p] {
			t.Fatalf("port %d twice", p)
		}
		seen[p] = true
	}
}
