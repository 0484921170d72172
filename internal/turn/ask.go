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
func (h *host) Ask(ctx context.Context, q chat.Question) (chat.Answer, error) {
	s, err := h.asking()
	if err != nil {
		return chat.Answer{}, err
	}
	defer h.asked()
	n := h.run
	exact := digest(q) // as the agent asks it: what we offer and in which language does not count
	q = complete(q, n.cfg.Always)
	shown := question{q: q, digest: exact, agent: n.words.agent, lang: n.words.lang}
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
		a = vote{n, a}.await(ctx)
		n.spawn(func() { closed{n.Runner, a, n.words.agent, n.words.lang}.relabel(context.WithoutCancel(n.ctx)) })
		h.resume()
	}
	return h.answer(ctx, a)
}

// addressed gives composed messages the id of their ask, which is known only
// inside the transaction that stores both.
func addressed(outs []chat.Out, id int64) []chat.Out {
	mine := make([]chat.Out, len(outs))
	name := strconv.FormatInt(id, 10)
	for i, o := range outs {
		o.Key = "ask/" + name + strings.TrimPrefix(o.Key, "ask")
		call := func(bs []chat.Button) {
			for k := range bs {
				bs[k].Data = "ask:" + name + strings.TrimPrefix(bs[k].Data, "ask:0")
			}
		}
		rows := make([][]chat.Button, len(o.Part.Buttons))
		for j, row := range o.Part.Buttons {
			rows[j] = slices.Clone(row)
			call(rows[j])
		}
		o.Part.Buttons = rows
		if o.Part.Form = o.Part.Form.Clone(); o.Part.Form != nil {
			call(o.Part.Form.Send)
		}
		mine[i] = o
	}
	return mine
}

// asking opens the time in which the turn waits for a person, and returns the
// session that it runs in.
func (h *host) asking() (chat.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return chat.Session{}, chat.E(chat.Conflict, "the turn is over", nil)
	}
	h.confirmLocked()
	h.acted = true
	h.asks++
	h.run.clerk.hold()
	h.live.Waiting(true)
	return h.session, nil
}

func (h *host) asked() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asks--
	h.run.clerk.release()
	if h.asks == 0 && !h.closed {
		h.live.Waiting(false)
	}
}

// resume has the turn's state say that it waits no more.
func (h *host) resume() {
	n := h.run
	if n.ctx.Err() == nil {
		n.clerk.do(func(ctx context.Context) error { return n.books.Asks.Resume(ctx, n.turn.ID) })
	}
}

// answer is what the agent is told.
func (h *host) answer(ctx context.Context, a chat.Ask) (chat.Answer, error) {
	n := h.run
	switch a.State {
	case chat.AskAnswered:
		h.mu.Lock()
		h.told = true
		h.mu.Unlock()
		if a.Question.Kind == chat.AskPlan && a.Answer.Effect.Allows() {
			h.accept(ctx)
		}
		return forAgent(a), nil
	case chat.AskExpired:
		_ = n.say(fmt.Sprintf("expired/%d", a.ID),
			n.words.notice(i18n.T(n.words.lang, "turn.expired", "time", span(n.cfg.AskTimeout))))
		return chat.Answer{}, chat.E(chat.Expired, "nobody answered", nil)
	case chat.AskOpen, chat.AskVoid:
	}
	return chat.Answer{}, chat.E(chat.Conflict, "the question is closed", errors.Join(context.Cause(ctx), context.Cause(n.ctx)))
}

// vote is an open ask that a turn waits for.
type vote struct {
	*run
	ask chat.Ask
}

// await waits until the ask is closed, by whatever comes first: a person, the
// clock, the agent, the end of the turn. The row says which it was.
func (v vote) await(ctx context.Context) chat.Ask {
	decided, leave := v.board.await(v.ask.ID)
	defer leave()
	// A decision that was committed before anybody waited is only in the row.
	now, err := v.books.Asks.AskByID(context.WithoutCancel(ctx), v.ask.ID)
	if err == nil && now.State != chat.AskOpen {
		return now
	}
	clock := time.NewTimer(min(time.Until(v.ask.Expires), v.cfg.AskTimeout))
	defer clock.Stop()
	select {
	case now := <-decided:
		return now
	case <-clock.C:
		return v.end(ctx, chat.AskExpired)
	case <-ctx.Done():
	case <-v.ctx.Done():
	}
	now = v.end(ctx, chat.AskVoid)
	if now.State == chat.AskAnswered {
		now.State = chat.AskVoid // decided, but too late for the agent to hear of it
	}
	return now
}

// end closes the ask. When somebody was faster, the row says how.
func (v vote) end(ctx context.Context, s chat.AskState) chat.Ask {
	now, err := v.books.Asks.CloseAsk(context.WithoutCancel(ctx), v.ask.ID, s)
	switch chat.CodeOf(err) {
	case chat.CodeNone, chat.Conflict:
		return now
	default:
		// The row stays open until the turn ends; nobody is waiting for it.
		v.cfg.Log.WarnContext(ctx, "ask not closed", "turn", v.turn.ID, "ask", v.ask.ID, "err", err)
		v.ask.State = s
		return v.ask
	}
}
