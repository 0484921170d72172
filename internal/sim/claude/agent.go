package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"cligate/internal/sim/script"
)

// message is one line of input.
type message struct {
	Type     string `json:"type"`
	UUID     string `json:"uuid"`
	Priority string `json:"priority"` // "now" ends what runs
	Message  struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	ID       string   `json:"request_id"`
	Request  control  `json:"request"`
	Response response `json:"response"`

	unasked bool // begun by the agent itself
}

type control struct {
	Subtype string `json:"subtype"`
	Model   string `json:"model"`
	Mode    string `json:"mode"`
	Message string `json:"message_uuid"`
	Task    string `json:"task_id"`

	Settings struct {
		Effort string `json:"effortLevel"`
	} `json:"settings"`
}

type response struct {
	Subtype string          `json:"subtype"`
	ID      string          `json:"request_id"`
	Body    json.RawMessage `json:"response"`
}

// agent is one process's life.
type agent struct {
	opts options
	st   *state
	out  *output
	deaf atomic.Bool
	wake chan struct{}
	idle sync.Cond // nothing runs and nothing waits

	mu      sync.Mutex
	session string
	past    []string
	queue   []message
	busy    bool
	cancel  context.CancelFunc              // ends the run
	open    map[string]chan json.RawMessage // requests of ours
	tasks   map[string]*time.Timer          // work in the background
	tools   map[int]struct{}                // process groups of running tools
	set     settings
}

// settings change while the process lives.
type settings struct {
	model  string
	mode   string
	effort string
	cost   float64
	ids    int
	failed bool // the last run failed
	calls  int  // of the model, in this run; those of helpers are not among them
	helped int  // calls of helpers
	closed bool // the input ended
}

func newAgent(o options, st *state, out *output, session string, past []string) *agent {
	a := &agent{
		opts: o, st: st, out: out, wake: make(chan struct{}, 1), session: session, past: past,
		open: map[string]chan json.RawMessage{}, tasks: map[string]*time.Timer{}, tools: map[int]struct{}{},
		set: settings{model: o.model, mode: o.mode, effort: o.effort, cost: st.cost},
	}
	if a.set.effort == "" {
		a.set.effort = "medium"
	}
	if a.set.model == "" || a.set.model == "default" {
		a.set.model = "sim-large"
	}
	a.idle.L = &a.mu
	return a
}

func (a *agent) id() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session
}

// next makes an id.
func (a *agent) next(kind string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.set.ids++
	return fmt.Sprintf("%s_%s_%d", kind, a.session[:8], a.set.ids) + uuid.NewString()[:4]
}

// take handles one line of input.
func (a *agent) take(m message) {
	switch m.Type {
	case "user":
		a.st.note(Entry{Kind: KindPrompt, ID: m.UUID, Text: m.text()})
		if err := m.check(); err != nil {
			a.st.note(Entry{Kind: KindOverlap, Text: "a message that the model refuses: " + err.Error()})
		}
		a.lifecycle(m.UUID, "queued")
		a.enqueue(m)
		if m.Priority == "now" {
			a.interrupt()
		}
	case "control_request":
		a.control(m)
	case "control_response":
		a.mu.Lock()
		ch := a.open[m.Response.ID]
		delete(a.open, m.Response.ID)
		a.mu.Unlock()
		if ch != nil {
			ch <- m.Response.Body
		}
	}
}

func (a *agent) enqueue(m message) {
	a.mu.Lock()
	if m.Priority == "now" {
		a.queue = slices.Insert(a.queue, 0, m)
	} else {
		a.queue = append(a.queue, m)
	}
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// dequeue takes what the next run is made of: all messages that wait, or one
// thing that the agent starts by itself.
func (a *agent) dequeue() []message {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for n < len(a.queue) && !a.queue[n].unasked && a.queue[n].Priority == "" {
		n++
	}
	if n == 0 && len(a.queue) > 0 {
		n = 1
	}
	next := slices.Clone(a.queue[:n])
	a.queue = a.queue[n:]
	a.busy = n > 0
	if !a.busy {
		a.idle.Broadcast()
	}
	return next
}

// steered takes the messages that wait, for a run that is between two tools.
func (a *agent) steered() []message {
	a.mu.Lock()
	defer a.mu.Unlock()
	var now, later []message
	for _, m := range a.queue {
		if m.unasked || m.Priority != "" {
			later = append(later, m)
		} else {
			now = append(now, m)
		}
	}
	a.queue = later
	return now
}

// work runs what is queued, one run at a time.
func (a *agent) work() {
	for range a.wake {
		for next := a.dequeue(); len(next) > 0; next = a.dequeue() {
			ctx, cancel := context.WithCancel(context.Background())
			a.mu.Lock()
			a.cancel = cancel
			a.mu.Unlock()
			a.run(ctx, next)
			cancel()
		}
	}
}

// leave waits for what is under way and returns the exit code.
func (a *agent) leave() int {
	a.mu.Lock()
	a.set.closed = true
	for id, ch := range a.open {
		delete(a.open, id)
		close(ch)
	}
	for a.busy || len(a.queue) > 0 || a.deaf.Load() {
		a.idle.Wait()
	}
	failed, cost := a.set.failed, a.set.cost
	a.mu.Unlock()
	a.st.total(cost)
	a.st.note(Entry{Kind: KindExit})
	if failed {
		return 1
	}
	return 0
}

// control answers a control request.
func (a *agent) control(m message) {
	reply := func(body object) {
		a.out.send(object{"type": "control_response",
			"response": object{"subtype": "success", "request_id": m.ID, "response": body}})
	}
	refuse := func(code, text string) {
		a.out.send(object{"type": "control_response",
			"response": object{"subtype": "error", "request_id": m.ID, "error": text, "error_code": code}})
	}
	switch r := m.Request; r.Subtype {
	case "initialize":
		reply(greeting())
	case "interrupt":
		a.st.note(Entry{Kind: KindInterrupt})
		if a.deaf.Load() {
			return
		}
		reply(object{"still_queued": []string{}})
		a.interrupt()
	case "cancel_async_message":
		ok := a.withdraw(r.Message)
		if ok {
			a.lifecycle(r.Message, "cancelled")
		}
		reply(object{"cancelled": ok})
	case "stop_task":
		a.stopTask(r.Task)
		reply(object{})
	case "set_model":
		a.st.note(Entry{Kind: KindSet, Text: "model " + r.Model})
		a.setting(func(s *settings) { s.model = r.Model })
		reply(object{"model": r.Model})
	case "set_permission_mode":
		switch {
		case !slices.Contains(modes, r.Mode):
			refuse("invalid_mode", "Cannot set permission mode: must be one of "+fmt.Sprint(modes))
		case r.Mode == "bypassPermissions" && !a.opts.bypass:
			refuse("bypass_not_launched", "Cannot set permission mode to bypassPermissions")
		default:
			a.st.note(Entry{Kind: KindSet, Text: "mode " + r.Mode})
			a.setting(func(s *settings) { s.mode = r.Mode })
			reply(object{"mode": r.Mode})
			a.system("status", object{"status": nil, "permissionMode": r.Mode})
		}
	case "apply_flag_settings":
		if slices.Contains(efforts, r.Settings.Effort) { // it takes others without a word
			a.st.note(Entry{Kind: KindSet, Text: "effort " + r.Settings.Effort})
			a.setting(func(s *settings) { s.effort = r.Settings.Effort })
		}
		reply(nil)
	case "get_settings":
		s := a.now()
		reply(object{"applied": object{"model": s.model, "effort": s.effort}})
	case "get_usage":
		reply(object{"session": object{"total_cost_usd": a.now().cost}})
	case "get_context_usage":
		reply(object{"totalTokens": 130, "maxTokens": 200000, "rawMaxTokens": 200000})
	case "get_plan":
		reply(object{"exists": true, "content": "1. look\n2. leap"})
	default:
		refuse("unsupported_request", "Unsupported control request subtype: "+r.Subtype)
	}
}

func greeting() object {
	command := func(name, help string) object { return object{"name": name, "description": help} }
	return object{
		"claude_code_version": version(),
		"commands":            []object{command("compact", "make room"), command("clear", "begin anew"), command("context", "show it")},
		"models": []object{
			{"value": "default", "resolvedModel": "sim-large", "supportedEffortLevels": efforts},
			{"value": "sim-large", "resolvedModel": "sim-large", "supportedEffortLevels": efforts},
			{"value": "sim-small", "resolvedModel": "sim-small", "supportedEffortLevels": efforts[:2]},
		},
		"account": object{"apiProvider": "firstParty"},
	}
}

func (a *agent) setting(change func(*settings)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.set)
}

func (a *agent) now() settings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.set
}

// interrupt ends the run; questions that are open are taken back.
func (a *agent) interrupt() {
	a.mu.Lock()
	cancel := a.cancel
	if !a.busy {
		cancel = nil
	}
	a.mu.Unlock()
	a.cancelOpen()
	if cancel != nil {
		cancel()
	}
}

// cancelOpen takes questions back.
func (a *agent) cancelOpen() {
	a.mu.Lock()
	var open []string
	for id := range a.open {
		open = append(open, id)
	}
	a.mu.Unlock()
	for _, id := range open {
		a.out.send(object{"type": "control_cancel_request", "request_id": id})
	}
}

func (a *agent) withdraw(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.queue)
	a.queue = slices.DeleteFunc(a.queue, func(m message) bool { return m.UUID == id })
	return len(a.queue) < n
}

func (a *agent) stopTask(id string) {
	a.mu.Lock()
	t := a.tasks[id]
	delete(a.tasks, id)
	a.mu.Unlock()
	if t != nil && t.Stop() {
		a.system("task_notification", object{"task_id": id, "status": "stopped"})
	}
}

// ask sends a permission request and waits for the verdict; nil when it was
// taken back.
func (a *agent) ask(ctx context.Context, tool, toolUse string, input object) (v verdict, ok bool) {
	id := uuid.NewString()
	ch := make(chan json.RawMessage, 1)
	a.mu.Lock()
	closed := a.set.closed
	if !closed {
		a.open[id] = ch
	}
	a.mu.Unlock()
	if closed {
		return verdict{Message: "Tool permission stream closed before response received"}, true
	}
	a.st.note(Entry{Kind: KindAsk, ID: toolUse, Text: tool})
	a.out.send(object{"type": "control_request", "request_id": id, "request": object{
		"subtype": "can_use_tool", "tool_name": tool, "display_name": tool, "input": input, "tool_use_id": toolUse,
	}})
	select {
	case raw, open := <-ch:
		if !open {
			return verdict{Message: "Tool permission stream closed before response received"}, true
		}
		if json.Unmarshal(raw, &v) != nil || (v.Behavior != "allow" && v.Behavior != "deny") {
			v = verdict{Behavior: "deny", Message: "unreadable verdict"}
		}
		if v.lasting() {
			a.st.note(Entry{Kind: KindOverlap, Text: "a verdict that outlives the session: " + string(raw)})
		}
		a.st.note(Entry{Kind: KindAnswer, ID: toolUse, Text: v.Behavior})
		return v, true
	case <-ctx.Done():
		a.mu.Lock()
		delete(a.open, id)
		a.mu.Unlock()
		return verdict{}, false
	}
}

type verdict struct {
	Behavior    string          `json:"behavior"`
	Message     string          `json:"message"`
	Input       json.RawMessage `json:"updatedInput"`
	Interrupt   bool            `json:"interrupt"` // with a denial: end the run
	Permissions []struct {
		Type        string `json:"type"`
		Mode        string `json:"mode"`
		Destination string `json:"destination"`
	} `json:"updatedPermissions"`
}

// lasting reports whether a verdict is written into a file of the user's or of
// the project's.
func (v verdict) lasting() bool {
	for _, p := range v.Permissions {
		if p.Destination != "session" {
			return true
		}
	}
	return false
}

// steps are what the messages ask for, in order.
func steps(ms []message) []script.Step {
	var all []script.Step
	for _, m := range ms {
		all = append(all, script.Parse(m.text())...)
	}
	return all
}
