// Command cligate is the daemon and its command line. This package parses
// flags and calls; everything else is in internal.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"cligate/internal/chat"
	"cligate/internal/config"
)

// version is set by the linker.
var version = "dev"

func main() {
	if err := root().ExecuteContext(context.Background()); err != nil {
		if !quiet(err) {
			fmt.Fprintln(os.Stderr, "cligate: "+explain(err))
		}
		os.Exit(1)
	}
}

// explain is the sentence for the person at the terminal.
func explain(err error) string {
	var e *chat.Error
	if errors.As(err, &e) && e.Detail != "" {
		if e.Err != nil {
			return e.Detail + " (" + e.Err.Error() + ")"
		}
		return e.Detail
	}
	return err.Error()
}

// options are the flags of all commands.
type options struct{ file string }

func (o *options) load() (config.Config, error) { return config.Load(o.file) }

func root() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:           "cligate",
		Short:         "Talk to coding agents on your machine from Telegram, the web and the terminal",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	cmd.PersistentFlags().StringVarP(&o.file, "config", "c", os.Getenv("CLIGATE_CONFIG"), "configuration file")
	cmd.AddCommand(serve(o), chatCommand(o), configCommand(o), doctor(o), pair(o), status(o), login(o), health(o), versionCommand(), demoAgent())
	return cmd
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "cligate "+version)
			return err
		},
	}
}
