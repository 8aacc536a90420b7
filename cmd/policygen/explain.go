package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hangar.io/holdshort/policies"
)

func newExplain() *cobra.Command {
	var f format
	var profileName string
	cmd := &cobra.Command{
		Use:   "explain NAME",
		Short: "Print a policy's documentation",
		Long: `Explain prints what a policy of the rule set demands, of which requests, and why, with the
values that a profile gives it.`,
		Example:           "  policygen explain breakglass-rolebinding\n  policygen explain breakglass-rolebinding --profile flight",
		Args:              arguments(1, 1, "name one of the policies; policygen check lists them"),
		ValidArgsFunction: completePolicies,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := profiles(profileName)
			if err != nil {
				return err
			}
			e, err := policies.Explain(args[0], chosen...)
			var unknown *policies.UnknownError
			if errors.As(err, &unknown) {
				return withHint(fmt.Errorf("there is no policy %q", unknown.Name), "expected one of %s", strings.Join(policies.Names(), ", "))
			}
			if err != nil {
				return err
			}
			p := newPrinter(cmd.OutOrStdout())
			if f == asJSON {
				return writeJSON(p, e)
			}
			p.printf("%s", e)
			return p.flush()
		},
	}
	addProfile(cmd, &profileName)
	addFormat(cmd, &f, asText, asJSON)
	return cmd
}

func completePolicies(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return policies.Names(), cobra.ShellCompDirectiveNoFileComp
}
