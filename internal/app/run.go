package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

const (
	flushLimit   = 10 * time.Second // for what turns have said, at the end
	adapterRetry = 30 * time.Second
	// probeDelay leaves the processor to the accounts: that they receive is
	// more urgent than which other agents could be used.
	probeDelay = 300 * time.Millisecond
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

	switch err := a.core.turns.Recover(ctx); {
	case ctx.Err() != nil:
		return nil // told to end before it began
	case err != nil:
		return fmt.Errorf("settle the turns of the last life: %w", err)
	}
	var outs, ins, mids sync.WaitGroup
	outs.Go(func() { _ = a.core.voice.Run(sending) }) // nil always
	failed := make(chan error, 2+len(a.hooks))
	mids.Go(func() {
		if err := a.core.router.Run(routing); err != nil && routing.Err() == nil {
			failed <- fmt.Errorf("router: %w", err)
		}
	})
	for _, b := range a.bots {
		ins.Go(func() { a.receive(taking, b) })
		ins.Go(func() { a.inviteOwner(taking, b) })
	}
	for _, h := range a.hooks {
		ins.Go(func() {
			if err := h.Run(taking); err != nil && taking.Err() == nil {
				failed <- err
			}
		})
	}
	ins.Go(func() {
		if err := a.web.Run(taking); err != nil && taking.Err() == nil {
			failed <- fmt.Errorf("web: %w", err)
		}
	})
	ins.Go(func() {
		if sleep(taking, probeDelay) {
			a.agents.probeAll(taking)
		}
	})
	ins.Go(func() { a.memory.run(taking) })
	ins.Go(func() { a.tidyFiles(taking) })
	ins.Go(func() { newLoginWatch(a.cfg.Agents, a.core.sessions.Recycle).run(taking) })
	ins.Go(func() { a.core.inbox.Run(taking) })
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
		detail := i18n.Detail(a.cfg.Language, err)
		if chat.CodeOf(err) == chat.Denied {
			// A refused token stays refused until the configuration changes. The
			// adapter has said so.
			<-ctx.Done()
			return
		}
		if detail != "" {
			a.owner.trouble(b.account, detail, false)
		}
		sleep(ctx, adapterRetry)
	}
}

// sleep waits for d; false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// close releases what Open took, in the reverse order. It may be called twice.
func (a *App) close() error {
	var errs []error
	if a.web != nil {
		errs = append(errs, a.web.Close())
	}
	for _, h := range a.hooks {
		errs = append(errs, h.Close())
	}
	if a.core.sessions != nil {
		a.core.sessions.Close()
	}
	if a.starter != nil {
		errs = append(errs, a.starter.Close())
	}
	if a.spool != nil {
		errs = append(errs, a.spool.Close())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	return errors.Join(errs...)
}
