package main

import "github.com/spf13/cobra"

func newCheck() *cobra.Command { return &cobra.Command{Use: "check"} }
