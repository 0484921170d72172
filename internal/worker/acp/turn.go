package acp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// turn is one running prompt: where its events go, and what it has shown.
type turn struct {
	host   worker.Host
	ctx    context.Context // for events: outlives a cancel, so that the last words arrive
	asking context.Context // for questions: ends with the turn, and when it is cancelled
	stop   context.CancelFunc
	asks   sync.WaitGroup
	began  time.Time
	log    *slog.Logger

	mu    sync.Mutex // also keeps events in order
	said  said
	tools map[string]chat.Tool
	usage chat.Usage
	over  bool
}

// said is what the agent has said in a turn.
type said struct {
	speaks bool   // see Quirks.Speaks
	text   bool   // some answer was shown
	open   bool   // the last thing shown was text of a block that is not closed
	block  string // the agent's id of that block
	failed string // the agent's own words about a failure, and nothing after them
}

func newTurn(ctx context.Context, host worker.Host, speaks bool, log *slog.Logger) *turn {
	t := &turn{
		host: host, ctx: context.WithoutCancel(ctx), began: time.Now(), log: log,
		tools: map[string]chat.Tool{}, said: said{speaks: speaks},
	}
	t.asking, t.stop = context.WithCancel(ctx)
	return t
}

// emit reports one event, unless the turn is over.
func (t *turn) emit(e chat.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.emitLocked(e)
}

func (t *turn) emitLocked(e chat.Event) {
	if t.over {
		return
	}
	if err := t.host.Emit(t.ctx, e); err != nil {
		t.log.Warn("event of the agent was not taken", "kind", string(e.Kind), "err", err)
	}
}

// withdraw takes back what the turn asks of people.
func (t *turn) withdraw() { t.stop() }

// close ends the turn: open tools are closed, and questions withdrawn and
// waited for, so that the host is not used any more.
func (t *turn) close() {
	t.stop()
	t.asks.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tool := range t.tools {
		if tool.State == chat.ToolRunning {
			tool.State = chat.ToolFailed
			t.emitLocked(chat.Event{Kind: chat.EventTool, Tool: &tool})
		}
	}
	t.over = true
}

// figures returns what usage updates said.
func (t *turn) figures() chat.Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usage
}

// verdict is the turn's result for a stop reason. A reason that nobody knows
// is a success only if there is an answer.
func (t *turn) verdict(reason string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.said.failed != "":
		return chat.E(classify(t.said.failed), short(t.said.failed), errors.New("the agent reported a failure as text"))
	case reason == "end_turn":
		return nil
	case reason == "refusal":
		return chat.E(chat.AgentError, "the model refused to answer", errors.New("stop reason refusal"))
	case reason == "cancelled":
		return chat.E(chat.AgentError, "the agent cancelled the turn", errors.New("cancelled, and nobody asked for it"))
	case !t.said.text:
		return chat.E(chat.Protocol, "", errors.New("no answer, stop reason "+short(reason)))
	case reason == "max_tokens", reason == "max_turn_requests":
		t.emitLocked(chat.Event{Kind: chat.EventNotice, Text: reason, Code: chat.AgentError})
	}
	return nil
}

// take turns an update into events.
func (t *turn) take(u update) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch u.Kind {
	case "agent_message_chunk":
		t.words(u)
	case "agent_thought_chunk":
		if text := blockText(u.Content); text != "" {
			t.emitLocked(chat.Event{Kind: chat.EventThought, Text: text})
		}
	case "tool_call", "tool_call_update":
		t.tool(u.toolCall)
	case "plan":
		var steps []chat.Step
		for _, e := range u.Entries {
			steps = append(steps, chat.Step{Text: e.Content, Done: e.Status == "completed"})
		}
		t.emitLocked(chat.Event{Kind: chat.EventPlan, Plan: steps})
	case "usage_update":
		t.usage.Used, t.usage.Window = u.Used, u.Size
	}
}

// words takes a piece of the answer.
func (t *turn) words(u update) {
	text := blockText(u.Content)
	if text == "" {
		return
	}
	if t.said.speaks && t.aside(text) {
		return
	}
	if t.said.open && u.Message != t.said.block {
		t.emitLocked(chat.Event{Kind: chat.EventBreak})
	}
	if t.said.failed != "" { // it was an answer after all: nothing of one is lost
		text = "Error: " + t.said.failed + "\n\n" + text
	}
	t.said.text, t.said.open, t.said.block, t.said.failed = true, true, u.Message, ""
	t.emitLocked(chat.Event{Kind: chat.EventText, Text: text})
}

// aside takes what an agent says about itself in the place of an answer.
func (t *turn) aside(text string) bool {
	kind, rest, ok := strings.Cut(text, ": ")
	if !ok {
		return false
	}
	rest = strings.TrimSpace(rest)
	switch kind {
	case "Error":
		t.said.failed = rest
	case "Info":
		t.emitLocked(chat.Event{Kind: chat.EventRetry, Text: short(rest), Code: classify(rest)})
	case "Warning":
		t.log.Info("agent warns", "text", short(rest))
	default:
		return false
	}
	return true
}

// tool takes a tool call or a change of one. Some agents never announce a
// call, they only change it.
func (t *turn) tool(c toolCall) {
	if c.ID == "" {
		return
	}
	if t.said.open {
		t.said.open = false
		t.emitLocked(chat.Event{Kind: chat.EventBreak})
	}
	tool, known := t.tools[c.ID]
	before := tool
	if !known {
		tool = chat.Tool{ID: c.ID, State: chat.ToolRunning}
	}
	if name := c.name(); name != "" {
		tool.Name = name
	}
	if title := c.summary(); title != "" {
		tool.Title = title
	}
	switch c.Status {
	case "completed":
		tool.State = chat.ToolDone
	case "failed":
		tool.State = chat.ToolFailed
	}
	t.tools[c.ID] = tool
	if tool != before {
		t.emitLocked(chat.Event{Kind: chat.EventTool, Tool: &tool})
	}
}

// name is the tool's name, or else its kind.
func (c toolCall) name() string {
	for _, n := range []string{c.Name, c.Meta.Tool, c.Meta.Claude.Tool, c.Kind} {
		if n != "" {
			return n
		}
	}
	return ""
}

// summary is one line for people: the command where there is one.
func (c toolCall) summary() string {
	if cmd := c.command(); cmd != "" {
		return cmd
	}
	return c.Title
}

func (c toolCall) command() string {
	var in struct {
		Command any `json:"command"`
	}
	if json.Unmarshal(c.RawInput, &in) != nil {
		return ""
	}
	switch cmd := in.Command.(type) {
	case string:
		return cmd
	case []any:
		var words []string
		for _, w := range cmd {
			if s, ok := w.(string); ok {
				words = append(words, s)
			}
		}
		return strings.Join(words, " ")
	}
	return ""
}

// blockText is the text of a content block; other kinds of content have none.
func blockText(raw json.RawMessage) string {
	c, err := decode[content](raw)
	if err != nil || c.Type != "text" && c.Type != "" {
		return ""
	}
	return c.Text
}
