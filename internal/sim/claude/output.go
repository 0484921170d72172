package claude

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/google/uuid"
)

type object = map[string]any

// output writes messages, one per line.
type output struct {
	mu sync.Mutex
	w  io.WriteCloser
}

func (o *output) send(m object) {
	line, err := json.Marshal(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "encode:", err)
		os.Exit(1)
	}
	o.raw(append(line, '\n'))
}

// raw writes bytes as they are. Nobody reads any more = the end.
func (o *output) raw(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.w.Write(b); err != nil {
		os.Exit(1)
	}
}

// close closes the output for good; the process lives on, and whatever wants
// to write waits for ever.
func (o *output) close() {
	o.mu.Lock()
	o.w.Close()
}

// long writes one line of n MiB between two pieces of JSON.
func (o *output) long(before string, mib int, after string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	chunk := strings.Repeat("x", 1<<20)
	parts := []string{before}
	for range mib {
		parts = append(parts, chunk)
	}
	for _, p := range append(parts, after+"\n") {
		if _, err := io.WriteString(o.w, p); err != nil {
			os.Exit(1)
		}
	}
}

// event sends a message of the session.
func (a *agent) event(m object) {
	m["session_id"] = a.id()
	m["uuid"] = uuid.NewString()
	a.out.send(m)
}

func (a *agent) system(subtype string, m object) {
	m["type"], m["subtype"] = "system", subtype
	a.event(m)
}

func (a *agent) stream(event object) {
	a.event(object{"type": "stream_event", "event": event, "parent_tool_use_id": nil})
}

func (a *agent) lifecycle(id, state string) {
	if id != "" {
		a.event(object{"type": "command_lifecycle", "command_uuid": id, "state": state})
	}
}

// begun are the figures of a call of the model when its answer begins.
func begun() object {
	return object{"input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 1}
}

// block streams one block and then sends it whole.
func (a *agent) block(model string, whole object, deltas ...object) {
	id := a.next("msg")
	msg := object{"id": id, "type": "message", "role": "assistant", "model": model, "content": []any{}, "usage": begun()}
	a.setting(func(s *settings) { s.calls++ })
	a.stream(object{"type": "message_start", "message": msg})
	a.stream(object{"type": "content_block_start", "index": 0, "content_block": empty(whole)})
	for _, d := range deltas {
		a.stream(object{"type": "content_block_delta", "index": 0, "delta": d})
	}
	a.finishBlock(id, model, whole)
}

func (a *agent) finishBlock(id, model string, whole object) {
	a.event(object{"type": "assistant", "parent_tool_use_id": nil, "message": object{
		"id": id, "type": "message", "role": "assistant", "model": model, "content": []any{whole}}})
	a.stream(object{"type": "content_block_stop", "index": 0})
	stop := "end_turn"
	if whole["type"] == "tool_use" {
		stop = "tool_use"
	}
	a.stream(object{"type": "message_delta", "delta": object{"stop_reason": stop}, "usage": object{"output_tokens": 10}})
	a.stream(object{"type": "message_stop"})
}

// empty is the block as it is announced.
func empty(whole object) object {
	switch whole["type"] {
	case "tool_use":
		return object{"type": "tool_use", "id": whole["id"], "name": whole["name"], "input": object{}}
	case "thinking":
		return object{"type": "thinking", "thinking": ""}
	default:
		return object{"type": "text", "text": ""}
	}
}

func (a *agent) toolResult(id, text string, failed bool) {
	a.event(object{"type": "user", "parent_tool_use_id": nil, "message": object{"role": "user", "content": []any{
		object{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed},
	}}})
}
