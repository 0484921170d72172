package opencode

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

// heard is an event as a session hears it.
type heard struct {
	kind string
	properties
	child bool // it is about a sub-agent of the session
}

// hearMissed says that events may have been missed.
const hearMissed = "missed"

const statusIdle = "idle"

// turn is one Prompt. Only the goroutine of Prompt touches it, except for its
// channels and its questions.
type turn struct {
	ctx     context.Context // of events and questions; ends with the turn
	host    worker.Host
	log     *slog.Logger
	retries int       // that are allowed
	began   time.Time // when Prompt was called

	events  chan heard
	closed  chan struct{}
	asks    *asks
	steered *steered

	mark    string // the newest message before the turn
	sent    bool   // the prompt was reported as sent
	begun   bool   // the prompt is in the session
	busy    bool   // the agent has begun to work at it
	quiet   bool   // nothing is shown any more: the turn was cancelled
	idled   bool   // the stream has told its end
	check   bool   // it may be over: look
	missed  bool   // events may have been missed
	giveUp  error  // the turn is to end with this
	stash   *failure
	answers map[string]figures
	told    chat.Usage // as last reported while the turn goes on
	parts   map[string]*piece
	tools   map[string]chat.Tool // that run
	ended   map[string]bool      // tools that have ended
}

// figures are those of one answer of the model.
type figures struct {
	info
	child bool
}

// piece is a part of an answer that is shown.
type piece struct {
	kind  string // text or reasoning
	shown int    // bytes
	ends  bool
	holed bool // events were missed: what comes is shown when the part is whole
}

const (
	partText  = "text"
	partThink = "reasoning"
	partTool  = "tool"
)

// backlog is how many events may wait for the turn.
const backlog = 256

func (t *turn) emit(e chat.Event) {
	if t.quiet && e.Kind != chat.EventTool && e.Kind != chat.EventUsage {
		return
	}
	if err := t.host.Emit(context.WithoutCancel(t.ctx), e); err != nil && t.ctx.Err() == nil {
		t.log.WarnContext(t.ctx, "event not taken", "kind", string(e.Kind), "err", err)
	}
}

// wasSent reports the prompt as sent, once.
func (t *turn) wasSent() {
	if !t.sent {
		t.sent = true
		t.emit(chat.Event{Kind: chat.EventSent})
	}
}

// take takes an event.
func (t *turn) take(h heard) {
	switch h.kind {
	case "message.updated":
		t.message(h.Info, h.child)
	case "message.part.updated":
		if !h.child {
			t.part(h.Part)
		}
	case "message.part.delta":
		if p := t.parts[h.PartID]; p != nil && !h.child && !p.holed && h.Field == "text" {
			t.show(p, h.Delta)
		}
	case "session.status", "session.idle", "session.error", "session.compacted", hearMissed:
		if !h.child {
			t.state(h)
		}
	case "todo.updated":
		if !h.child {
			t.emit(chat.Event{Kind: chat.EventPlan, Plan: steps(h.Todos)})
		}
	default:
		t.asks.take(t, h)
	}
}

// state takes what the session says about itself.
func (t *turn) state(h heard) {
	switch {
	case h.kind == "session.idle":
		t.check = true
		t.idled = t.begun
	case h.kind == hearMissed:
		t.check, t.missed = true, true
		for _, p := range t.parts {
			p.holed = true
		}
	case h.kind == "session.compacted":
		t.emit(chat.Event{Kind: chat.EventNotice, Text: i18n.T(i18n.Default, "opencode.compacted")})
	case h.kind == "session.error" && h.Error != nil:
		t.stash, t.check = h.Error, true
	case h.Status.Type == "retry":
		t.again(h.Status)
	case h.Status.Type == "busy":
		t.busy, t.idled, t.stash = true, false, nil
	}
}

// again takes a call of the model that the agent repeats. Its waits double, so
// the turn ends before nobody believes in it any more.
func (t *turn) again(s status) {
	t.busy = true
	t.closeText()
	code := classify(failure{}, s.Message)
	t.emit(chat.Event{Kind: chat.EventRetry, Code: code, Text: shorten(s.Message)})
	if s.Attempt > t.retries && t.giveUp == nil {
		t.giveUp = chat.E(code, shorten(s.Message), errTired)
	}
}

// message takes a message's state.
func (t *turn) message(i info, child bool) {
	switch {
	case child && i.Role == roleAssistant:
		t.answers[i.ID] = figures{i, true}
		t.spend()
	case child, i.ID <= t.mark: // of an earlier turn
	case i.Role == roleUser:
		t.wasSent()
		if !t.begun { // what was told before is about an earlier turn
			t.begun, t.stash = true, nil
			if !t.quiet && t.giveUp == nil {
				t.steered.begin()
			}
		}
	case i.Role == roleAssistant:
		t.busy = true
		t.answers[i.ID] = figures{i, false}
		if !i.isSummary() {
			t.steered.answered(i.ID)
		}
		t.spend()
	}
}

// part takes a part of an answer as it now is.
func (t *turn) part(p part) {
	t.steered.found(p.ID, p.MessageID)
	a, known := t.answers[p.MessageID]
	switch {
	case p.Type == partTool && (known || t.tools[p.CallID].ID != ""):
		t.tool(p)
	case !known, a.isSummary(), p.Synthetic:
	case p.Type == partText, p.Type == partThink:
		was := t.parts[p.ID]
		if was == nil {
			was = &piece{kind: p.Type}
			t.parts[p.ID] = was
		}
		if len(p.Text) > was.shown {
			t.show(was, p.Text[was.shown:])
		}
		if p.Time.End > 0 && !was.ends {
			t.end(was)
		}
	}
}

func (t *turn) show(p *piece, text string) {
	if text == "" {
		return
	}
	kind := chat.EventText
	if p.kind == partThink {
		kind = chat.EventThought
	}
	p.shown += len(text)
	t.emit(chat.Event{Kind: kind, Text: text})
}

func (t *turn) end(p *piece) {
	p.ends = true
	if p.kind == partText && p.shown > 0 {
		t.emit(chat.Event{Kind: chat.EventBreak})
	}
}

// closeText ends the blocks that will not be finished.
func (t *turn) closeText() {
	for _, id := range slices.Sorted(maps.Keys(t.parts)) {
		if p := t.parts[id]; !p.ends {
			t.end(p)
		}
	}
}

// Tools that are shown as something else.
var ownForm = []string{"question", "todowrite", "todoread"}

func (t *turn) tool(p part) {
	if slices.Contains(ownForm, p.Tool) || t.ended[p.CallID] || p.CallID == "" {
		return
	}
	was, known := t.tools[p.CallID]
	now := chat.Tool{ID: p.CallID, Name: p.Tool, State: chat.ToolRunning, Title: toolTitle(p)}
	switch p.State.Status {
	case "running":
	case "completed":
		now.State = chat.ToolDone
	case "error":
		now.State = chat.ToolFailed
	default:
		return
	}
	if now.State == chat.ToolDone && t.quiet { // it says so too when it was ended
		now.State = chat.ToolFailed
	}
	if len(p.State.Input) == 0 && known {
		now.Title = was.Title
	}
	if now.State != chat.ToolRunning {
		delete(t.tools, p.CallID)
		t.ended[p.CallID] = true
	} else {
		t.tools[p.CallID] = now
	}
	if !known && t.quiet || known && was == now {
		return
	}
	t.emit(chat.Event{Kind: chat.EventTool, Tool: &now})
}

// closeTools ends the tools that ended with the turn.
func (t *turn) closeTools() {
	for _, id := range slices.Sorted(maps.Keys(t.tools)) {
		tool := t.tools[id]
		tool.State = chat.ToolFailed
		t.emit(chat.Event{Kind: chat.EventTool, Tool: &tool})
	}
	clear(t.tools)
}

// spend reports what the turn has used so far, so that it can be ended before it
// has used too much. How large the context is, is said at the end.
func (t *turn) spend() {
	u := t.usage(nil)
	if u.In == t.told.In && u.Out == t.told.Out && u.CostUSD == t.told.CostUSD {
		return
	}
	t.told = u
	t.emit(chat.Event{Kind: chat.EventUsage, Usage: &u})
}

// usage sums up what the turn took, with its sub-agents.
func (t *turn) usage(models map[string]model) chat.Usage {
	var u chat.Usage
	for _, id := range slices.Sorted(maps.Keys(t.answers)) {
		a := t.answers[id]
		u.In += a.Tokens.in()
		u.Out += a.Tokens.out()
		u.CostUSD += a.Cost
		if used := a.Tokens.in() + a.Tokens.out(); !a.child && used > 0 {
			u.Used = used
		}
		if !a.child && a.ModelID != "" {
			u.Model = a.ProviderID + "/" + a.ModelID
		}
	}
	if u.Used > 0 {
		u.Window = models[u.Model].window
	}
	return u
}

func steps(todos []todo) []chat.Step {
	all := make([]chat.Step, 0, len(todos))
	for _, d := range todos {
		all = append(all, chat.Step{Text: d.Content, Done: d.Status == "completed" || d.Status == "cancelled"})
	}
	return all
}

// titleKeys are the fields of a tool's input that tell best what it does.
var titleKeys = []string{"command", "filePath", "path", "pattern", "url", "query", "description", "name"}

const maxTitle = 160

// toolTitle is one line for people: the command, the file.
func toolTitle(p part) string {
	var in map[string]any
	if json.Unmarshal(p.State.Input, &in) == nil {
		for _, k := range titleKeys {
			if s, ok := in[k].(string); ok && strings.TrimSpace(s) != "" {
				return oneLine(s)
			}
		}
	}
	if p.State.Title != "" {
		return oneLine(p.State.Title)
	}
	return p.Tool
}

func oneLine(s string) string {
	s = strings.TrimSpace(s)
	first, more, _ := strings.Cut(s, "\n")
	if strings.TrimSpace(more) != "" {
		first += " …"
	}
	return chat.Clip(first, maxTitle)
}
