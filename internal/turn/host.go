package turn

import (
	"context"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/worker"
)

var _ worker.Host = (*run)(nil)

// Emit implements worker.Host. After the end of the turn nothing is taken any
// more: late output of a stopped turn is no answer. The error is chat.Conflict
// then.
func (n *run) Emit(_ context.Context, e chat.Event) error {
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	if n.seen.closed {
		return chat.E(chat.Conflict, "the turn is over", nil)
	}
	n.confirmed()
	n.clerk.alive()
	switch e.Kind {
	case chat.EventSent:
		fault.Hit(fault.PromptWritten)
		n.clerk.sent()
		n.recapped()
	case chat.EventSession:
		n.renamed(e.Text)
	case chat.EventTool:
		n.tool(e.Tool)
	case chat.EventUsage:
		if e.Usage != nil {
			n.seen.usage = *e.Usage
		}
	case chat.EventText, chat.EventPlan, chat.EventThought:
		n.seen.acted = true
	case chat.EventBreak, chat.EventRetry, chat.EventNotice:
	}
	fault.Hit(fault.MidStream)
	n.live.Event(e)
	return nil
}

// renamed has the id stored that the agent reported.
func (n *run) renamed(id string) {
	if id == "" {
		return
	}
	fault.Hit(fault.NativeIDReported)
	if id == n.session.NativeID || id == n.seen.native {
		return
	}
	n.seen.native = id
	session := n.session.ID
	n.clerk.do(func(ctx context.Context) error {
		return n.books.Threads.Bind(ctx, session, id, chat.Settings{})
	})
}

// recapped notes that the agent was told what was said before.
func (n *run) recapped() {
	if !n.session.Recap {
		return
	}
	session := n.session.ID
	n.clerk.do(func(ctx context.Context) error { return n.books.Threads.Recapped(ctx, session) })
}

// tool keeps book of the tool calls that run; while one does, silence is no
// sign of trouble.
func (n *run) tool(t *chat.Tool) {
	if t == nil {
		return
	}
	n.seen.acted = true
	before, known := n.seen.tools[t.ID]
	now := t.State == chat.ToolRunning
	n.seen.tools[t.ID] = now
	switch {
	case now && !(known && before):
		n.clerk.hold()
	case !now && known && before:
		n.clerk.release()
	}
}

// acted reports whether the agent did more than to take the prompt.
func (n *run) acted() bool {
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	return n.seen.acted
}

// confirm notices that the agent has got an answer for which it waited: it
// went on, or its turn is over.
func (n *run) confirm() {
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	n.confirmed()
}

func (n *run) confirmed() {
	if n.seen.told {
		n.seen.told = false
		fault.Hit(fault.AgentAnswered)
	}
}

// shut ends the taking of events and returns the figures.
func (n *run) shut() (u chat.Usage, tools int) {
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	n.seen.closed = true
	return n.seen.usage, len(n.seen.tools)
}
