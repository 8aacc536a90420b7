package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const rootLong = `Policygen answers what the Kubernetes API server would answer under
ValidatingAdmissionPolicies, with the server's own code and without a cluster.

It works on its rule set, rendered for a profile, or with -f on anyone's policies.

Exit status: 0 if all holds, 1 if a check found something (a denied request, a failed case),
2 if it could not do its work (usage, unreadable input, an undecided request).`

const rootExample = `  policygen check                                  prove the rule set
  policygen lint -f policies/                      can a request make an expression fail?
  policygen render --out out/                      write its manifests
  policygen eval -f policies/ pod.yaml             would this pod be admitted?
  kubectl get pods -A -o json | policygen eval -f policies/ -`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "policygen",
		Short:         "Test and render Kubernetes admission policies",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(cmd.ErrOrStderr())
			return errors.Join(cmd.Help(), exitUnable)
		},
		SuggestionsMinimumDistance: 2,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return withHint(err, "%s --help lists the flags", cmd.CommandPath())
	})
	root.AddCommand(newEval(), newTest(), newCheck(), newLint(), newRender(), newExplain(), newNew(), newVersion(), newCompletion())
	return root
}

func unknownCommand(cmd *cobra.Command, name string) error {
	err := fmt.Errorf("there is no command %q", name)
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		return withHint(err, "did you mean %s?", strings.Join(near, " or "))
	}
	return withHint(err, "policygen --help lists the commands")
}

// arguments returns an Args function that demands between least and most arguments.
func arguments(least, most int, hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return withHint(fmt.Errorf("%s: an argument is missing", cmd.CommandPath()), "%s", hint)
		case len(args) > most:
			return withHint(fmt.Errorf("%s: one argument too many: %q", cmd.CommandPath(), args[most]), "%s", hint)
		}
		return nil
	}
}

// format is the flag -o.
type format string

const (
	asText  format = "text"
	asJSON  format = "json"
	asJUnit format = "junit"
)

// addFormat adds the flag -o with the formats that a command has.
func addFormat(cmd *cobra.Command, f *format, formats ...format) {
	addChoice(cmd, f, "output", "o", "FORMAT", "format of the result: "+strings.Join(wordsOf(formats), ", "), formats...)
}

// addChoice adds a flag that takes one of some words; the first is the default.
func addChoice[T ~string](cmd *cobra.Command, value *T, name, shorthand, kind, usage string, words ...T) {
	*value = words[0]
	cmd.Flags().VarP(&choice[T]{value, kind, words}, name, shorthand, usage)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(wordsOf(words), cobra.ShellCompDirectiveNoFileComp))
}

type choice[T ~string] struct {
	value *T
	kind  string
	words []T
}

func (c *choice[T]) String() string { return string(*c.value) }
func (c *choice[T]) Type() string   { return c.kind }

func (c *choice[T]) Set(s string) error {
	if !slices.Contains(c.words, T(s)) {
		return fmt.Errorf("expected %s", strings.Join(wordsOf(c.words), ", "))
	}
	*c.value = T(s)
	return nil
}

func wordsOf[T ~string](words []T) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return all
}
