package codex

import (
	"context"
	"slices"
	"time"
)

// watch returns when the turn is over, whoever ends it. While the agent says
// nothing about it, it is asked now and then: the end may have got lost.
func (r *run) watch() {
	heard := r.heard.Load()
	look := time.NewTicker(r.w.srv.cfg.Silence)
	defer look.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-r.w.srv.gone:
			return
		case <-r.w.done:
			return
		case <-r.t.ctx.Done():
			return
		case <-look.C:
		}
		if now := r.heard.Load(); now != heard {
			heard = now
			continue
		}
		r.lookUp()
	}
}

// lookUp ends the turn as the agent says that it ended, if it did.
func (r *run) lookUp() {
	id := r.id()
	if id == "" {
		return
	}
	info, over := r.w.ask.ended(r.t.ctx, id)
	if !over {
		return
	}
	// What was said before the answer has been handled: the end was not said.
	r.once.Do(func() {
		r.w.log.WarnContext(r.t.ctx, "the end of a turn was not told", "turn", id, "status", string(info.Status))
		if info.Error == nil {
			info.Error = &turnError{}
		}
		r.over(info)
	})
}

// ended asks how a turn ended; false while it runs, and when nobody can tell.
func (l line) ended(ctx context.Context, turn string) (turnInfo, bool) {
	var is struct {
		Thread struct {
			Status struct {
				Type string `json:"type"`
			} `json:"status"`
		} `json:"thread"`
	}
	if err := l.srv.call(ctx, doRead, object{"threadId": l.thread}, &is); err != nil {
		l.log.DebugContext(ctx, "agent does not tell what it does", "err", err)
		return turnInfo{}, false
	}
	if is.Thread.Status.Type == "active" {
		return turnInfo{}, false
	}
	var list struct {
		Data []turnInfo `json:"data"`
	}
	params := object{"threadId": l.thread, "limit": 5, "sortDirection": "desc", "itemsView": "notLoaded"}
	if err := l.srv.call(ctx, doTurns, params, &list); err != nil {
		l.log.DebugContext(ctx, "agent does not tell how a turn ended", "err", err)
		return turnInfo{}, false
	}
	i := slices.IndexFunc(list.Data, func(t turnInfo) bool { return t.ID == turn && t.Status != turnRuns })
	if i < 0 {
		return turnInfo{}, false
	}
	return list.Data[i], true
}
