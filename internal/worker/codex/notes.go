package codex

import (
	"context"
	"fmt"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// listener takes what the server tells and asks about a worker. Only the
// server's reader uses it.
type listener struct{ *Worker }

// note takes what is told about the worker's thread.
func (w listener) note(method string, n note) {
	switch method {
	case onUsage:
		u := w.known.spent(n.Usage)
		if r := w.stage.runOf(n.turn()); r != nil {
			<-r.sent // whoever wrote the request is about to say so
			r.t.used(u, n.Usage)
		}
	case onSettings:
		w.known.observe(n.Settings.Model, n.Settings.Effort)
	case onClosed:
		w.lose()
	case onTurnStarted:
		w.began(n.Turn.ID)
	default:
		r := w.stage.runOf(n.turn())
		if r == nil {
			return
		}
		r.note(method, n)
		if method == onTurnCompleted {
			if own := w.stage.takeOwn(n.turn()); own == r {
				own.leave(own.err)
			}
		}
	}
}

// began takes the beginning of a turn: the one that we asked for, or else one of
// the agent's own.
func (w listener) began(id string) {
	if id == "" || w.stage.runOf(id) != nil {
		return
	}
	if t := w.stage.current(); t != nil {
		if r := t.now(); r != nil && r.id() == "" {
			<-r.sent // what is told here came after the request, or the request joins it
			r.bind(id)
			return
		}
	}
	w.uninvited(id)
}

// uninvited is a run that nobody asked for.
func (w listener) uninvited(id string) {
	host, end := w.askedBy()
	r := newRun(w.Worker, newTurn(w.srv.life, host, w.log))
	r.end = end
	r.begin(id)
	r.t.begin(r)
	close(r.sent)
	if before := w.stage.setOwn(r); before != nil { // its end was not told
		before.leave(chat.E(chat.Protocol, "", fmt.Errorf("turn %s did not end", before.id())))
	}
}

// askedBy returns who hears of what nobody asked for, and how that ends.
func (w listener) askedBy() (worker.Host, func(error)) {
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
func (w listener) skipped(method string, head []byte, size int64) bool {
	switch method {
	case onItemCompleted, onItemStarted: // the thread stands at their end
		id := valueOf(head, "id")
		for _, r := range w.stage.runs() {
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
		if r := w.stage.runOf(valueOf(head, "id")); r != nil {
			info := turnInfo{ID: r.id(), Status: turnCompleted}
			if r.failed.Message != "" {
				info.Status = turnFailed
			}
			w.note(method, note{Turn: info})
		}
	case onText:
		if r := w.stage.runOf(valueOf(head, "turnId")); r != nil {
			r.note(onText, note{ItemID: valueOf(head, "itemId")})
			r.notice("codex.skipped", "size", fmt.Sprintf("%d MiB", size>>20))
		}
	}
	return true
}

// kid takes what is told about a thread that may be a sub-agent's of ours. Only
// what a stop has to know is kept, and what it took is counted.
func (w listener) kid(method string, n note) bool {
	if !w.stage.hasKid(n.Thread) && (method != onTurnStarted || !w.stage.serves(n.Turn.Root)) {
		return false
	}
	switch method {
	case onTurnStarted, onTurnCompleted:
		turn := ""
		if method == onTurnStarted {
			turn = n.Turn.ID
		}
		w.stage.child(n.Thread, turn)
	case onUsage:
		d := w.stage.childSpent(n.Thread, n.Usage)
		if all := w.stage.runs(); len(all) > 0 {
			<-all[0].sent
			all[0].t.helped(d)
		}
	case onItemStarted:
		if t := w.stage.current(); t != nil && n.Item.Type == itemCommand {
			t.called(n.Item.ID)
		}
	}
	return true
}
