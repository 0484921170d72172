package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// chatCompletions is OpenAI's Chat Completions API, with the reasoning_content
// that compatible providers add.
type chatCompletions struct{}

type chatRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []chatMessage `json:"messages"`
	Tools    []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type chatMessage struct {
	Role       string      `json:"role"`
	Content    chatContent `json:"content"`
	ToolCallID string      `json:"tool_call_id"`
	ToolCalls  []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

// chatContent is a list of parts; a plain string is one text part.
type chatContent []chatPart

type chatPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

func (c *chatContent) UnmarshalJSON(b []byte) error {
	switch {
	case string(b) == "null":
		return nil
	case len(b) > 0 && b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*c = chatContent{{Type: "text", Text: s}}
		return nil
	}
	return json.Unmarshal(b, (*[]chatPart)(c))
}

func (c chatContent) text() string {
	var sb strings.Builder
	for _, p := range c {
		sb.WriteString(p.Text)
	}
	return sb.String()
}

func (chatCompletions) read(_ *http.Request, body []byte) (*call, error) {
	var in chatRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.Model == "" || len(in.Messages) == 0 {
		return nil, bad("you must provide a model parameter and at least one message")
	}
	c := &call{model: in.Model, stream: in.Stream, size: len(body), usage: in.StreamOptions.IncludeUsage}
	if in.ResponseFormat.Type == "json_schema" {
		c.form = readSchema(in.ResponseFormat.JSONSchema.Schema)
	}
	for i, t := range in.Tools {
		if t.Type != "function" || t.Function.Name == "" {
			return nil, bad("tools[%d]: a function with a name is required", i)
		}
		c.tools = append(c.tools, newTool(t.Function.Name, t.Function.Parameters))
	}
	return c, chatMessages(c, in.Messages)
}

// chatMessages adds the messages. Each tool call must be answered before
// anybody speaks again, and nothing else may be answered.
func chatMessages(c *call, messages []chatMessage) error {
	waits := map[string]bool{}
	for i, m := range messages {
		if m.Role != "tool" && len(waits) > 0 {
			return bad("an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id' (before messages[%d])", i)
		}
		switch m.Role {
		case "system", "developer":
			c.system += m.Content.text()
		case "user":
			chatParts(c, m.Content)
		case "assistant":
			c.answered(m.Content.text())
			for _, t := range m.ToolCalls {
				waits[t.ID] = true
			}
		case "tool":
			if !waits[m.ToolCallID] {
				return bad("messages[%d]: a message with role 'tool' must be a response to a preceding message with 'tool_calls'", i)
			}
			delete(waits, m.ToolCallID)
			c.gave(m.Content.text())
		default:
			return bad("messages[%d].role: %q is not one of system, developer, user, assistant, tool", i, m.Role)
		}
	}
	if len(waits) > 0 {
		return bad("an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'")
	}
	return nil
}

func chatParts(c *call, parts chatContent) {
	for _, p := range parts {
		switch p.Type {
		case "text":
			c.said(p.Text)
		case "image_url":
			c.images++
		case "file":
			c.documents++
		}
	}
}

func (chatCompletions) refuse(status int, reason, text string) object {
	return openAIError(status, reason, text)
}

func (chatCompletions) whole(id string, c *call, rep *reply) object {
	var text, thought strings.Builder
	message := object{"role": "assistant", "content": nil}
	var calls []any
	for i, b := range rep.blocks {
		switch b.kind {
		case toolBlock:
			calls = append(calls, chatCall(id, i, len(calls), b, b.whole()))
		case thinkingBlock:
			thought.WriteString(b.whole())
			message["reasoning_content"] = thought.String()
		default:
			text.WriteString(b.whole())
			message["content"] = text.String()
		}
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	return object{
		"id": "chatcmpl-" + id, "object": "chat.completion", "created": created, "model": c.model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": chatFinish(rep)}},
		"usage":   chatUsage(c, rep),
	}
}

// created is when every answer was made: tests want the same each time.
const created = 1767225600

func chatCall(id string, i, n int, b out, args string) object {
	return object{
		"index": n, "id": callID("call_", id, i), "type": "function",
		"function": object{"name": b.tool, "arguments": args},
	}
}

func chatFinish(rep *reply) string {
	if rep.tools() {
		return "tool_calls"
	}
	return "stop"
}

func chatUsage(c *call, rep *reply) object {
	return object{
		"prompt_tokens": c.tokens(), "completion_tokens": rep.tokens(), "total_tokens": c.tokens() + rep.tokens(),
		"prompt_tokens_details": object{"cached_tokens": 0}, "completion_tokens_details": object{"reasoning_tokens": 0},
	}
}

func (chatCompletions) begin(id string, c *call, rep *reply) encoder {
	return &chatStream{id: id, call: c, rep: rep}
}

// chatStream is one streamed completion.
type chatStream struct {
	id    string
	call  *call
	rep   *reply
	tools int // tool calls begun so far
}

func (s *chatStream) chunk(delta object, finish any) event {
	return event{data: object{
		"id": "chatcmpl-" + s.id, "object": "chat.completion.chunk", "created": created, "model": s.call.model,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
	}}
}

func (s *chatStream) start() []event {
	return []event{s.chunk(object{"role": "assistant", "content": ""}, nil)}
}

func (s *chatStream) open(i int, b out) []event {
	if b.kind != toolBlock {
		return nil
	}
	s.tools++
	return []event{s.chunk(object{"tool_calls": []any{chatCall(s.id, i, s.tools-1, b, "")}}, nil)}
}

func (s *chatStream) delta(_ int, b out, piece string) []event {
	switch b.kind {
	case toolBlock:
		part := object{"index": s.tools - 1, "function": object{"arguments": piece}}
		return []event{s.chunk(object{"tool_calls": []any{part}}, nil)}
	case thinkingBlock:
		return []event{s.chunk(object{"reasoning_content": piece}, nil)}
	default:
		return []event{s.chunk(object{"content": piece}, nil)}
	}
}

func (s *chatStream) shut(int, out) []event { return nil }

func (s *chatStream) end() []event {
	events := []event{s.chunk(object{}, chatFinish(s.rep))}
	if s.call.usage {
		last := s.chunk(nil, nil)
		last.data.(object)["choices"], last.data.(object)["usage"] = []any{}, chatUsage(s.call, s.rep)
		events = append(events, last)
	}
	return append(events, event{data: done})
}
