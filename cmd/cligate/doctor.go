package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cligate/internal/app"
	"cligate/internal/chat"
	"cligate/internal/web/api"
	"cligate/internal/web/client"
)

func doctor(o *options) *cobra.Command {
	live := false
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check configuration, permissions, agents, database and platforms", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			cfg, err := o.load()
			if err != nil {
				return err
			}
			checks := app.CheckMachine(ctx, cfg)
			c, err := client.Dial(ctx, app.SocketPath(cfg.DataDir), language(cfg))
			switch {
			case err == nil:
				defer c.Close()
				r, err := c.Doctor(ctx)
				if err != nil {
					return err
				}
				checks = append(checks, api.Check{Name: "daemon", OK: true, Detail: "running"})
				checks = append(checks, r.Checks...)
			case chat.CodeOf(err) == chat.Unavailable:
				checks = append(checks, api.Check{Name: "daemon", OK: true, Detail: "not running"})
				checks = append(checks, app.CheckOffline(ctx, cfg)...)
			default:
				return err
			}
			if live {
				checks = append(checks, app.CheckLive(ctx, cfg)...)
			}
			return printChecks(ctx, out, checks)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "also have every installed agent answer one short question (costs a few tokens each)")
	return cmd
}

func printChecks(_ context.Context, out io.Writer, checks []api.Check) error {
	bad := 0
	for _, c := range checks {
		mark := "ok  "
		if !c.OK {
			mark = "BAD "
			bad++
		}
		fmt.Fprintf(out, "%s %s: %s\n", mark, c.Name, c.Detail)
	}
	if bad > 0 {
		return errors.New("doctor: something needs attention (see BAD above)")
	}
	return nil
}
