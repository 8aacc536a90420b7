package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

var shells = []string{"bash", "fish", "powershell", "zsh"}

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script of a shell",
		Long:  "Completion prints a script that lets a shell complete commands and flags: " + strings.Join(shells, ", ") + ".",
		Example: `  source <(policygen completion bash)
  policygen completion zsh > "${fpath[1]}/_policygen"`,
		ValidArgs: shells,
		Args:      arguments(1, 1, "name the shell: "+strings.Join(shells, ", ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(w, true)
			case "fish":
				return root.GenFishCompletion(w, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(w)
			case "zsh":
				return root.GenZshCompletion(w)
			}
			return withHint(fmt.Errorf("there is no completion for %q", args[0]), "expected %s", strings.Join(shells, ", "))
		},
	}
}
