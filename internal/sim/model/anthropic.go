package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// anthropic is the Messages API.
type anthropic struct{}

type anthropicRequest struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	MaxTokens int             `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string           `json:"role"`
		Content anthropicContent `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Output struct {
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

// anthropicContent is a list of blocks; a plain string is one text block.
type anthropicContent []anthropicBlock

type anthropicBlock struct {
	Type      string           `json:"type"`
	Text      string           `json:"text"`
	ID        string           `json:"id"`          // of a tool_use
	ToolUseID string           `json:"tool_use_id"` // of a tool_result
	Content   anthropicContent `json:"content"`     // of a tool_result
	Source    struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"` // of an image or a document
}

func (c *anthropicContent) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*c = anthropicContent{{Type: "text", Text: s}}
		return nil
	}
	return json.Unmarshal(b, (*[]anthropicBlock)(c))
}

func (c anthropicContent) text() string {
	var sb strings.Builder
	for _, b := range c {
		sb.WriteString(b.Text)
	}
	return sb.String()
}

func (anthropic) read(r *http.Request, body []byte) (*call, error) {
	var in anthropicRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.Model == "" || len(in.Messages) == 0 {
		return nil, bad("model and messages are required")
	}
	if in.MaxTokens <= 0 && !strings.HasSuffix(r.URL.Path, "/count_tokens") {
		return nil, bad("max_tokens: Field required")
	}
	c := &call{model: in.Model, stream: in.Stream, system: string(in.System), size: len(body), form: readSchema(in.Output.Format.Schema)}
	for _, t := range in.Tools {
		c.tools = append(c.tools, newTool(t.Name, t.Schema))
	}
	var open []string // tool uses of the message before
	for i, m := range in.Messages {
		if m.Role != "user" && m.Role != "assistant" && m.Role != "system" {
			return nil, bad("messages.%d: role %q is not known", i, m.Role)
		}
		if m.Role == "system" { // it may stand between a tool use and its result
			c.system += m.Content.text()
			continue
		}
		next, err := anthropicMessage(c, i, m.Role, m.Content, open)
		if err != nil {
			return nil, err
		}
		open = next
	}
	return c, nil
}

// anthropicMessage adds one message. Each tool use must be answered in the
// message after it, and nothing else may be answered there.
func anthropicMessage(c *call, i int, role string, content anthropicContent, open []string) ([]string, error) {
	waits := map[string]bool{}
	for _, id := range open {
		waits[id] = true
	}
	var uses []string
	for _, b := range content {
		switch {
		case b.Type == "tool_use":
			uses = append(uses, b.ID)
		case b.Type == "tool_result" && !waits[b.ToolUseID]:
			return nil, bad("messages.%d: unexpected tool_use_id %q in a tool_result: there is no such tool_use in the message before", i, b.ToolUseID)
		case b.Type == "tool_result":
			delete(waits, b.ToolUseID)
			anthropicMedia(c, b.Content)
			c.gave(b.Content.text())
		case b.Type == "text" && b.Text == "":
			return nil, bad("messages.%d: text content blocks must be non-empty", i)
		case b.Type == "text" && role == "user":
			c.said(b.Text)
		case b.Type == "text":
			c.answered(b.Text)
		}
	}
	anthropicMedia(c, content)
	if len(waits) > 0 {
		return nil, bad("messages.%d: tool_use ids were found without tool_result blocks immediately after: %d", i, len(waits))
	}
	return uses, nil
}

func anthropicMedia(c *call, content anthropicContent) {
	for _, b := range content {
		switch b.Type {
		case "image":
			c.images++
		case "document":
			c.documents++
		}
	}
}

// anthropicErrors are the kinds of error, and the usual words.
var anthropicErrors = map[int][2]string{
	http.StatusBadRequest:          {"invalid_request_error", "the request was malformed, as told"},
	http.StatusUnauthorized:        {"authentication_error", "invalid x-api-key"},
	http.StatusForbidden:           {"permission_error", "Your API key does not have permission to use the specified resource."},
	http.StatusNotFound:            {"not_found_error", "model: no-such-model"},
	http.StatusTooManyRequests:     {"rate_limit_error", "This request would exceed your organization's rate limit. Please try again later."},
	http.StatusInternalServerError: {"api_error", "Internal server error"},
	529:                            {"overloaded_error", "Overloaded"},
}

func (anthropic) refuse(status int, reason, text string) object {
	e, ok := anthropicErrors[status]
	if !ok {
		e = anthropicErrors[http.StatusInternalServerError]
	}
	switch reason {
	case reasonContext:
		text = "prompt is too long: 210000 tokens > 200000 maximum"
	case reasonQuota:
		text = "You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC."
	}
	return object{"type": "error", "error": object{"type": e[0], "message": or(text, e[1])}, "request_id": "req_000001"}
}

func (anthropic) whole(id string, c *call, rep *reply) object {
	blocks := make([]any, 0, len(rep.blocks))
	for i, b := range rep.blocks {
		blocks = append(blocks, anthropicFull(id, i, b))
	}
	return object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": c.model,
		"content": blocks, "stop_reason": anthropicStop(rep), "stop_sequence": nil,
		"usage": object{"input_tokens": c.tokens(), "output_tokens": rep.tokens()},
	}
}

func anthropicStop(rep *reply) string {
	if rep.tools() {
		return "tool_use"
	}
	return "end_turn"
}

const anthropicSignature = "c2lnbmF0dXJl"

// anthropicEmpty is a block as it is announced before its deltas.
func anthropicEmpty(id string, i int, b out) object {
	switch b.kind {
	case toolBlock:
		return object{"type": "tool_use", "id": callID("toolu_", id, i), "name": b.tool, "input": object{}}
	case thinkingBlock:
		return object{"type": "thinking", "thinking": "", "signature": ""}
	default:
		return object{"type": "text", "text": ""}
	}
}

func anthropicFull(id string, i int, b out) object {
	full := anthropicEmpty(id, i, b)
	switch b.kind {
	case toolBlock:
		full["input"] = b.input
	case thinkingBlock:
		full["thinking"], full["signature"] = b.whole(), anthropicSignature
	default:
		full["text"] = b.whole()
	}
	return full
}

func (a anthropic) begin(id string, c *call, rep *reply) encoder {
	return &anthropicStream{id: id, message: a.whole(id, c, rep), rep: rep}
}

// anthropicStream is one streamed message.
type anthropicStream struct {
	id      string
	message object
	rep     *reply
}

func named(name string, data object) []event {
	data["type"] = name
	return []event{{name, data}}
}

func (s *anthropicStream) start() []event {
	first := object{}
	for k, v := range s.message {
		first[k] = v
	}
	first["content"], first["stop_reason"] = []any{}, nil
	return named("message_start", object{"message": first})
}

func (s *anthropicStream) open(i int, b out) []event {
	return named("content_block_start", object{"index": i, "content_block": anthropicEmpty(s.id, i, b)})
}

func (s *anthropicStream) delta(i int, b out, piece string) []event {
	var d object
	switch b.kind {
	case toolBlock:
		d = object{"type": "input_json_delta", "partial_json": piece}
	case thinkingBlock:
		d = object{"type": "thinking_delta", "thinking": piece}
	default:
		d = object{"type": "text_delta", "text": piece}
	}
	return named("content_block_delta", object{"index": i, "delta": d})
}

func (s *anthropicStream) shut(i int, b out) []event {
	var events []event
	if b.kind == thinkingBlock {
		events = named("content_block_delta", object{"index": i, "delta": object{"type": "signature_delta", "signature": anthropicSignature}})
	}
	return append(events, named("content_block_stop", object{"index": i})...)
}

func (s *anthropicStream) end() []event {
	last := named("message_delta", object{
		"delta": object{"stop_reason": anthropicStop(s.rep), "stop_sequence": nil},
		"usage": object{"output_tokens": s.rep.tokens()},
	})
	return append(last, named("message_stop", object{})...)
}
