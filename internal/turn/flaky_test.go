package turn_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker/fake"
)

// flaky is a ledger that cannot be written while down is set.
type flaky struct {
	turn.Ledger
	down *atomic.Bool
}

func (f flaky) err() error {
	if f.down.Load() {
		return chat.E(chat.Unavailable, "disk full", nil)
	}
	return nil
}

func (f flaky) Claim(ctx context.Context, id int64, s chat.AttemptState) (chat.Attempt, error) {
	if err := f.err(); err != nil {
		return chat.Attempt{}, err
	}
	return f.Ledger.Claim(ctx, id, s)
}

func (f flaky) Advance(ctx context.Context, id int64, s chat.AttemptState, runner string) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.Ledger.Advance(ctx, id, s, runner)
}

func (f flaky) Finish(ctx context.Context, e chat.Ending) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.Ledger.Finish(ctx, e)
}

func TestResultIsNotLostWhileTheLedgerCannotBeWritten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		var down atomic.Bool
		h.books.Ledger = flaky{h.books.Ledger, &down}
		h.crash()
		h.agent.Script(fake.Do(func(context.Context, *fake.Running) error { down.Store(true); return nil }), fake.Text("precious"))
		ctx, cancel := context.WithCancelCause(t.Context())
		tn, done := h.run(ctx, "hello")
		wait(time.Hour)
		cancel(stop(chat.Stopped)) // too late to change what it is
		select {
		case <-done:
			t.Fatal("the result was given up")
		default:
		}
		down.Store(false)
		<-done
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, h.deliver(), "precious")
	})
}

func TestPromptWaitsForItsIntentToBeDurable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		var down atomic.Bool
		h.books.Ledger = flaky{h.books.Ledger, &down}
		h.crash()
		down.Store(true)
		tn, done := h.run(t.Context(), "hello")
		wait(time.Hour)
		if n := len(h.agent.Prompts()); n != 0 {
			t.Fatal("the agent was prompted")
		}
		h.wantState(tn, chat.TurnQueued, "")
		down.Store(false)
		<-done
		h.wantState(tn, chat.TurnSucceeded, "")
	})
}

func TestDaemonEndsAlsoWhenTheLedgerCannotBeWritten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		var down atomic.Bool
		h.books.Ledger = flaky{h.books.Ledger, &down}
		h.crash()
		h.agent.Script(fake.Do(func(context.Context, *fake.Running) error { down.Store(true); return nil }), fake.Wait(nil))
		ctx, cancel := context.WithCancelCause(t.Context())
		tn, done := h.run(ctx, "hello")
		cancel(stop(chat.Shutdown))
		<-done
		down.Store(false)
		h.crash()
		if err := h.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.wantState(tn, chat.TurnInterrupted, chat.DaemonDied)
	})
}
