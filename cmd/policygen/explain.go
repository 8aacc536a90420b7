package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hangar.io/holdshort/policies"
)

func newExplain() *cobra.Command {
	var f format
	var profileName string
	cmd := &cobra.Command{
		Use:   "explain NAME",
		Short: "Print the documentation of a policy or a lint rule",
		Long: `Explain prints what a policy of the rule set demands, of which requests, and why, with the
values that a profile gives it; or what a rule of policygen lint finds, why that matters, and an
example with the fault and without it.`,
		Example:           "  policygen explain breakglass-rolebinding\n  policygen explain breakglass-rolebinding --profile flight\n  policygen explain total",
		Args:              arguments(1, 1, "name a policy, which policygen check lists, or a rule of policygen lint"),
		ValidArgsFunction: completeExplained,
		RunE: func(cmd *cobra.Command, args []string) error {
			if rule := ruleNamed(args[0]); rule != nil {
				return explainRule(cmd.Context(), newPrinter(cmd.OutOrStdout()), rule, f)
			}
			chosen, err := profiles(profileName)
			if err != nil {
				return err
			}
			e, err := policies.Explain(args[0], chosen...)
			var unknown *policies.UnknownError
			if errors.As(err, &unknown) {
				return unknownName(unknown.Name)
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

// unknownName names what the user may have meant, or everything there is.
func unknownName(name string) error {
	err := fmt.Errorf("there is no policy and no lint rule %q", name)
	if near := nearNames(name, append(policies.Names(), ruleNames()...)); len(near) > 0 {
		return withHint(err, "did you mean %s?", strings.Join(near, " or "))
	}
	return withHint(err, "expected a policy: %s; or a rule: %s", strings.Join(policies.Names(), ", "), strings.Join(ruleNames(), ", "))
}

// nearNames are the names that contain a name, or are as near to it as cobra takes a command to be.
func nearNames(name string, names []string) []string {
	parent := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, n := range names {
		parent.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	near := parent.SuggestionsFor(name)
	for _, n := range names {
		if name != "" && strings.Contains(n, name) {
			near = append(near, n)
		}
	}
	slices.Sort(near)
	return slices.Compact(near)
}

func completeExplained(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return append(policies.Names(), ruleNames()...), cobra.ShellCompDirectiveNoFileComp
}
