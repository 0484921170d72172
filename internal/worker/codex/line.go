package codex

import (
	"context"
	"log/slog"
)

// line makes the small requests about a thread.
type line struct {
	srv    *server
	thread string
	log    *slog.Logger
}

// steer gives words to a turn that runs.
func (l line) steer(ctx context.Context, turn string, items []object) error {
	return l.srv.call(ctx, doSteer, object{"threadId": l.thread, "expectedTurnId": turn, "input": items}, nil)
}

// interrupt tells the agent to end a turn and reports whether it took that.
func (l line) interrupt(ctx context.Context, thread, turn string) bool {
	err := l.srv.call(ctx, doInterrupt, object{"threadId": thread, "turnId": turn}, nil)
	if err != nil && !isClosed(l.srv.conn.Done()) {
		l.log.DebugContext(ctx, "agent did not interrupt", "err", err)
	}
	return err == nil
}

// terminate tells the agent to end commands that it lets run.
func (l line) terminate(ctx context.Context, thread string, calls map[string]bool) {
	var list struct {
		Data []struct {
			Item    string `json:"itemId"`
			Process string `json:"processId"`
		} `json:"data"`
	}
	if err := l.srv.call(ctx, doTerminals, object{"threadId": thread}, &list); err != nil {
		l.log.DebugContext(ctx, "agent does not list its commands", "err", err)
		return
	}
	for _, c := range list.Data {
		if !calls[c.Item] {
			continue
		}
		if err := l.srv.call(ctx, doTerminate, object{"threadId": thread, "processId": c.Process}, nil); err != nil {
			l.log.DebugContext(ctx, "agent did not end a command", "err", err)
		}
	}
}
