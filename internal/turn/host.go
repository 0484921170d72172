package turn

import (
	"context"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/worker"
)

var _ worker.Host = (*host)(nil)

// host is the worker's view of a turn, and our book of what the agent did.
type host struct {
	run  *run
	live Live

	mu      sync.Mutex
	closed  bool // no more events
	session chat.Session
	acted   bool            // there was more than a session id
	tools   map[string]bool // running?
	usage   chat.Usage
	before  chat.Usage // used today by others
	native  string     // the last id that was reported
	told    bool       // an answer is on its way to the agent
	asks    int        // open ones
	plan    plan
	brief   bool // the prompt tells where to put files
}

// Emit implements worker.Host. After the end of the turn nothing is taken any
// more: late output of a stopped turn is no answer. The error is chat.Conflict
// then.
func (h *host) Emit(_ context.Context, e chat.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return chat.E(chat.Conflict, "the turn is over", nil)
	}
	h.confirmLocked()
	h.run.clerk.alive()
	switch e.Kind {
	case chat.EventSent:
		fault.Hit(fault.PromptWritten)
		h.run.clerk.sent()
		h.recapped()
		h.briefed()
	case chat.EventSession:
		h.renamed(e.Text)
	case chat.EventTool:
		h.tool(e.Tool)
	case chat.EventUsage:
		if e.Usage != nil {
			h.usage = *e.Usage
			h.spent()
		}
	case chat.EventText, chat.EventPlan, chat.EventThought:
		h.acted = true
	case chat.EventBreak, chat.EventRetry, chat.EventNotice:
	}
	fault.Hit(fault.MidStream)
	h.live.Event(e)
	return nil
}

// renamed has the id stored that the agent reported.
func (h *host) renamed(id string) {
	if id == "" {
		return
	}
	fault.Hit(fault.NativeIDReported)
	if id == h.session.NativeID || id == h.native {
		return
	}
	h.native = id
	session := h.session.ID
	h.run.clerk.do(func(ctx context.Context) error {
		return h.run.books.Threads.Bind(ctx, session, id, chat.Settings{})
	})
}

// recapped notes that the agent was told what was said before.
func (h *host) recapped() {
	if !h.session.Recap {
		return
	}
	session := h.session.ID
	h.run.clerk.do(func(ctx context.Context) error { return h.run.books.Threads.Recapped(ctx, session) })
}

// tool keeps book of the tool calls that run; while one does, silence is no
// sign of trouble.
func (h *host) tool(t *chat.Tool) {
	if t == nil {
		return
	}
	h.acted = true
	before := h.tools[t.ID]
	now := t.State == chat.ToolRunning
	h.tools[t.ID] = now
	switch {
	case now && !before:
		h.run.clerk.hold()
	case !now && before:
		h.run.clerk.release()
	}
}

// moved tells that the turn runs in another session now.
func (h *host) moved(s chat.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.session, h.native = s, ""
}

// hasActed reports whether the agent did more than to take the prompt.
func (h *host) hasActed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.acted
}

func (h *host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// confirm notices that the agent has got an answer for which it waited: it
// went on, or its turn is over.
func (h *host) confirm() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.confirmLocked()
}

func (h *host) confirmLocked() {
	if h.told {
		h.told = false
		fault.Hit(fault.AgentAnswered)
	}
}

// shut ends the taking of events and returns the figures.
func (h *host) shut() (u chat.Usage, tools int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return h.usage, len(h.tools)
}
