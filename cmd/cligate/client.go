package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"cligate/internal/app"
	"cligate/internal/chat"
	"cligate/internal/config"
	"cligate/internal/i18n"
	"cligate/internal/web/api"
	"cligate/internal/web/client"
)

// language is the operator's: of the configuration, else of the terminal.
func language(cfg config.Config) string {
	if cfg.Language != "" {
		return cfg.Language
	}
	return i18n.Pick(os.Getenv("LANG"))
}

// dial connects to the running daemon.
func dial(ctx context.Context, o *options) (*client.Client, error) {
	cfg, err := o.load()
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, app.SocketPath(cfg.DataDir), language(cfg))
}

// withClient runs f with a connection.
func withClient(o *options, f func(ctx context.Context, c *client.Client, out io.Writer) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		c, err := dial(cmd.Context(), o)
		if err != nil {
			return err
		}
		defer c.Close()
		return f(cmd.Context(), c, cmd.OutOrStdout())
	}
}

func status(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show how the running daemon is", Args: cobra.NoArgs,
		RunE: withClient(o, func(ctx context.Context, c *client.Client, out io.Writer) error {
			s, err := c.Status(ctx)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "cligate %s, up since %s, agent %s\n", s.Version, s.Started.Local().Format(time.DateTime), s.Agent)
			fmt.Fprintf(out, "%d workers, %d turns running, %d waiting, %d messages to send\n", s.Workers, s.Running, s.Queued, s.Unsent)
			for _, a := range s.Accounts {
				state := "connected"
				if !a.Connected {
					state = "NOT connected"
				}
				fmt.Fprintf(out, "%s (%s): %s. %s\n", a.Account, a.Platform, state, a.Detail)
			}
			return nil
		}),
	}
}

func health(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "health", Short: "Exit with 0 when the daemon takes messages (for health checks)", Args: cobra.NoArgs,
		RunE: withClient(o, func(ctx context.Context, c *client.Client, out io.Writer) error {
			ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
			defer cancel()
			if err := c.Healthy(ctx); err != nil {
				return err
			}
			_, err := fmt.Fprintln(out, "ok")
			return err
		}),
	}
}

func login(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "login", Short: "Print a new one-time address of the web chat", Args: cobra.NoArgs,
		RunE: withClient(o, func(ctx context.Context, c *client.Client, out io.Writer) error {
			l, err := c.Login(ctx)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(out, l.URL)
			return err
		}),
	}
}

func pair(o *options) *cobra.Command {
	cmd := &cobra.Command{Use: "pair", Short: "Let people in, see who is in, and put them out"}
	cmd.AddCommand(pairNew(o), pairList(o), pairApprove(o), pairRevoke(o))
	return cmd
}

func pairNew(o *options) *cobra.Command {
	var account, role string
	var owner bool
	cmd := &cobra.Command{
		Use: "new", Short: "Make a one-time pairing link (10 minutes, for the first who uses it)", Args: cobra.NoArgs,
		RunE: withClient(o, func(ctx context.Context, c *client.Client, out io.Writer) error {
			if owner {
				role = string(chat.RoleOwner)
			}
			inv, err := c.Invite(ctx, api.InviteAsk{Account: account, Role: chat.Role(role)})
			if err != nil {
				return err
			}
			for _, l := range inv.Links {
				fmt.Fprintln(out, l)
			}
			_, err = fmt.Fprintf(out, "or send the bot: /start %s   (as %s, until %s)\n", inv.Code, role, inv.Expires.Local().Format("15:04"))
			return err
		}),
	}
	cmd.Flags().StringVar(&account, "account", "", "only for this bot")
	cmd.Flags().StringVar(&role, "role", string(chat.RoleMember), "owner, operator, member or viewer")
	cmd.Flags().BoolVar(&owner, "owner", false, "short for --role owner")
	return cmd
}

func pairList(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Show who is in and who asks to be", Args: cobra.NoArgs,
		RunE: withClient(o, func(ctx context.Context, c *client.Client, out io.Writer) error {
			p, err := c.Pairs(ctx)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "WAITING\tACCOUNT\tCHAT\tPERSON\tNAME\tLAST")
			for _, s := range p.Strangers {
				fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", s.ID, s.Account, s.Chat, s.Person.ID, plain(s.Person.Name), s.LastAt.Local().Format(time.DateTime))
			}
			fmt.Fprintln(w, "IN\tACCOUNT\tCHAT\tPERSON\tROLE\tBY")
			for _, g := range p.Grants {
				where := g.Chat
				if where == "" {
					where = "(direct)"
				}
				fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", g.ID, g.Account, where, g.Person, g.Role, g.By)
			}
			return w.Flush()
		}),
	}
}

// plain keeps a stranger's name from steering the terminal, or from looking
// like another one.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, s)
}

func pairApprove(o *options) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use: "approve NUMBER", Short: "Let somebody from the list in", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := number(args[0])
			if err != nil {
				return err
			}
			return withClient(o, func(ctx context.Context, c *client.Client, _ io.Writer) error {
				return c.Approve(ctx, api.Approval{Stranger: id, Role: chat.Role(role)})
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&role, "role", string(chat.RoleMember), "owner, operator, member or viewer")
	return cmd
}

func pairRevoke(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NUMBER", Short: "Put somebody out", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := number(args[0])
			if err != nil {
				return err
			}
			return withClient(o, func(ctx context.Context, c *client.Client, _ io.Writer) error { return c.Revoke(ctx, id) })(cmd, args)
		},
	}
}

func number(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0, errors.New(s + " is not a number from `cligate pair list`")
	}
	return n, nil
}
