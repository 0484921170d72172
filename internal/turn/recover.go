package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// Recover settles what the last process of the daemon left behind; it runs at
// boot, before any lane. A turn that the agent never saw goes back to the
// queue in silence. One that it may have seen is interrupted, and the user is
// told and asked; the session is kept. Where other words were stored that were
// meant in its place, and that the agent was not given yet, they run next, and
// it is stopped. Recovering twice changes nothing.
func (r *Runner) Recover(ctx context.Context) error {
	return recovery{r}.run(ctx)
}

// recovery is one look at what was left behind.
type recovery struct{ *Runner }

func (r recovery) run(ctx context.Context) error {
	left, err := r.books.Recovery.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("find unfinished turns: %w", err)
	}
	if err := r.reap(ctx, left); err != nil {
		return err
	}
	var errs []error
	for _, u := range left {
		if err := r.recovered(ctx, u); err != nil {
			errs = append(errs, fmt.Errorf("recover turn %d: %w", u.Turn.ID, err))
		}
	}
	return errors.Join(append(errs, r.overdue(ctx), r.unlabelled(ctx, left))...)
}

// reap kills what still runs: a session must not get a second process.
func (r recovery) reap(ctx context.Context, left []chat.Unfinished) error {
	if r.cfg.Reap == nil {
		return nil
	}
	var runners []string
	for _, u := range left {
		if u.Attempt.Runner != "" {
			runners = append(runners, u.Attempt.Runner)
		}
	}
	if err := r.cfg.Reap(ctx, runners); err != nil {
		return fmt.Errorf("end what is left of earlier workers: %w", err)
	}
	return nil
}

func (r recovery) recovered(ctx context.Context, u chat.Unfinished) error {
	if !u.Attempt.State.Seen() && u.Instead.ID == 0 {
		err := r.books.Recovery.Requeue(ctx, u.Turn.ID)
		if err == nil {
			r.cfg.Log.InfoContext(ctx, "turn requeued", "turn", u.Turn.ID, "session", u.Turn.Session)
		}
		if chat.CodeOf(err) != chat.Conflict {
			return err
		}
	}
	s, err := r.books.Threads.SessionByID(ctx, u.Turn.Session)
	if err != nil {
		return err
	}
	c, err := r.books.Threads.ConversationByID(ctx, u.Turn.Conversation)
	if err != nil {
		return err
	}
	w := r.words(u.Turn, s.Agent, language(c, u.Turn.By))
	e := ending{state: chat.TurnInterrupted, reason: chat.DaemonDied}
	text := w.sentence(e) + "\n\n" + i18n.T(w.lang, "turn.partial_unknown")
	if u.Instead.ID != 0 {
		e.state = chat.TurnStopped
		text = i18n.T(w.lang, "turn.replaced", "text", chat.Escape(line(u.Instead.Input.Text(), titleLimit)), "n", u.Turn.ID)
	}
	notice := w.notice(text+r.left(s, u.Turn.ID, w.lang), w.offers(e)...)
	notice.ReplyTo = u.Turn.ReplyTo
	err = r.books.Ledger.Finish(ctx, chat.Ending{
		Turn: u.Turn.ID, Attempt: u.Attempt.ID, State: e.state, Reason: e.reason,
		Outs: r.voice.Compose(u.Turn.Place, u.Turn.ID, finalKey(u.Turn.ID), chat.OutFinal, notice),
	})
	if err != nil && chat.CodeOf(err) != chat.Conflict {
		return err
	}
	r.voice.Wake(u.Turn.Place)
	r.voice.Sign(u.Turn, chat.SignOf(e.state, e.reason), nil)
	for _, a := range u.Asks {
		a.State = chat.AskVoid // also a decided one: the agent is gone
		r.spawn(func() { closed{r.Runner, a, w.agent, w.lang}.relabel(context.WithoutCancel(ctx)) })
	}
	r.cfg.Log.InfoContext(ctx, "turn ended at boot", "turn", u.Turn.ID, "session", u.Turn.Session, "state", e.state, "reason", e.reason)
	return nil
}

// overdue expires asks whose time ran out while nobody looked.
func (r recovery) overdue(ctx context.Context) error {
	late, err := r.books.Recovery.Expiring(ctx, time.Now())
	if err != nil {
		return fmt.Errorf("find expired asks: %w", err)
	}
	for _, a := range late {
		now, err := r.books.Asks.CloseAsk(ctx, a.ID, chat.AskExpired)
		if err != nil && chat.CodeOf(err) != chat.Conflict {
			return fmt.Errorf("expire ask %d: %w", a.ID, err)
		}
		if err := r.relabel(ctx, now); err != nil {
			return err
		}
	}
	return nil
}

// unlabelled takes the buttons off requests that ended in an earlier life,
// which did not come to it. Those of the turns that were just recovered are
// dealt with.
func (r recovery) unlabelled(ctx context.Context, done []chat.Unfinished) error {
	asks, err := r.books.Recovery.Offering(ctx)
	if err != nil {
		return fmt.Errorf("find asks that still offer their buttons: %w", err)
	}
	for _, a := range asks {
		if slices.ContainsFunc(done, func(u chat.Unfinished) bool { return u.Turn.ID == a.Turn }) {
			continue
		}
		if err := r.relabel(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// relabel edits the message of a closed ask, beside the caller.
func (r recovery) relabel(ctx context.Context, a chat.Ask) error {
	q, err := r.question(ctx, a)
	if err != nil {
		return err
	}
	r.spawn(func() { closed{r.Runner, a, q.agent, q.lang}.relabel(context.WithoutCancel(ctx)) })
	return nil
}
