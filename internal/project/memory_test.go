package project

import (
	"os"
	"syscall"
)

// peakMemory is the most memory that a process had, in bytes, 0 if the system does not tell.
func peakMemory(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10 // Linux counts in KiB
}
