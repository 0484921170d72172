package pi

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
)

// hearSkipped says that a line was too long to be read.
const hearSkipped = "skipped"

// backlog is how many messages may wait for the turn.
const backlog = 256

// turn is one Prompt. Only the goroutine of Prompt touches it, except for its
// channels and the words that are steered in.
type turn struct {
	ctx   context.Context // of events and questions; ends with the turn
	host  worker.Host
	log   *slog.Logger
	began time.Time

	events  chan message
	closed  chan struct{}
	steered *steered

	quiet   bool           // nothing is shown any more: the turn was cancelled
	check   bool           // it may be over: ask
	worked  bool           // the agent has begun to work
	again   bool           // the agent is going to repeat a failed call
	trouble string         // of the last answer; empty when it went well
	stop    string         // why the last answer ended
	blocks  map[int]*piece // of the answer that is written
	holed   bool           // a piece of it was too long to be read
	tools   map[string]chat.Tool
	usage   chat.Usage
}

// piece is a block of an answer.
type piece struct {
	kind  string
	shown int // bytes
	ends  bool
}

const (
	kindText  = "text"
	kindThink = "thinking"
)

func (t *turn) emit(e chat.Event) {
	if t.quiet && e.Kind != chat.EventTool && e.Kind != chat.EventUsage {
		return
	}
	if err := t.host.Emit(context.WithoutCancel(t.ctx), e); err != nil && t.ctx.Err() == nil {
		t.log.WarnContext(t.ctx, "event not taken", "kind", string(e.Kind), "err", err)
	}
}

// take takes a message of the agent.
func (t *turn) take(m message) {
	switch m.Type {
	case "agent_start":
		t.worked, t.again, t.check = true, false, false
	case "agent_end":
		t.check = true
	case "message_start":
		if m.Message != nil && m.Message.Role == "assistant" {
			t.closeText()
			t.blocks, t.holed = map[int]*piece{}, false
		}
	case "message_update":
		t.update(m.Event)
	case "message_end":
		t.message(m.Message)
	case "tool_execution_start":
		t.tool(chat.Tool{ID: m.ToolID, Name: m.ToolName, Title: toolTitle(m.ToolName, m.Args), State: chat.ToolRunning})
	case "tool_execution_end":
		t.toolEnded(m)
	case "auto_retry_start":
		t.again, t.check = true, false
		t.closeText()
		t.emit(chat.Event{Kind: chat.EventRetry, Code: classify(m.Trouble), Text: shorten(m.Trouble)})
	case "auto_retry_end":
		t.again = false
		t.check = t.check || !m.Success
	case "compaction_end":
		t.compacted(m)
	case "queue_update":
		t.steered.left(len(m.Steering))
	case hearSkipped:
		t.holed = true
	}
}

func (t *turn) compacted(m message) {
	t.check = !m.WillRetry
	if m.Trouble == "" {
		t.emit(chat.Event{Kind: chat.EventNotice, Text: i18n.T(i18n.Default, "pi.compacted")})
	}
}

// update takes a piece of an answer.
func (t *turn) update(e update) {
	kind, what, ok := strings.Cut(e.Type, "_")
	if !ok || kind != kindText && kind != kindThink || t.blocks == nil {
		return
	}
	b := t.blocks[e.Index]
	if b == nil {
		b = &piece{kind: kind}
		t.blocks[e.Index] = b
	}
	switch what {
	case "delta":
		if !t.holed {
			t.show(b, e.Delta)
		}
	case "end":
		if !t.holed {
			t.end(b)
		}
	}
}

func (t *turn) show(b *piece, text string) {
	if text == "" {
		return
	}
	b.shown += len(text)
	kind := chat.EventText
	if b.kind == kindThink {
		kind = chat.EventThought
	}
	t.emit(chat.Event{Kind: kind, Text: text})
}

func (t *turn) end(b *piece) {
	if !b.ends && b.kind == kindText && b.shown > 0 {
		t.emit(chat.Event{Kind: chat.EventBreak})
	}
	b.ends = true
}

// closeText ends the blocks that will not be finished.
func (t *turn) closeText() {
	for _, i := range slices.Sorted(maps.Keys(t.blocks)) {
		t.end(t.blocks[i])
	}
}

// message takes a finished message: its figures, and what was not streamed.
func (t *turn) message(m *said) {
	if m == nil || m.Role != "assistant" {
		return
	}
	for i, c := range m.Content {
		if c.Type != kindText {
			continue
		}
		b := t.blocks[i]
		if b == nil {
			b = &piece{kind: kindText}
			if t.blocks == nil {
				t.blocks = map[int]*piece{}
			}
			t.blocks[i] = b
		}
		if len(c.Text) > b.shown {
			t.show(b, c.Text[b.shown:])
		}
	}
	t.holed = false
	t.closeText()
	t.stop, t.trouble = m.Stop, m.Trouble
	u := m.Usage
	t.usage.In += u.in()
	t.usage.Out += u.Output
	t.usage.CostUSD += u.Cost.Total
	if m.Model != "" {
		t.usage.Model = m.Provider + "/" + m.Model
	}
	if used := u.in() + u.Output; used > 0 {
		t.usage.Used = used
	}
	if t.usage.In > 0 || t.usage.Out > 0 { // so that it can be ended before it has used too much
		u := t.usage
		t.emit(chat.Event{Kind: chat.EventUsage, Usage: &u})
	}
}

func (t *turn) tool(now chat.Tool) {
	if now.ID == "" {
		return
	}
	t.tools[now.ID] = now
	t.emit(chat.Event{Kind: chat.EventTool, Tool: &now})
}

func (t *turn) toolEnded(m message) {
	now, known := t.tools[m.ToolID]
	if !known {
		return
	}
	now.State = chat.ToolDone
	if m.Failed {
		now.State = chat.ToolFailed
	}
	delete(t.tools, m.ToolID)
	t.emit(chat.Event{Kind: chat.EventTool, Tool: &now})
}

// closeTools ends the tools that ended with the turn.
func (t *turn) closeTools() {
	for _, id := range slices.Sorted(maps.Keys(t.tools)) {
		now := t.tools[id]
		now.State = chat.ToolFailed
		t.emit(chat.Event{Kind: chat.EventTool, Tool: &now})
	}
	clear(t.tools)
}

// titleKeys are the fields of a tool's input that tell best what it does.
var titleKeys = []string{"command", "path", "file_path", "pattern", "url", "query", "description", "name"}

const maxTitle = 160

func toolTitle(name string, input json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(input, &in) == nil {
		for _, k := range titleKeys {
			if s, ok := in[k].(string); ok && strings.TrimSpace(s) != "" {
				return oneLine(s)
			}
		}
	}
	return name
}

func oneLine(s string) string {
	s = strings.TrimSpace(s)
	first, more, _ := strings.Cut(s, "\n")
	if strings.TrimSpace(more) != "" {
		first += " …"
	}
	return chat.Clip(first, maxTitle)
}
