package model_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

var anthropicDialect = dialect{
	name: "messages", shell: "Bash",
	path:    func(bool) string { return "/v1/messages" },
	message: func(b object) string { return text(b, "error", "message") },
	body: func(stream bool, talk []turn, tools []string) object {
		messages := []any{}
		for _, u := range talk {
			switch u.who {
			case "model":
				messages = append(messages, object{"role": "assistant", "content": u.text})
			case "call":
				messages = append(messages, object{"role": "assistant", "content": []any{
					object{"type": "tool_use", "id": "c", "name": "Bash", "input": object{"command": u.text}}}})
			case "result":
				messages = append(messages, object{"role": "user", "content": []any{
					object{"type": "tool_result", "tool_use_id": "c", "content": u.text}}})
			default:
				messages = append(messages, object{"role": u.who, "content": u.text})
			}
		}
		offered := []any{}
		for _, n := range tools {
			offered = append(offered, object{"name": n, "input_schema": shellSchema("command")})
		}
		return object{"model": "mock-large", "max_tokens": 1, "stream": stream, "messages": messages, "tools": offered}
	},
	whole: func(_ *testing.T, b object) string {
		var parts []string
		blocks, _ := b["content"].([]any)
		for _, bl := range blocks {
			parts = append(parts, anthropicPart(text(bl, "type"), text(bl, "text")+text(bl, "thinking"), text(bl, "name"), get(bl, "input")))
		}
		return join(parts)
	},
	streamed: func(_ *testing.T, all []sse) string {
		var parts []string
		var kind, name string
		var sb strings.Builder
		for _, e := range all {
			switch e.name {
			case "content_block_start":
				kind, name = text(e.data, "content_block", "type"), text(e.data, "content_block", "name")
				sb.Reset()
			case "content_block_delta":
				for _, k := range []string{"text", "thinking", "partial_json"} {
					sb.WriteString(text(e.data, "delta", k))
				}
			case "content_block_stop":
				var input any
				if kind == "tool_use" {
					_ = json.Unmarshal([]byte(sb.String()), &input)
				}
				parts = append(parts, anthropicPart(kind, sb.String(), name, input))
			}
		}
		return join(parts)
	},
}

func anthropicPart(kind, text, name string, input any) string {
	switch kind {
	case "thinking":
		return "(" + text + ")"
	case "tool_use":
		return "<" + name + ">" + compact(input)
	}
	return text
}

func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// shellSchema is the schema of a tool that takes a command under that name and
// nothing else.
func shellSchema(name string) object {
	return object{"type": "object", "required": []any{name}, "properties": object{name: object{"type": "string"}}}
}

func TestMessagesHaveTheirEventsInOrder(t *testing.T) {
	t.Parallel()
	resp := send(t, open(t), "/v1/messages", anthropicDialect.body(true, []turn{{"user", "think deep\nsay hi\nrun ls"}}, []string{"Bash"}))
	var names []string
	for _, e := range events(t, resp.Body) {
		if len(names) == 0 || names[len(names)-1] != e.name {
			names = append(names, e.name)
		}
		if text(e.data, "type") != e.name {
			t.Errorf("event %s says it is %v", e.name, e.data["type"])
		}
	}
	block := "content_block_start content_block_delta content_block_stop "
	if got, want := strings.Join(names, " "), "message_start "+block+block+block+"message_delta message_stop"; got != want {
		t.Errorf("events = %s", got)
	}
}

func TestMessagesCountPicturesAndDocuments(t *testing.T) {
	t.Parallel()
	s := open(t)
	source := object{"type": "base64", "media_type": "image/png", "data": "AA=="}
	body := anthropicDialect.body(false, []turn{{"user", "x"}}, nil)
	body["messages"] = []any{object{"role": "user", "content": []any{
		object{"type": "image", "source": source}, object{"type": "document", "source": source}, object{"type": "text", "text": "seen"}}}}
	if got := anthropicDialect.whole(t, decode(t, send(t, s, "/v1/messages", body))); got != "images 1 documents 1" {
		t.Error(got)
	}
	if r := s.Requests()[0]; r.Images != 1 || r.Documents != 1 {
		t.Errorf("noted %+v", r)
	}
}

func TestMessagesRefuseWhatAnthropicRefuses(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, spoil := range map[string]func(object){
		"no model":      func(b object) { delete(b, "model") },
		"no max_tokens": func(b object) { delete(b, "max_tokens") },
		"an empty text": func(b object) {
			b["messages"] = []any{object{"role": "user", "content": []any{object{"type": "text", "text": ""}}}}
		},
	} {
		body := anthropicDialect.body(false, []turn{{"user", "say hi"}}, nil)
		spoil(body)
		resp := send(t, s, "/v1/messages", body)
		if got := decode(t, resp); resp.StatusCode != http.StatusBadRequest || text(got, "error", "type") != "invalid_request_error" {
			t.Errorf("%s: status %d, %v", name, resp.StatusCode, got)
		}
	}
}
