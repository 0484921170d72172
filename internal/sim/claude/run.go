package claude

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"cligate/internal/sim/script"
)

// run is one stretch from init to result.
type run struct {
	*agent
	began   time.Time
	ids     []string // messages it works at
	todo    []script.Step
	files   []string // what came with them, by type
	answer  string   // last text
	after   string   // what the model says about the last tool when nothing else is to do
	outcome object   // how it ends, when not by itself
	big     int      // MiB of text in the result
	double  bool     // a second, failed result follows
}

// run works at some messages.
func (a *agent) run(ctx context.Context, ms []message) {
	r := &run{agent: a, began: time.Now()}
	r.begin(ms)
	if ms[0].unasked {
		r.todo = append(r.todo, steps(ms)...)
		r.start()
		r.play(ctx)
		r.result(object{"origin": object{"kind": "task-notification"}})
		return
	}
	switch ms[0].text() {
	case "/clear":
		r.clear()
	case "/compact":
		a.system("status", object{"status": "compacting"})
		r.start()
		a.system("compact_boundary", object{"compact_metadata": object{
			"trigger": "manual", "pre_tokens": 4321, "post_tokens": 123}})
	default:
		r.start()
		r.play(ctx)
	}
	if ctx.Err() != nil && r.outcome == nil {
		a.event(object{"type": "user", "message": object{"role": "user", "content": []any{
			object{"type": "text", "text": "[Request interrupted by user]"}}}})
		r.outcome = failed("", "error_during_execution", "aborted_streaming", 0)
	}
	r.result(nil)
	r.finish()
}

// begin notes that the agent works at ms from now on.
func (r *run) begin(ms []message) {
	for _, m := range ms {
		if m.unasked {
			continue
		}
		r.ids = append(r.ids, m.UUID)
		r.files = append(r.files, m.files()...)
		r.mu.Lock()
		r.past = append(r.past, m.text())
		r.mu.Unlock()
		r.st.remember("user", m.text(), m.UUID)
		r.st.note(Entry{Kind: KindBegin, ID: m.UUID})
		r.lifecycle(m.UUID, "started")
		if r.opts.replay {
			r.event(object{"type": "user", "isReplay": true, "message": object{"role": "user", "content": m.text()}})
		}
	}
	r.todo = append(r.todo, steps(ms)...)
	if len(ms) > 0 && ms[0].unasked {
		r.todo = nil
	}
}

func (r *run) start() {
	s := r.now()
	r.system("init", object{
		"cwd": r.st.dir, "tools": []string{"AskUserQuestion", "Bash", "ExitPlanMode"}, "model": s.model,
		"permissionMode": s.mode, "claude_code_version": Version, "slash_commands": []string{"compact", "clear", "context"},
	})
	r.system("status", object{"status": "requesting"})
}

// play goes through the steps. Between two tools it takes in what was sent in
// the meantime.
func (r *run) play(ctx context.Context) {
	for len(r.todo) > 0 && ctx.Err() == nil && r.outcome == nil {
		st := r.todo[0]
		r.todo = r.todo[1:]
		if !r.step(ctx, st) {
			continue
		}
		if more := r.steered(); len(more) > 0 {
			rest := r.todo
			r.todo = nil
			r.begin(more)
			r.todo = append(r.todo, rest...)
		}
		if r.after != "" && len(r.todo) == 0 && ctx.Err() == nil {
			r.say(r.after)
		}
		r.after = ""
	}
}

// clear begins a new session in the same process.
func (r *run) clear() {
	id := uuid.NewString()
	r.event(object{"type": "conversation_reset", "new_conversation_id": id})
	r.st.use(id)
	r.st.cleared()
	r.mu.Lock()
	r.session, r.past, r.set.cost = id, nil, 0
	r.mu.Unlock()
	r.start()
}

// price of a run, in dollars.
const price = 0.01

// result tells how the run ended.
func (r *run) result(more object) {
	r.setting(func(s *settings) {
		s.cost += price
		s.failed = r.outcome != nil
	})
	s := r.now()
	r.setting(func(s *settings) { s.calls, s.helped = 0, 0 })
	all := s.calls + s.helped
	m := object{
		"type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed",
		"num_turns": 1, "duration_ms": time.Since(r.began).Milliseconds(), "total_cost_usd": s.cost, "result": r.answer,
		"usage": object{"input_tokens": 100 * s.calls, "output_tokens": 10 * s.calls, "cache_read_input_tokens": 20 * s.calls},
		"modelUsage": object{s.model: object{
			"inputTokens": 120, "outputTokens": 10, "costUSD": s.cost, "contextWindow": 200000,
		}},
		"model_usage_since_last_result": object{s.model: object{
			"inputTokens": 100 * all, "outputTokens": 10 * all, "cacheReadInputTokens": 20 * all,
		}},
	}
	for _, over := range []object{r.outcome, more} {
		for k, v := range over {
			m[k] = v
		}
	}
	if _, says := r.outcome["result"]; r.outcome != nil && !says {
		delete(m, "result")
	}
	r.st.note(Entry{Kind: KindResult, Text: fmt.Sprint(m["terminal_reason"])})
	if r.big > 0 {
		r.out.long(fmt.Sprintf(`{"total_cost_usd":%g,"is_error":false,"subtype":"success","session_id":%q,"result":"`,
			s.cost, r.id()), r.big, `","type":"result"}`)
		return
	}
	r.event(m)
}

// finish tells the ends of the messages, after the result.
func (r *run) finish() {
	end := "completed"
	if r.outcome != nil {
		end = "cancelled"
	}
	for _, id := range r.ids {
		r.lifecycle(id, end)
	}
	if r.double {
		r.event(mergeObjects(failed("a second result", "error_during_execution", "api_error", 500), object{
			"type": "result", "total_cost_usd": r.now().cost,
		}))
	}
}

func mergeObjects(a, b object) object {
	for k, v := range b {
		a[k] = v
	}
	return a
}

// failed is the outcome of a run that did not end well.
func failed(text, subtype, reason string, status int) object {
	o := object{"is_error": true, "subtype": subtype, "terminal_reason": reason, "result": text, "api_error_status": nil}
	if status != 0 {
		o["api_error_status"] = status
	}
	if text == "" {
		delete(o, "result")
		o["errors"] = []string{"[ede_diagnostic]"}
	}
	return o
}

// say streams a text in small pieces.
func (r *run) say(text string) {
	var deltas []object
	for piece := range strings.SplitAfterSeq(text, " ") {
		if piece != "" {
			deltas = append(deltas, object{"type": "text_delta", "text": piece})
		}
	}
	r.block(r.now().model, object{"type": "text", "text": text}, deltas...)
	r.answer = text
	r.st.remember("assistant", text, "")
}

// pause waits; false when the run was ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
