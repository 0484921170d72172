package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cligate/internal/worker/demo"
)

// demoAgent is started by the daemon, not by people.
func demoAgent() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "demo-agent", Hidden: true, Args: cobra.NoArgs,
		Short: "The built-in demo agent (speaks ACP on stdio)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if state == "" {
				dir, err := os.UserConfigDir()
				if err != nil {
					dir = os.TempDir()
				}
				state = filepath.Join(dir, "cligate", "demo")
			}
			return demo.Main(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), state)
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "where sessions are kept")
	return cmd
}
