package codex

import (
	"context"
	"fmt"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// note takes what is told about the worker's thread.
func (w *Worker) note(method string, n note) {
	switch method {
	case onUsage:
		u := w.known.spent(n.Usage)
		if r := w.runOf(n.turn()); r != nil {
			r.t.used(u, n.Usage)
		}
	case onSettings:
		w.known.observe(n.Settings.Model, n.Settings.Effort)
	case onClosed:
		w.lose()
	case onTurnStarted:
		w.began(n.Turn.ID)
	default:
		r := w.runOf(n.turn())
		if r == nil {
			return
		}
		r.note(method, n)
		if method == onTurnCompleted {
			if own := w.takeOwn(n.turn()); own == r {
				own.leave(own.err)
			}
		}
	}
}

// runOf returns the run with that id, if it goes on.
func (w *Worker) runOf(id string) *run {
	w.mu.Lock()
	t, own := w.turn, w.own
	w.mu.Unlock()
	if id == "" {
		return nil
	}
	if t != nil {
		if r := t.now(); r != nil && r.id() == id && !isClosed(r.done) {
			return r
		}
	}
	if own != nil && own.id() == id {
		return own
	}
	return nil
}

// began takes the beginning of a turn: the one that we asked for, or else one of
// the agent's own.
func (w *Worker) began(id string) {
	if id == "" || w.runOf(id) != nil {
		return
	}
	if t := w.current(); t != nil {
		if r := t.now(); r != nil && r.id() == "" {
			<-r.sent // what is told here came after the request, or the request joins it
			w.bind(r, id)
			return
		}
	}
	w.uninvited(id)
}

// bind gives a run its id. What the agent had begun by itself may be that turn:
// then it is the user's from now on.
func (w *Worker) bind(r *run, id string) {
	if !r.begin(id) {
		return
	}
	if own := w.takeOwn(id); own != nil {
		own.leave(nil)
	}
	if w.known.remembered(w.thread) {
		r.t.emit(chat.Event{Kind: chat.EventSession, Text: w.thread})
	}
}

// uninvited is a run that nobody asked for.
func (w *Worker) uninvited(id string) {
	host, end := w.askedBy()
	r := newRun(w, newTurn(w.srv.life, host, w.log))
	r.end = end
	r.begin(id)
	r.t.begin(r)
	close(r.sent)
	w.mu.Lock()
	before := w.own
	w.own = r
	w.mu.Unlock()
	if before != nil { // its end was not told
		before.leave(chat.E(chat.Protocol, "", fmt.Errorf("turn %s did not end", before.id())))
	}
}

// askedBy returns who hears of what nobody asked for, and how that ends.
func (w *Worker) askedBy() (worker.Host, func(error)) {
	if w.spec.Uninvited == nil {
		w.log.InfoContext(w.srv.life, "the agent works unasked; dropped")
		return nowhere{}, func(error) {}
	}
	host, end := w.spec.Uninvited(w.srv.life)
	if host == nil { // there is nobody to tell
		host = nowhere{}
	}
	if end == nil {
		end = func(error) {}
	}
	return host, end
}

// nowhere is the host of a run that nobody wants to hear of.
type nowhere struct{}

func (nowhere) Emit(context.Context, chat.Event) error { return nil }

func (nowhere) Ask(context.Context, chat.Question) (chat.Answer, error) {
	return chat.Answer{}, chat.E(chat.Missing, "no turn runs", nil)
}

// skipped takes the beginning of a line over the cap and reports whether it was
// about this worker. The long texts are the answer, which came in pieces
// before, and what tools printed, which nobody reads here.
func (w *Worker) skipped(method string, head []byte, size int64) bool {
	switch method {
	case onItemCompleted, onItemStarted: // the thread stands at their end
		id := valueOf(head, "id")
		for _, r := range w.runs() {
			if r.knows(id) {
				r.toolEnded(id, false)
				return true
			}
		}
		return false
	}
	if valueOf(head, "threadId") != w.thread {
		return false
	}
	switch method {
	case onTurnCompleted:
		if r := w.runOf(valueOf(head, "id")); r != nil {
			info := turnInfo{ID: r.id(), Status: turnCompleted}
			if r.failed.Message != "" {
				info.Status = turnFailed
			}
			w.note(method, note{Turn: info})
		}
	case onText:
		if r := w.runOf(valueOf(head, "turnId")); r != nil {
			r.note(onText, note{ItemID: valueOf(head, "itemId")})
			r.notice("codex.skipped", "size", fmt.Sprintf("%d MiB", size>>20))
		}
	}
	return true
}

// runs are those that go on.
func (w *Worker) runs() (all []*run) {
	w.mu.Lock()
	t, own := w.turn, w.own
	w.mu.Unlock()
	if t != nil {
		if r := t.now(); r != nil && !isClosed(r.done) {
			all = append(all, r)
		}
	}
	if own != nil {
		all = append(all, own)
	}
	return all
}

// knows reports whether an item is a tool or a message of this run.
func (r *run) knows(id string) bool {
	r.mu.Lock()
	_, tool := r.tools[id]
	r.mu.Unlock()
	return tool || r.answer.seen[id]
}
