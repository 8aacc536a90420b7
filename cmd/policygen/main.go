// Policygen tells what the API server would answer under admission policies, proves the rule set
// by its fixtures, and renders it. Each subcommand has a file; testdata/*.txtar specifies them.
package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// relaxGC trades memory for time: the program holds little and makes much garbage, and is gone soon.
// Above the limit it collects as usual. GOGC and GOMEMLIMIT in the environment win.
func relaxGC() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(1 << 30)
	}
}

// run is the whole program. It returns the exit status: 0 if all holds, 1 if a check found
// something, 2 if the program could not do its work.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	relaxGC()
	// What the Kubernetes libraries log is theirs; verdicts say everything that matters here.
	klog.SetLogger(logr.Discard())

	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	report(newPrinter(stderr), err)
	return status(err)
}
