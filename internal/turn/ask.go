package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/i18n"
)

// Ask implements worker.Host. The request is stored and shown exactly as it
// is; the agent is answered only from the stored row. Whatever goes wrong on
// the way is an error, which means deny.
func (n *run) Ask(ctx context.Context, q chat.Question) (chat.Answer, error) {
	s, err := n.asking()
	if err != nil {
		return chat.Answer{}, err
	}
	defer n.asked()
	q = complete(q, n.lang)
	shown := question{q: q, digest: digest(q), agent: s.Agent, lang: n.lang}
	outs := n.voice.Compose(n.turn.Place, 0, "ask", chat.OutAsk, shown.replies()...)
	a, err := n.books.Asks.Ask(context.WithoutCancel(ctx), chat.Ask{
		Turn: n.turn.ID, Session: s.ID, Place: n.turn.Place, Asker: n.turn.By,
		Question: q, Digest: shown.digest, State: chat.AskOpen, Expires: time.Now().Add(n.cfg.AskTimeout),
	}, func(id int64) []chat.Out { return addressed(outs, id) })
	if err != nil {
		return chat.Answer{}, fmt.Errorf("store ask of turn %d: %w", n.turn.ID, err)
	}
	if a.State == chat.AskOpen {
		fault.Hit(fault.AskStored)
		n.voice.Wake(n.turn.Place)
		a = n.await(ctx, a)
		n.spawn(func() { n.relabel(context.WithoutCancel(n.ctx), a, s.Agent, n.lang) })
		n.resume()
		if a.State == chat.AskAnswered {
			fault.Hit(fault.ClickStored)
		}
	}
	return n.answer(ctx, a)
}

// addressed gives composed messages the id of their ask, which is known only
// inside the transaction that stores both.
func addressed(outs []chat.Out, id int64) []chat.Out {
	mine := make([]chat.Out, len(outs))
	name := strconv.FormatInt(id, 10)
	for i, o := range outs {
		o.Key = "ask/" + name + strings.TrimPrefix(o.Key, "ask")
		rows := make([][]chat.Button, len(o.Part.Buttons))
		for j, row := range o.Part.Buttons {
			rows[j] = slices.Clone(row)
			for k := range row {
				rows[j][k].Data = "ask:" + name + strings.TrimPrefix(row[k].Data, "ask:0")
			}
		}
		o.Part.Buttons = rows
		mine[i] = o
	}
	return mine
}

// asking opens the time in which the turn waits for a person, and returns the
// session that it runs in.
func (n *run) asking() (chat.Session, error) {
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	if n.seen.closed {
		return chat.Session{}, chat.E(chat.Conflict, "the turn is over", nil)
	}
	n.confirmed()
	n.seen.acted = true
	n.seen.asks++
	n.clerk.hold()
	n.live.Waiting(true)
	return n.session, nil
}

func (n *run) asked() {
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	n.seen.asks--
	n.clerk.release()
	if n.seen.asks == 0 && !n.seen.closed {
		n.live.Waiting(false)
	}
}

// resume has the turn's state say that it waits no more.
func (n *run) resume() {
	if n.ctx.Err() == nil {
		n.clerk.do(func(ctx context.Context) error { return n.books.Asks.Resume(ctx, n.turn.ID) })
	}
}

// await waits until the ask is closed, by whatever comes first: a person, the
// clock, the agent, the end of the turn. The row says which it was.
func (n *run) await(ctx context.Context, a chat.Ask) chat.Ask {
	decided, leave := n.board.await(a.ID)
	defer leave()
	// A decision that was committed before anybody waited is only in the row.
	if now, err := n.books.Asks.AskByID(context.WithoutCancel(ctx), a.ID); err == nil && now.State != chat.AskOpen {
		return now
	}
	clock := time.NewTimer(min(time.Until(a.Expires), n.cfg.AskTimeout))
	defer clock.Stop()
	select {
	case now := <-decided:
		return now
	case <-clock.C:
		return n.close(ctx, a, chat.AskExpired)
	case <-ctx.Done():
	case <-n.ctx.Done():
	}
	now := n.close(ctx, a, chat.AskVoid)
	if now.State == chat.AskAnswered {
		now.State = chat.AskVoid // decided, but too late for the agent to hear of it
	}
	return now
}

// close closes an open ask. When somebody was faster, the row says how.
func (n *run) close(ctx context.Context, a chat.Ask, s chat.AskState) chat.Ask {
	now, err := n.books.Asks.CloseAsk(context.WithoutCancel(ctx), a.ID, s)
	switch chat.CodeOf(err) {
	case chat.CodeNone, chat.Conflict:
		return now
	default:
		// The row stays open until the turn ends; nobody is waiting for it.
		n.cfg.Log.WarnContext(ctx, "ask not closed", "turn", n.turn.ID, "ask", a.ID, "err", err)
		a.State = s
		return a
	}
}

// answer is what the agent is told.
func (n *run) answer(ctx context.Context, a chat.Ask) (chat.Answer, error) {
	switch a.State {
	case chat.AskAnswered:
		n.seen.mu.Lock()
		n.seen.told = true
		n.seen.mu.Unlock()
		return a.Answer, nil
	case chat.AskExpired:
		_ = n.say(ctx, fmt.Sprintf("expired/%d", a.ID), chat.Reply{
			Kind:     chat.ReplyNotice,
			Markdown: i18n.T(n.lang, "turn.expired", "time", span(n.cfg.AskTimeout)),
		})
		return chat.Answer{}, chat.E(chat.Expired, "nobody answered", nil)
	case chat.AskOpen, chat.AskVoid:
	}
	return chat.Answer{}, chat.E(chat.Conflict, "the question is closed", errors.Join(context.Cause(ctx), context.Cause(n.ctx)))
}

// relabel edits the message that carries the buttons of a closed ask: it says
// how the ask ended and offers nothing any more. The message may still be on
// its way when that happens, so it is looked for a few times.
func (r *Runner) relabel(ctx context.Context, a chat.Ask, agent, lang string) {
	for try := range 12 {
		outs, err := r.relabelled(ctx, a, agent, lang)
		if err == nil && len(outs) > 0 {
			if err = r.books.Outbox.Enqueue(ctx, outs); err == nil {
				r.voice.Wake(a.Place)
				return
			}
		}
		if err != nil {
			r.cfg.Log.WarnContext(ctx, "message of an ask not changed yet", "ask", a.ID, "err", err)
		}
		if r.pause(ctx, try) != nil {
			return
		}
	}
}

// relabelled makes the edit, or nothing while the message is not there.
func (r *Runner) relabelled(ctx context.Context, a chat.Ask, agent, lang string) ([]chat.Out, error) {
	refs, err := r.books.Recovery.AskMessages(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	shown := question{id: a.ID, q: a.Question, digest: a.Digest, agent: agent, lang: lang}
	// All of them have to be there: the buttons are on the last.
	if all := r.voice.Compose(a.Place, 0, "ask", chat.OutAsk, shown.replies()...); len(refs) == 0 || len(refs) < len(all) {
		return nil, nil
	}
	outs := r.voice.Compose(a.Place, 0, fmt.Sprintf("asked/%d", a.ID), chat.OutNotice, shown.settled(outcome(a, lang)))
	if len(outs) == 0 {
		return nil, nil
	}
	last := outs[len(outs)-1]
	last.Op, last.Target, last.Ask = chat.OpEdit, refs[len(refs)-1], a.ID
	return []chat.Out{last}, nil
}
