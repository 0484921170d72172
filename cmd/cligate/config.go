package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cligate/configs"
)

func configCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check, show and explain the configuration"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "check", Short: "Report every problem of the configuration", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := o.load()
				if err != nil {
					return err
				}
				for _, w := range cfg.Warnings {
					fmt.Fprintln(cmd.OutOrStdout(), "remark: "+w)
				}
				from := cfg.File
				if from == "" {
					from = "no file, environment and defaults"
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "the configuration is good ("+from+")")
				return err
			},
		},
		&cobra.Command{
			Use: "print", Short: "Print the effective configuration, without secrets", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := o.load()
				if err != nil {
					return err
				}
				text, err := cfg.Print()
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(cmd.OutOrStdout(), text)
				return err
			},
		},
		&cobra.Command{
			Use: "example", Short: "Print a commented example with every key", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := fmt.Fprint(cmd.OutOrStdout(), configs.Example)
				return err
			},
		},
	)
	return cmd
}
