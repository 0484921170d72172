package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// How long the end may take after turns have ended.
const (
	flushLimit   = 10 * time.Second
	adapterRetry = 30 * time.Second
)

// Run works until ctx ends and then ends everything in order: nothing more is
// received, running turns may end, what they said is sent, agents are closed,
// the ledger is closed. It may be called once.
func (a *App) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, a.close()) }()
	// Each group ends by its own context, in the order of the shutdown.
	base := context.WithoutCancel(ctx)
	sending, stopSending := context.WithCancel(base)
	defer stopSending()
	routing, stopRouting := context.WithCancel(base)
	defer stopRouting()
	taking, stopTaking := context.WithCancel(ctx)
	defer stopTaking()

	if err := a.core.turns.Recover(ctx); err != nil {
		return fmt.Errorf("settle the turns of the last life: %w", err)
	}
	var outs, ins, mids sync.WaitGroup
	outs.Go(func() { _ = a.core.voice.Run(sending) }) // nil always
	failed := make(chan error, 2)
	mids.Go(func() {
		if err := a.core.router.Run(routing); err != nil && routing.Err() == nil {
			failed <- fmt.Errorf("router: %w", err)
		}
	})
	for _, b := range a.bots {
		ins.Go(func() { a.receive(taking, b) })
		ins.Go(func() { a.inviteOwner(taking, b) })
	}
	ins.Go(func() {
		if err := a.web.Run(taking); err != nil && taking.Err() == nil {
			failed <- fmt.Errorf("web: %w", err)
		}
	})
	ins.Go(func() { a.agents.probeAll(taking) })
	select {
	case <-ctx.Done():
	case err = <-failed:
		a.log.ErrorContext(ctx, "a part of the daemon broke; shutting down", "err", err)
	}

	a.log.InfoContext(base, "shutting down", "limit", a.cfg.DrainLimit)
	stopTaking()
	ins.Wait()
	stopRouting()
	mids.Wait()
	a.core.drain(a.cfg.DrainLimit)
	flush, cancel := context.WithTimeout(base, flushLimit)
	a.core.voice.Flush(flush)
	cancel()
	a.owner.wait()
	stopSending()
	outs.Wait()
	return err
}

// drain lets turns end, then ends them, then the agents. The order matters: a
// turn that is told to end must be able to write its end until the lanes are
// empty.
func (c *core) drain(limit time.Duration) {
	c.router.Lanes().Drain(limit)
	c.turns.Close()
	c.sessions.Close()
}

// receive runs one account. One that cannot work until the operator changes
// something is told and tried again rarely; the others go on.
func (a *App) receive(ctx context.Context, b bot) {
	for ctx.Err() == nil {
		err := b.adapter.Run(ctx, a.core.gate)
		if err == nil || ctx.Err() != nil {
			return
		}
		a.log.ErrorContext(ctx, "an account cannot receive", "platform", b.kind, "account", b.account, "err", err)
		detail := chat.DetailOf(err)
		if detail != "" {
			a.owner.trouble(b.account, detail)
		}
		t := time.NewTimer(adapterRetry)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		if chat.CodeOf(err) == chat.Denied {
			// A refused token stays refused until the configuration changes.
			<-ctx.Done()
		}
	}
}

// close releases what Open took, in the reverse order. It may be called twice.
func (a *App) close() error {
	var errs []error
	if a.web != nil {
		errs = append(errs, a.web.Close())
	}
	if a.core.sessions != nil {
		a.core.sessions.Close()
	}
	if a.starter != nil {
		errs = append(errs, a.starter.Close())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	return errors.Join(errs...)
}

// Greet prints what a person at the terminal needs to begin: the web chat's
// one-time address, the agent, and how to get in from elsewhere.
func (a *App) Greet(ctx context.Context, w io.Writer) error {
	title := a.agent
	for _, e := range a.agents.entries {
		if e.name == a.agent {
			title = e.title
		}
	}
	fmt.Fprintf(w, "CliGate %s · agent: %s · workspace: %s\n", a.version, title, a.cfg.Workspace)
	for _, row := range a.agents.List() {
		if !row.Ready && row.Hint != "" {
			fmt.Fprintf(w, "%s is installed, but cannot be used yet. %s Then choose it with /agent %s.\n", row.Title, row.Hint, row.Name)
		}
	}
	if a.web.Addr() != "" {
		l, err := a.web.NewLink(ctx)
		if err != nil {
			return fmt.Errorf("make the web chat's address: %w", err)
		}
		fmt.Fprintf(w, "Web chat (this link logs one browser in, once, until %s):\n  %s\n", l.Expires.Local().Format("15:04"), l.URL)
	}
	a.greeting = w
	return nil
}

// nameLook is how often the bot's name is looked for while it is not known.
const nameLook = 500 * time.Millisecond

// inviteOwner prints a pairing link for a bot that has no owner, as soon as the
// bot's name is known. Whoever opens it first, within its life, is the owner.
func (a *App) inviteOwner(ctx context.Context, b bot) {
	if b.kind == WebAccount || len(b.owners) > 0 || a.greeting == nil {
		return
	}
	gs, err := a.db.People().Grants(ctx)
	if err != nil || slices.ContainsFunc(gs, func(g chat.Grant) bool { return g.Account == b.account && g.Role == chat.RoleOwner }) {
		return
	}
	tick := time.NewTicker(nameLook)
	defer tick.Stop()
	for b.link("x") == "" {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	p := &pairing{people: a.db.People(), bots: a.bots}
	inv, err := p.Invite(ctx, api.InviteAsk{Account: b.account, Role: chat.RoleOwner}, "start")
	if err != nil {
		a.log.ErrorContext(ctx, "no pairing link", "account", b.account, "err", err)
		return
	}
	fmt.Fprintf(a.greeting, "%s has no owner yet. Open this link in Telegram to become it (once, until %s):\n  %s\n",
		b.account, inv.Expires.Local().Format("15:04"), b.link(inv.Code))
}
