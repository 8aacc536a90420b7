package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"hangar.io/holdshort/cel/schema"
)

func newVersion() *cobra.Command {
	var f format
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the Kubernetes version whose evaluator is inside",
		Long:    "Version prints the program's version, that of the Kubernetes libraries which evaluate, and the\nKubernetes versions whose resources are known.",
		Example: "  policygen version\n  policygen version -o json",
		Args:    arguments(0, 0, "version takes no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, v := newPrinter(cmd.OutOrStdout()), currentVersion()
			if f == asJSON {
				return writeJSON(p, v)
			}
			p.printf("policygen %s\nevaluator %s (k8s.io/apiserver)\nresources of Kubernetes %s\n", v.Version, v.Evaluator, v.Kubernetes)
			return p.flush()
		},
	}
	addFormat(cmd, &f, asText, asJSON)
	return cmd
}

type versionJSON struct {
	Version    string `json:"version"`
	Evaluator  string `json:"evaluator"`
	Kubernetes string `json:"kubernetes"`
}

// currentVersion is what the Go linker recorded.
func currentVersion() versionJSON {
	v := versionJSON{Version: "(devel)", Evaluator: "unknown",
		Kubernetes: fmt.Sprintf("1.%d to 1.%d", schema.Oldest, schema.Newest)}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == "k8s.io/apiserver" {
			v.Evaluator = m.Version
		}
	}
	return v
}
