package main

import (
	"errors"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"cligate/internal/web/client"
)

func chatCommand(o *options) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk to the agent in this terminal", Args: cobra.NoArgs,
		Long: "Talk to the agent in this terminal. It is one more chat of the running daemon: streams answers,\n" +
			"asks for approvals, takes /commands. With a pipe as input each line is a message.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := dial(cmd.Context(), o)
			if err != nil {
				return err
			}
			defer c.Close()
			opts := client.Options{Chat: name}
			if width, ok := terminal(os.Stdin, os.Stdout); ok {
				stop, done := interrupts()
				defer done()
				opts.TTY, opts.Width, opts.Stop = true, width, stop
			}
			return c.Chat(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), opts)
		},
	}
	cmd.Flags().StringVar(&name, "name", "terminal", "which chat")
	return cmd
}

// terminal reports whether a person sits at both ends, and how wide it is.
func terminal(in, out *os.File) (width int, ok bool) {
	for _, f := range []*os.File{in, out} {
		ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		if err != nil {
			return 0, false
		}
		width = int(ws.Col)
	}
	return width, true
}

// interrupts hands on each ctrl-c until done is called.
func interrupts() (stop <-chan struct{}, done func()) {
	sig := make(chan os.Signal, 1)
	out := make(chan struct{})
	quit := make(chan struct{})
	signal.Notify(sig, os.Interrupt)
	go func() { // ends with done
		for {
			select {
			case <-sig:
				select {
				case out <- struct{}{}:
				case <-quit:
					return
				}
			case <-quit:
				return
			}
		}
	}()
	return out, func() {
		signal.Stop(sig)
		close(quit)
	}
}

// quiet reports whether an error has been told already.
func quiet(err error) bool { return errors.Is(err, client.ErrUnanswered) }
