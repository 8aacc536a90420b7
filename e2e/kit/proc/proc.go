// Package proc starts the processes of a test and makes sure that none outlives it: they are
// stopped by Group.Close, and the kernel kills them when the test's process dies without it.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"hangar.io/holdshort/e2e/kit/wait"
)

const (
	// readyLimit is how long a process may take to become ready: an API server needs 5 s on
	// two quiet cores, and tests share them.
	readyLimit = 2 * time.Minute
	// stopLimit is how long a process may take to end after SIGTERM, before SIGKILL.
	stopLimit = 5 * time.Second
	// tailBytes of a log stand in the error about a process that did not become ready.
	tailBytes = 3000
)

// Spec is a process to start.
type Spec struct {
	Name string // of the log file, unique in a Group
	Path string
	Args []string
	Env  []string // appended to the environment of the test
	// Ready is polled until it returns nil; nil: ready at once.
	Ready func(context.Context) error
}

// Group is a set of processes that ends together. It is safe for concurrent use.
type Group struct {
	dir string

	mu    sync.Mutex // guards procs
	procs []*Process
}

// NewGroup returns an empty group that writes its log files to dir.
func NewGroup(dir string) *Group { return &Group{dir: dir} }

// Process is a started process.
type Process struct {
	Name string
	Log  string // the file that holds its stdout and stderr

	pid  int
	done chan struct{} // closed after the process has ended
	err  error         // of its end; valid once done is closed
}

// Start starts a process and waits until it is ready. On an error the process is stopped.
func (g *Group) Start(ctx context.Context, s Spec) (*Process, error) {
	p := &Process{Name: s.Name, Log: filepath.Join(g.dir, s.Name+".log"), done: make(chan struct{})}
	if err := p.spawn(s); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	g.mu.Lock()
	g.procs = append(g.procs, p)
	g.mu.Unlock()
	if s.Ready == nil {
		return p, nil
	}
	err := wait.Until(ctx, readyLimit, s.Name+" to become ready", func(ctx context.Context) error {
		select {
		case <-p.done:
			return wait.Stop(fmt.Errorf("process ended: %w", errors.Join(errors.New("it should run"), p.err)))
		default:
			return s.Ready(ctx)
		}
	})
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("%w\nend of its log:\n%s", err, p.tail())
	}
	return p, nil
}

// Close stops the processes, the last started first. It may be called again.
func (g *Group) Close() {
	g.mu.Lock()
	procs := g.procs
	g.procs = nil
	g.mu.Unlock()
	for i := len(procs) - 1; i >= 0; i-- {
		procs[i].Stop()
	}
}

// spawn starts the process on an operating system thread of its own that lives as long as the
// process does: PR_SET_PDEATHSIG fires when the *thread* that forked ends (prctl(2)).
func (p *Process) spawn(s Spec) error {
	log, err := os.Create(p.Log)
	if err != nil {
		return err
	}
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		defer log.Close()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	return <-started
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID is the process id.
func (p *Process) PID() int { return p.pid }

// Stop ends the process and what it started in its process group: SIGTERM, then SIGKILL. It
// returns when the process is gone.
func (p *Process) Stop() {
	select {
	case <-p.done:
		return
	default:
	}
	_ = syscall.Kill(-p.pid, syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopLimit):
		p.Kill()
	}
}

// Kill ends the process as a crash would: SIGKILL, and returns when it is gone.
func (p *Process) Kill() {
	select {
	case <-p.done:
		return
	default:
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		<-p.done
	}
}

// tail returns the end of the log.
func (p *Process) tail() string {
	f, err := os.Open(p.Log)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = f.Seek(-tailBytes, io.SeekEnd)
	}
	b, _ := io.ReadAll(f)
	return string(bytes.TrimSpace(b))
}
