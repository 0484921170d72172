package acp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
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
	quirks Quirks
	began  time.Time
	log    *slog.Logger
	begun  chan struct{} // closed when the prompt has been sent
	done   chan struct{} // closed when the turn is over
	asks   *asks
	price  func() float64 // what it has cost so far, USD; nil = nobody knows

	mu      sync.Mutex // also keeps events in order
	said    said
	tools   map[string]chat.Tool
	early   []update // what came before the prompt was known to be sent
	waiting []*words
	spent   spent
	muted   bool // nothing new is shown any more
	over    bool
}

// spent are the figures that a turn was told.
type spent struct {
	window chat.Usage // of the context window only
	calls  tokens     // of the calls of the model, where they are told one by one
	told   chat.Usage // as last reported while the turn goes on
}

// said is what the agent has said in a turn.
type said struct {
	text   bool   // some answer was shown
	open   bool   // the last thing shown was text of a block that is not closed
	block  string // the agent's id of that block
	failed string // the agent's own words about a failure, and nothing after them
}

func newTurn(ctx context.Context, host worker.Host, quirks Quirks, log *slog.Logger) *turn {
	t := &turn{
		host: host, ctx: context.WithoutCancel(ctx), began: time.Now(), log: log, quirks: quirks, asks: newAsks(ctx),
		tools: map[string]chat.Tool{}, begun: make(chan struct{}), done: make(chan struct{}),
	}
	return t
}

// mute ends what is shown of a turn, and what it asks.
func (t *turn) mute() {
	t.asks.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.muted = true
}

// emit reports one event, unless the turn is over.
func (t *turn) emit(e chat.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.emitLocked(e)
}

func (t *turn) emitLocked(e chat.Event) {
	// What is shown as running must not stay so, and a cancelled turn has its
	// price, too.
	last := e.Kind == chat.EventTool && e.Tool.State != chat.ToolRunning || e.Kind == chat.EventUsage
	if t.over || t.muted && !last {
		return
	}
	if err := t.host.Emit(t.ctx, e); err != nil {
		t.log.Warn("event of the agent was not taken", "kind", string(e.Kind), "err", err)
	}
}

// close ends the turn: open tools are closed, and questions withdrawn and
// waited for, so that the host is not used any more.
func (t *turn) close() {
	t.asks.stop()
	t.asks.wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tool := range t.tools {
		if tool.State == chat.ToolRunning {
			tool.State = chat.ToolFailed
			t.emitLocked(chat.Event{Kind: chat.EventTool, Tool: &tool})
		}
	}
	t.over = true
	close(t.done)
}

// figures returns what updates said about usage.
func (t *turn) figures() (chat.Usage, tokens) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spent.window, t.spent.calls
}

// progress reports what the turn has used so far, so that it can be ended before
// it has used too much. Many agents tell tokens at the end only. t.mu is held.
func (t *turn) progress() {
	u := t.spent.window
	u.In, u.Out = t.spent.calls.In, t.spent.calls.Out
	if t.price != nil {
		u.CostUSD = t.price()
	}
	if u.In == t.spent.told.In && u.Out == t.spent.told.Out && u.CostUSD == t.spent.told.CostUSD {
		return
	}
	t.spent.told = u
	t.emitLocked(chat.Event{Kind: chat.EventUsage, Usage: &u})
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

// begin is called when the prompt has been sent, and shows what has come since.
func (t *turn) begin(events ...chat.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range events {
		t.emitLocked(e)
	}
	close(t.begun)
	for _, u := range t.early {
		t.show(u)
	}
	t.early = nil
}

// take turns an update into events. An agent may answer before we know that it
// was asked.
func (t *turn) take(u update) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.begun:
		t.show(u)
	default:
		t.early = append(t.early, u)
	}
}

// show is take for one after the other. t.mu is held.
func (t *turn) show(u update) {
	t.spend(u.Meta.Usage)
	if u.Kind == "usage_update" {
		t.spent.window = chat.Usage{Used: u.Used, Window: u.Size}
	}
	t.progress()
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
	}
}

// spend adds up what the calls of the model took; the last one fills the
// context.
func (t *turn) spend(u *tokens) {
	if u == nil {
		return
	}
	t.spent.calls.In += u.In
	t.spent.calls.Out += u.Out
	t.spent.window.Used = u.In + u.Out
}

// finished are the sources of messages that say that a task in the background
// has ended; what the model makes of it comes as an answer.
var finished = []string{"background_task_completed", "background_notification"}

// words takes a piece of the answer.
func (t *turn) words(u update) {
	text := blockText(u.Content)
	if text == "" || slices.ContainsFunc(t.quirks.Noise, func(n string) bool { return strings.HasPrefix(text, n) }) {
		return
	}
	if slices.Contains(finished, u.Meta.Source) {
		t.emitLocked(chat.Event{Kind: chat.EventNotice, Text: short(text)})
		return
	}
	if t.quirks.Speaks && t.aside(text) {
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
		t.info(rest)
	case "Warning":
		t.log.Info("agent warns", "text", short(rest))
	default:
		return false
	}
	return true
}

// info takes what the agent says about its work: that it tries again, or what
// a person has just done. What it has said of the answer so far it says again.
func (t *turn) info(text string) {
	if !strings.Contains(text, "etrying") {
		t.emitLocked(chat.Event{Kind: chat.EventNotice, Text: short(text)})
		return
	}
	if t.said.open {
		t.said.open = false
		t.emitLocked(chat.Event{Kind: chat.EventBreak})
	}
	t.emitLocked(chat.Event{Kind: chat.EventRetry, Text: short(text), Code: classify(text)})
}

// decided shows a tool that was asked about: some agents say nothing of a tool
// until it has ended, and nothing at all of one that was denied.
func (t *turn) decided(c toolCall, allowed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Status = "in_progress"
	if !allowed {
		c.Status = "failed"
	}
	if old, known := t.tools[c.ID]; known && old.State != chat.ToolRunning {
		return
	}
	t.tool(c)
}

// tool takes a tool call or a change of one. Some agents never announce a
// call, they only change it.
func (t *turn) tool(c toolCall) {
	if c.ID == "" || t.muted { // close ends what is shown as running
		return
	}
	if t.said.open {
		t.said.open = false
		t.emitLocked(chat.Event{Kind: chat.EventBreak})
	}
	tool, known := t.tools[c.ID]
	if !known && t.muted {
		return
	}
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
