package codex

import (
	"context"
	"time"
)

// await waits for the end of a turn, whoever ends it.
func (r *run) await() error {
	r.watch()
	switch {
	case isClosed(r.done): // its last words count
		return r.err
	case isClosed(r.w.srv.gone), isClosed(r.w.done):
		r.closeTools()
		return r.w.crash()
	}
	r.stop()
	return context.Cause(r.t.ctx)
}

// stop ends a turn natively, and what it started. It returns when the turn is
// really over.
func (r *run) stop() {
	r.t.hush()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.ctx), r.w.srv.cfg.Grace)
	defer cancel()
	if !r.interrupt(ctx) {
		r.w.srv.disown(r.t.ctx, r.w)
	}
	r.tidy()
	r.closeTools()
}

// endPause is how long to wait before an agent that did not end its turn is
// told again: it may not have begun it.
const endPause = 50 * time.Millisecond

// interrupt ends the agent's turn and reports whether it is over.
func (r *run) interrupt(ctx context.Context) bool {
	told := false
	for {
		if isClosed(r.begun) && !told {
			told = r.w.ask.interrupt(ctx, r.w.thread, r.id())
		}
		pause := time.NewTimer(endPause)
		select {
		case <-r.done:
		case <-r.w.srv.gone:
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
		switch {
		case isClosed(r.done), isClosed(r.w.srv.gone):
			return true
		case ctx.Err() != nil:
			return false
		}
	}
}

// marks of a command's environment, by the id of its call.
const callMark = "CODEX_TOOL_CALL_ID="

// tidy ends what a stopped turn started: the agent ends the turn and lets its
// commands run. Those of other sessions, and of earlier turns, are not touched.
func (r *run) tidy() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.ctx), r.w.srv.cfg.Grace)
	defer cancel()
	threads := []string{r.w.thread}
	for thread, turn := range r.w.stage.children() {
		r.w.ask.interrupt(ctx, thread, turn)
		threads = append(threads, thread)
	}
	calls := r.t.allCalls()
	if len(calls) == 0 || isClosed(r.w.srv.gone) {
		return
	}
	for _, thread := range threads {
		r.w.ask.terminate(ctx, thread, calls)
	}
	marks := make([]string, 0, len(calls))
	for id := range calls {
		marks = append(marks, callMark+id)
	}
	if n := r.w.srv.proc.EndMarked(marks...); n > 0 {
		r.w.log.InfoContext(ctx, "what a stopped turn left was ended", "processes", n)
	}
}
