package main

import (
	"errors"

	"github.com/spf13/cobra"

	"cligate/internal/app"
)

func serve(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Run the daemon", Args: cobra.NoArgs,
		Long: "Run the daemon. Without any configuration it serves the web chat on loopback with the first\n" +
			"coding agent it finds, and prints a one-time address to log in.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := o.load()
			if err != nil {
				return err
			}
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			log := app.NewLog(cmd.ErrOrStderr(), cfg)
			for _, w := range cfg.Warnings {
				log.WarnContext(ctx, "configuration", "remark", w)
			}
			a, err := app.Open(ctx, cfg, version, log)
			switch {
			case ctx.Err() != nil && errors.Is(err, ctx.Err()):
				return nil // told to end before it began
			case err != nil:
				return err
			}
			if err := a.Greet(ctx, cmd.OutOrStdout()); err != nil {
				log.ErrorContext(ctx, "greeting", "err", err)
			}
			return a.Run(ctx)
		},
	}
}
