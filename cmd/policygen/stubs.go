package main

import "github.com/spf13/cobra"

func newTest() *cobra.Command  { return &cobra.Command{Use: "test"} }
func newCheck() *cobra.Command { return &cobra.Command{Use: "check"} }
