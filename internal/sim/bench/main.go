// Command bench measures what CliGate costs, beside a measuring rod: the least
// that a durable gateway can do (rod.go). Both are processes of their own, both
// drive the same scripted agent (agent/agent.c), both talk to the same fast
// fake of the Bot API, and they are measured in turns, A B A B, so that a noisy
// machine is noisy for both. It prints one Markdown table and writes nothing
// else; what it needs on disk is in a temporary directory.
//
//	go run ./internal/sim/bench [-quick] [-only lat,load,…]
//
// Everything stays on loopback and is bounded in number and time.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// experiment is a group of figures that are measured together.
type experiment struct {
	name string
	run  func(context.Context, *lab) ([]figure, error)
}

var experiments = []experiment{
	{"lat", latency},
	{"far", farAway},
	{"start", startUp},
	{"load", load},
	{"crowd", crowd},
	{"grow", growth},
	{"idle", idle},
	{"stream", streams},
	{"limits", limited},
	{"big", big},
	{"kill", kill},
	{"burst", burst},
}

// limit bounds a whole run.
const limit = 30 * time.Minute

func main() {
	if len(os.Args) == 2 && os.Args[1] == rodMode {
		fmt.Fprintln(os.Stderr, "rod:", rod())
		os.Exit(1)
	}
	quick := flag.Bool("quick", false, "fewer runs, at most two minutes; the figures are rough")
	only := flag.String("only", "", "comma-separated names: "+strings.Join(names(), ", "))
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := run(ctx, os.Stdout, *quick, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func names() []string {
	var all []string
	for _, e := range experiments {
		all = append(all, e.name)
	}
	return all
}

// run makes the experiments and prints each group of figures when it is done.
func run(ctx context.Context, w io.Writer, quick bool, only string) error {
	var wanted []string
	if only != "" {
		wanted = strings.Split(only, ",")
	}
	for _, n := range wanted {
		if !slices.Contains(names(), n) {
			return fmt.Errorf("no experiment is named %q; there are %s", n, strings.Join(names(), ", "))
		}
	}
	l, err := openLab(ctx, quick)
	if err != nil {
		return err
	}
	defer l.close()
	if err := heading(w); err != nil {
		return err
	}
	for _, e := range experiments {
		if len(wanted) > 0 && !slices.Contains(wanted, e.name) {
			continue
		}
		figures, err := e.run(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if err := rows(w, figures); err != nil {
			return err
		}
	}
	return nil
}
