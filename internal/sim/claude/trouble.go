package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"cligate/internal/sim/script"
)

// trouble does what goes wrong in the world.
func (r *run) trouble(ctx context.Context, st script.Step) {
	switch st.Verb {
	case "fail":
		r.fail(ctx, st)
	case "half":
		r.half()
	case "cut":
		r.say("half of the ans")
		r.outcome = failed("API Error: Connection lost mid-response.", "success", "api_error", 0)
	case "die":
		r.stopTools()
		os.Exit(st.Int(0, 1))
	case "hang":
		<-ctx.Done()
	case "deaf":
		r.deaf.Store(true)
		if len(r.todo) == 0 {
			select {}
		}
	case "mute":
		r.out.close()
		select {}
	case "garbage":
		r.garbage()
	case "bigline":
		r.bigLine(st)
	case "stderr":
		for i := range st.Int(0, 1) {
			fmt.Fprintf(os.Stderr, "complaint %d %s %s\n", i, st.After(1), strings.Repeat("e", 1000))
		}
	case "compact":
		r.system("status", object{"status": "compacting"})
		r.event(object{"type": "result", "subtype": "compaction", "is_error": false, "result": "compacted"})
		r.system("compact_boundary", object{"compact_metadata": object{"trigger": "auto"}})
	case "double":
		r.double = true
	case "bg", "background":
		r.background(st)
	case "later":
		time.AfterFunc(time.Duration(st.Int(0, 100))*time.Millisecond, func() {
			r.event(object{"type": "assistant", "parent_tool_use_id": nil, "message": object{
				"id": r.next("msg"), "model": r.now().model, "role": "assistant",
				"content": []any{object{"type": "text", "text": st.After(1)}}}})
		})
	case "child":
		r.child()
	case "env":
		var names []string
		for _, v := range os.Environ() {
			name, _, _ := strings.Cut(v, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		r.say("env: " + strings.Join(names, " "))
	case "args":
		line, _ := json.Marshal(r.opts.args) // strings always encode
		r.say("args: " + string(line))
	case "id":
		r.say("id: " + r.id())
	default:
		r.say("I cannot " + st.Verb)
	}
}

// half streams half an answer and takes it for a whole one.
func (r *run) half() {
	model, id := r.now().model, r.next("msg")
	r.stream(object{"type": "message_start", "message": object{"id": id, "model": model, "content": []any{}, "usage": begun()}})
	r.setting(func(s *settings) { s.calls++ })
	r.stream(object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
	r.stream(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": "half of the ans"}})
	r.answer = "half of the ans"
}

// background is work that ends later and then starts a run by itself.
func (r *run) background(st script.Step) {
	id, text := r.next("task"), st.After(1)
	if text == "" {
		text = "the background task is done"
	}
	r.system("task_started", object{"task_id": id, "is_backgrounded": true, "task_type": "local_bash"})
	a := r.agent
	t := time.AfterFunc(time.Duration(st.Int(0, 100))*time.Millisecond, func() {
		a.mu.Lock()
		_, there := a.tasks[id]
		delete(a.tasks, id)
		a.mu.Unlock()
		if !there {
			return
		}
		a.system("task_notification", object{"task_id": id, "status": "completed"})
		m := message{Type: "user", unasked: true}
		m.Message.Content, _ = json.Marshal("say " + text) // a string always encodes
		a.enqueue(m)
	})
	r.mu.Lock()
	r.tasks[id] = t
	r.mu.Unlock()
}

// fault is a way in which calls of the model fail.
type fault struct {
	status int
	kind   string
	text   string
	again  bool // the agent tries again
}

var faults = map[string]fault{
	"400":     {400, "invalid_request_error", "API Error: 400 as told", false},
	"401":     {401, "authentication_failed", "Failed to authenticate. API Error: 401 as told", true},
	"403":     {403, "permission_error", "Failed to authenticate. API Error: 403 as told", false},
	"404":     {404, "not_found_error", "There's an issue with the selected model. It may not exist.", false},
	"429":     {429, "rate_limit", "API Error: Request rejected (429) · as told", true},
	"500":     {500, "server_error", "API Error: 500 as told", true},
	"529":     {529, "overloaded", "API Error: 529 Overloaded", true},
	"login":   {0, "", "Not logged in · Please run /login", false},
	"expired": {401, "authentication_failed", "OAuth session expired · Please run /login", true},
	"network": {0, "unknown", "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)", true},
	"context": {400, "invalid_request_error", "Prompt is too long", false},
	"limit":   {429, "rate_limit", "You've hit your limit · resets in an hour", false},
}

// fail fails a call of the model: for good, or n times.
func (r *run) fail(ctx context.Context, st script.Step) {
	f, ok := faults[st.First()]
	if !ok {
		f = faults["500"]
	}
	if st.First() == "limit" {
		r.event(object{"type": "rate_limit_event", "rate_limit_info": object{
			"status": "rejected", "resetsAt": time.Now().Add(time.Hour).Unix()}})
	}
	tries, forGood := st.Int(1, 2), st.Int(1, 0) == 0
	if f.status == 401 {
		tries = 10 // the real one does not know that this is hopeless
	}
	wait := 20 * time.Millisecond
	if f.status == 401 {
		wait = 500 * time.Millisecond
	}
	for i := 0; i < tries && f.again; i++ {
		r.system("api_retry", object{"attempt": i + 1, "max_retries": 10, "retry_delay_ms": wait.Milliseconds(),
			"error_status": orNil(f.status), "error": f.kind})
		if !pause(ctx, wait) {
			return
		}
		if f.status == 401 {
			wait *= 2
		}
	}
	if !forGood {
		return
	}
	r.event(object{"type": "assistant", "parent_tool_use_id": nil, "message": object{
		"id": r.next("msg"), "model": "<synthetic>", "role": "assistant", "content": []any{object{"type": "text", "text": f.text}}}})
	r.outcome = failed(f.text, "success", "api_error", f.status)
}

func orNil(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// garbage is output that no reader may stumble over.
func (r *run) garbage() {
	for _, line := range []string{
		"this is not JSON", "", "   ", "\r", "42", "null", "[]", `"text"`, "{", `{"type":42}`, `{"type":"assistant"}`,
		`{"type":"assistant","message":{"content":42}}`, `{"type":"stream_event"}`, `{"type":"stream_event","event":{"type":"content_block_delta"}}`,
		`{"type":"no_such_type","session_id":"","x":[1,2,3]}`, `{"type":"system","subtype":"no_such_subtype"}`,
		`{"type":"system","subtype":"init","session_id":""}`, `{"type":"user","message":{"content":[{"type":"tool_result"}]}}`,
		`{"type":"control_response","response":{"request_id":"nobody's"}}`, `{"type":"control_cancel_request","request_id":"nobody's"}`,
		`{"type":"command_lifecycle","command_uuid":"nobody's","state":"started"}`,
		"\x00\x01\xff\xfe binary", "a\u2028b\u2029c\u0085d",
	} {
		r.out.raw([]byte(line + "\n"))
	}
	r.out.send(object{"type": "control_request", "request_id": "strange", "request": object{"subtype": "no_such_request"}})
}

// bigLine prints one line of n MiB: a tool's output, or the result.
func (r *run) bigLine(st script.Step) {
	n := st.Int(0, 1)
	if st.After(1) == "result" {
		r.big = n
		return
	}
	r.out.long(fmt.Sprintf(`{"type":"user","session_id":%q,"message":{"role":"user","content":[{"type":"tool_result","content":"`, r.id()),
		n, `"}]}}`)
}
