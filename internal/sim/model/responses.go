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
	if err := responsesTools(c, in.Tools, ""); err != nil {
		return nil, err
	}
	return c, responsesItems(c, in.Input)
}

// responsesTools takes the functions, and the tools that take a text instead
// of arguments; what the provider runs itself is never called.
func responsesTools(c *call, tools []responsesTool, space string) error {
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
			if err := responsesTools(c, t.Tools, t.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// responsesItems adds the items. Each call must have one output somewhere
// after it, and each output its call before it.
func responsesItems(c *call, items []responsesItem) error {
	waits := map[string]bool{}
	for i, it := range items {
		switch it.Type {
		case "message", "":
			if err := responsesMessage(c, i, it); err != nil {
				return err
			}
		case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call":
			waits[it.CallID] = true
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output":
			if !waits[it.CallID] {
				return bad("no tool call found for function call output with call_id %s", it.CallID)
			}
			delete(waits, it.CallID)
			responsesMedia(c, it.Output)
			c.gave(it.Output.text())
		}
	}
	for id := range waits {
		return bad("no tool output found for function call %s", id)
	}
	return nil
}

func responsesMessage(c *call, i int, it responsesItem) error {
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
		responsesMedia(c, it.Content)
	case "system", "developer":
		c.system += it.Content.text()
	case "assistant":
		c.answered(it.Content.text())
	default:
		return bad("invalid value: '%s' at input[%d].role", it.Role, i)
	}
	return nil
}

func responsesMedia(c *call, content responsesContent) {
	for _, p := range content {
		switch p.Type {
		case "input_image":
			c.images++
		case "input_file":
			c.documents++
		}
	}
}
