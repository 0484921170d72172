package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// responses is OpenAI's Responses API, without a memory on the server's side:
// each request brings the whole conversation.
type responses struct{}

type responsesRequest struct {
	Model        string          `json:"model"`
	Stream       bool            `json:"stream"`
	Instructions string          `json:"instructions"`
	Input        responsesInput  `json:"input"`
	Previous     string          `json:"previous_response_id"`
	Tools        []responsesTool `json:"tools"`
	Text         struct {
		Format struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`
}

type responsesTool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
	Tools      []responsesTool `json:"tools"` // of a namespace
}

// responsesInput is a list of items; a plain string is one user message.
type responsesInput []responsesItem

type responsesItem struct {
	Type    string           `json:"type"` // "" = message
	Role    string           `json:"role"`
	Content responsesContent `json:"content"`
	CallID  string           `json:"call_id"`
	Output  responsesContent `json:"output"`
}

// responsesContent is a list of parts; a plain string is one text part.
type responsesContent []struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (in *responsesInput) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*in = responsesInput{{Role: "user"}}
		return (*in)[0].Content.UnmarshalJSON(b)
	}
	return json.Unmarshal(b, (*[]responsesItem)(in))
}

func (c *responsesContent) UnmarshalJSON(b []byte) error {
	type list = []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = responsesContent(list{{Type: "input_text", Text: text}})
		return nil
	}
	var l list
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	*c = responsesContent(l)
	return nil
}

func (c responsesContent) text() string {
	var sb strings.Builder
	for _, p := range c {
		sb.WriteString(p.Text)
	}
	return sb.String()
}

func (responses) read(_ *http.Request, body []byte) (*call, error) {
	var in responsesRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Model == "":
		return nil, bad("missing required parameter: 'model'")
	case len(in.Input) == 0:
		return nil, bad("missing required parameter: 'input'")
	case in.Previous != "":
		return nil, bad("previous response with id '%s' not found", in.Previous)
	}
	c := &call{model: in.Model, stream: in.Stream, system: in.Instructions, size: len(body)}
	if in.Text.Format.Type == "json_schema" {
		c.form = readSchema(in.Text.Format.Schema)
	}
	if err := c.responsesTools(in.Tools, ""); err != nil {
		return nil, err
	}
	return c, c.responsesItems(in.Input)
}

// responsesTools takes the functions, and the tools that take a text instead
// of arguments; what the provider runs itself is never called.
func (c *call) responsesTools(tools []responsesTool, space string) error {
	for i, t := range tools {
		switch t.Type {
		case "function":
			if t.Name == "" {
				return bad("missing required parameter: 'tools[%d].name'", i)
			}
			nt := newTool(t.Name, t.Parameters)
			nt.space = space
			c.tools = append(c.tools, nt)
		case "custom":
			c.tools = append(c.tools, tool{name: t.Name, custom: true})
		case "namespace":
			if err := c.responsesTools(t.Tools, t.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// responsesItems adds the items. Each call must have one output somewhere
// after it, and each output its call before it.
func (c *call) responsesItems(items []responsesItem) error {
	waits := map[string]bool{}
	for i, it := range items {
		switch it.Type {
		case "message", "":
			if err := c.responsesMessage(i, it); err != nil {
				return err
			}
		case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call":
			waits[it.CallID] = true
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output":
			if !waits[it.CallID] {
				return bad("no tool call found for function call output with call_id %s", it.CallID)
			}
			delete(waits, it.CallID)
			c.responsesMedia(it.Output)
			c.gave(it.Output.text())
		}
	}
	for id := range waits {
		return bad("no tool output found for function call %s", id)
	}
	return nil
}

func (c *call) responsesMessage(i int, it responsesItem) error {
	switch it.Role {
	case "user":
		for _, p := range it.Content {
			switch p.Type {
			case "input_text":
				c.said(p.Text)
			case "output_text":
				return bad("invalid value: 'output_text' at input[%d]. Supported values are: 'input_text', 'input_image' and 'input_file'", i)
			}
		}
		c.responsesMedia(it.Content)
	case "system", "developer":
		c.system += it.Content.text()
	case "assistant":
		c.answered(it.Content.text())
	default:
		return bad("invalid value: '%s' at input[%d].role", it.Role, i)
	}
	return nil
}

func (c *call) responsesMedia(content responsesContent) {
	for _, p := range content {
		switch p.Type {
		case "input_image":
			c.images++
		case "input_file":
			c.documents++
		}
	}
}

func (responses) refuse(status int, reason, text string) object {
	return openAIError(status, reason, text)
}

func (responses) whole(id string, c *call, rep *reply) object {
	r := responsesObject(id, c, "completed")
	items := make([]any, 0, len(rep.blocks))
	for i, b := range rep.blocks {
		items = append(items, responsesOutput(id, i, b, true))
	}
	r["output"], r["usage"] = items, object{
		"input_tokens": c.tokens(), "output_tokens": rep.tokens(), "total_tokens": c.tokens() + rep.tokens(),
		"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
	}
	return r
}

func responsesObject(id string, c *call, status string) object {
	return object{
		"id": "resp_" + id, "object": "response", "created_at": created, "status": status, "model": c.model,
		"output": []any{}, "error": nil, "incomplete_details": nil, "usage": nil,
	}
}

// responsesOutput is one item of an answer, before or after its deltas.
func responsesOutput(id string, i int, b out, full bool) object {
	status, whole := "in_progress", ""
	if full {
		status, whole = "completed", b.whole()
	}
	switch b.kind {
	case customBlock:
		return object{"type": "custom_tool_call", "id": callID("ctc_", id, i), "call_id": callID("call_", id, i), "name": b.tool, "input": whole, "status": status}
	case toolBlock:
		item := object{"type": "function_call", "id": callID("fc_", id, i), "call_id": callID("call_", id, i), "name": b.tool, "arguments": whole, "status": status}
		if b.space != "" {
			item["namespace"] = b.space
		}
		return item
	case thinkingBlock:
		summary := []any{}
		if full {
			summary = append(summary, object{"type": "summary_text", "text": whole})
		}
		return object{"type": "reasoning", "id": callID("rs_", id, i), "summary": summary}
	default:
		content := []any{}
		if full {
			content = append(content, object{"type": "output_text", "text": whole, "annotations": []any{}})
		}
		return object{"type": "message", "id": callID("msg_", id, i), "role": "assistant", "status": status, "content": content}
	}
}

func (r responses) begin(id string, c *call, rep *reply) encoder {
	return &responsesStream{id: id, call: c, whole: r.whole(id, c, rep)}
}

// late tells a client whose conversation is too long only in the stream.
func (r responses) late(id string, c *call, f *failure) []event {
	if f.reason != reasonContext {
		return nil
	}
	s := &responsesStream{id: id, call: c}
	failed := responsesObject(id, c, "failed")
	failed["error"] = r.refuse(f.status, f.reason, "")["error"]
	return append(s.start(), s.event("response.failed", object{"response": failed}))
}

// responsesStream is one streamed response.
type responsesStream struct {
	id    string
	call  *call
	whole object
	seq   int
}

func (s *responsesStream) event(name string, data object) event {
	data["type"], data["sequence_number"] = name, s.seq
	s.seq++
	return event{name, data}
}

func (s *responsesStream) start() []event {
	return []event{
		s.event("response.created", object{"response": responsesObject(s.id, s.call, "in_progress")}),
		s.event("response.in_progress", object{"response": responsesObject(s.id, s.call, "in_progress")}),
	}
}

func (s *responsesStream) open(i int, b out) []event {
	events := []event{s.event("response.output_item.added", object{"output_index": i, "item": responsesOutput(s.id, i, b, false)})}
	switch b.kind {
	case textBlock:
		events = append(events, s.event("response.content_part.added", s.at(i, b, object{"content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []any{}}})))
	case thinkingBlock:
		events = append(events, s.event("response.reasoning_summary_part.added", s.at(i, b, object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}})))
	case toolBlock, customBlock: // they have no parts
	}
	return events
}

// at adds where in the response data belongs.
func (s *responsesStream) at(i int, b out, data object) object {
	data["output_index"], data["item_id"] = i, responsesOutput(s.id, i, b, false)["id"]
	return data
}

func (s *responsesStream) delta(i int, b out, piece string) []event {
	data := s.at(i, b, object{"delta": piece})
	switch b.kind {
	case toolBlock:
		return []event{s.event("response.function_call_arguments.delta", data)}
	case customBlock:
		return []event{s.event("response.custom_tool_call_input.delta", data)}
	case thinkingBlock:
		data["summary_index"] = 0
		return []event{s.event("response.reasoning_summary_text.delta", data)}
	default:
		data["content_index"] = 0
		return []event{s.event("response.output_text.delta", data)}
	}
}

func (s *responsesStream) shut(i int, b out) []event {
	var events []event
	switch b.kind {
	case toolBlock:
		events = append(events, s.event("response.function_call_arguments.done", s.at(i, b, object{"arguments": b.whole()})))
	case customBlock:
		events = append(events, s.event("response.custom_tool_call_input.done", s.at(i, b, object{"input": b.whole()})))
	case thinkingBlock:
		part := object{"type": "summary_text", "text": b.whole()}
		events = append(events,
			s.event("response.reasoning_summary_text.done", s.at(i, b, object{"summary_index": 0, "text": b.whole()})),
			s.event("response.reasoning_summary_part.done", s.at(i, b, object{"summary_index": 0, "part": part})))
	default:
		part := object{"type": "output_text", "text": b.whole(), "annotations": []any{}}
		events = append(events,
			s.event("response.output_text.done", s.at(i, b, object{"content_index": 0, "text": b.whole()})),
			s.event("response.content_part.done", s.at(i, b, object{"content_index": 0, "part": part})))
	}
	return append(events, s.event("response.output_item.done", object{"output_index": i, "item": responsesOutput(s.id, i, b, true)}))
}

func (s *responsesStream) end() []event {
	return []event{s.event("response.completed", object{"response": s.whole})}
}
