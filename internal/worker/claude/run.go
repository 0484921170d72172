package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
)

// run is what the agent does between its "init" and its "result": the decoding
// state of that stretch of output, and where its events go. Only the reader
// of the agent's output touches it.
type run struct {
	ctx   context.Context // of the turn that the events belong to; see worker.Host
	host  worker.Host
	quiet *atomic.Bool // what comes is dropped from now on: the turn was cancelled
	turn  *turn        // nil for a run that nobody asked for
	end   func(error)  // closes the turn of a run that nobody asked for
	log   *slog.Logger

	text     answer
	open     bool // the model's message has begun and not ended
	tools    map[string]chat.Tool
	usage    chat.Usage
	meter    meter
	told     chat.Usage // as last reported while the run goes on
	called   bool       // it called the model itself
	resets   time.Time  // when the account's limit ends, as far as told
	plan     string     // the plan that the agent showed last
	unsigned string     // text that the agent wrote itself: a command's output, or an error
}

func newRun(ctx context.Context, host worker.Host, log *slog.Logger) *run {
	return &run{ctx: ctx, host: host, quiet: new(atomic.Bool), log: log, tools: map[string]chat.Tool{}}
}

// emit reports e, unless the turn was cancelled.
func (r *run) emit(e chat.Event) {
	if r.quiet.Load() && (e.Tool == nil || e.Tool.State == chat.ToolRunning) { // a tool that is shown is shown to end
		return
	}
	if err := r.host.Emit(r.ctx, e); err != nil && r.ctx.Err() == nil {
		r.log.WarnContext(r.ctx, "event not taken", "kind", string(e.Kind), "err", err)
	}
}

// stream takes one event of the model's stream.
func (r *run) stream(e streamEvent) {
	switch e.Type {
	case "message_start":
		r.open = true
		if e.Message != nil {
			r.text.begin(e.Message.ID)
			r.usage.Model = e.Message.Model
			r.window(e.Message.Usage)
			r.meter.begin(e.Message.ID, e.Message.Usage)
			r.spend()
		}
	case "content_block_start":
		r.text.open(e.Block != nil && e.Block.Type == "text")
	case "content_block_delta":
		switch {
		case e.Delta == nil:
		case e.Delta.Type == "text_delta":
			r.say(r.text.add(e.Delta.Text))
		case e.Delta.Type == "thinking_delta" && e.Delta.Thinking != "":
			r.emit(chat.Event{Kind: chat.EventThought, Text: e.Delta.Thinking})
		}
	case "content_block_stop":
		r.say(r.text.close())
	case "message_delta":
		if e.Delta != nil && e.Delta.Stop != "" {
			r.open = false
		}
		if e.Usage != nil {
			r.usage.Used += e.Usage.Out
			r.meter.count(r.meter.now, e.Usage)
			r.spend()
		}
	}
}

// window notes how much of the context window a call of the model filled.
func (r *run) window(t *tokens) {
	if t != nil {
		r.usage.Used = t.input()
	}
}

// say emits pieces of the answer.
func (r *run) say(pieces []piece) {
	for _, p := range pieces {
		switch {
		case p.text != "":
			r.emit(chat.Event{Kind: chat.EventText, Text: p.text})
		case p.ends:
			r.emit(chat.Event{Kind: chat.EventBreak})
		}
	}
}

// synthetic is the model name of messages that the agent writes itself.
const synthetic = "<synthetic>"

// assistant takes a finished block of the model. Text that was streamed is
// known already.
func (r *run) assistant(m chatMsg, parent string) {
	r.meter.count(m.Message.ID, m.Message.Usage)
	for _, b := range m.Message.Content {
		switch b.Type {
		case "text":
			switch {
			case parent != "": // a sub-agent talks to the agent, not to the user
			case m.Message.Model == synthetic:
				r.unsigned = b.Text
			case !r.text.streamed(m.Message.ID):
				r.open = false
				r.window(m.Message.Usage)
				r.say(r.text.whole(b.Text))
			}
		case "tool_use":
			r.toolStarted(b)
		}
	}
	r.spend()
}

func (r *run) toolStarted(b block) {
	if b.Name == toolTodo {
		r.emit(chat.Event{Kind: chat.EventPlan, Plan: todoSteps(b.Input)})
		return
	}
	switch b.Name { // shown as questions
	case toolPlan:
		r.plan = planText(b.Input)
		return
	case toolQuestion:
		return
	}
	t := chat.Tool{ID: b.ID, Name: b.Name, Title: toolTitle(b.Name, b.Input), State: chat.ToolRunning}
	r.tools[t.ID] = t
	r.emit(chat.Event{Kind: chat.EventTool, Tool: &t})
}

// user takes what goes back to the model: results of tools.
func (r *run) user(rs []block) {
	for _, b := range rs {
		t, known := r.tools[b.Result]
		if b.Type != "tool_result" || !known {
			continue
		}
		delete(r.tools, b.Result)
		t.State = chat.ToolDone
		if b.Failed {
			t.State = chat.ToolFailed
		}
		r.emit(chat.Event{Kind: chat.EventTool, Tool: &t})
	}
}

// closeTools shows the end of tools that ended with their run.
func (r *run) closeTools() {
	for _, id := range slices.Sorted(maps.Keys(r.tools)) {
		t := r.tools[id]
		t.State = chat.ToolFailed
		r.emit(chat.Event{Kind: chat.EventTool, Tool: &t})
	}
	clear(r.tools)
}

// frame takes the beginning of a line over the cap and reports whether that is
// all that matters of it: the result of a tool, or a text that was streamed.
func (r *run) frame(first []byte) bool {
	switch {
	case bytes.HasPrefix(first, []byte(`{"type":"user"`)):
		t, known := r.tools[valueOf(first, "tool_use_id")]
		if known {
			r.user([]block{{Type: "tool_result", Result: t.ID}})
		}
		return known
	case bytes.HasPrefix(first, []byte(`{"type":"assistant"`)):
		return r.text.streamed(valueOf(first, "id"))
	}
	return false
}

// retry takes a failed call of the model that the agent repeats, and returns
// the error that ends the turn where repeating is no use.
func (r *run) retry(m retryMsg) error {
	r.text.restart()
	code := m.code()
	r.emit(chat.Event{Kind: chat.EventRetry, Code: code, Text: m.text()})
	if code == chat.LoggedOut {
		return chat.E(chat.LoggedOut, "", fmt.Errorf("the model refused the login: %s", m.text()))
	}
	return nil
}

// finish takes the end of the run and returns its error. cost is the money
// that the run took.
func (r *run) finish(m resultMsg, cost float64, now time.Time) error {
	r.usage.In, r.usage.Out = r.used(m)
	r.called = m.Usage.input() > 0 || m.Usage.Out > 0
	r.usage.CostUSD = cost
	r.usage.Took = time.Duration(m.Duration) * time.Millisecond
	var most int64 = -1
	for name, u := range m.Models {
		if name == r.usage.Model || (r.usage.Model == "" && u.Out > most) {
			most, r.usage.Window = u.Out, u.Window
			if r.usage.Model == "" && len(m.Models) == 1 {
				r.usage.Model = name
			}
		}
	}
	r.say(r.text.close())
	if m.Failed || m.aborted() {
		r.closeTools()
		return m.failure(r.resets, now)
	}
	if r.open && r.text.any { // the agent takes half an answer for a whole one
		r.emit(chat.Event{Kind: chat.EventNotice, Code: chat.Network, Text: i18n.T(i18n.Default, "claude.incomplete")})
	}
	if !r.text.any {
		text := m.Text
		if text == "" {
			text = r.unsigned
		}
		r.say(r.text.whole(text))
	}
	return nil
}

// todoSteps reads the plan out of the to-do tool's input.
func todoSteps(input json.RawMessage) []chat.Step {
	var in struct {
		Todos []struct {
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"todos"`
	}
	if err := decode(input, &in); err != nil {
		return nil
	}
	steps := make([]chat.Step, 0, len(in.Todos))
	for _, t := range in.Todos {
		steps = append(steps, chat.Step{Text: t.Content, Done: t.Status == "completed"})
	}
	return steps
}
