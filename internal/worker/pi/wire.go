package pi

import (
	"bytes"
	"encoding/json"
)

type object = map[string]any

// message is any line of the agent; most have a few of these members only.
type message struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Command string          `json:"command"` // of an answer, with the next three
	Success bool            `json:"success"`
	Error   string          `json:"error"`
	Data    json.RawMessage `json:"data"`

	Message *said  `json:"message"`
	Event   update `json:"assistantMessageEvent"`

	ToolID   string          `json:"toolCallId"`
	ToolName string          `json:"toolName"`
	Args     json.RawMessage `json:"args"`
	Failed   bool            `json:"isError"`

	Attempt   int    `json:"attempt"`
	Trouble   string `json:"errorMessage"`
	WillRetry bool   `json:"willRetry"`
	Reason    string `json:"reason"`
	Level     string `json:"level"`

	Steering []string `json:"steering"`

	dialog
}

// dialog is what an extension asks of a person.
type dialog struct {
	Method  string   `json:"method"`
	Title   string   `json:"title"`
	Text    string   `json:"-"` // its "message" is a text, and not what others have under this name
	Options []string `json:"options"`
	Prefill string   `json:"prefill"`
}

// update is one piece of an answer.
type update struct {
	Type  string `json:"type"`
	Index int    `json:"contentIndex"`
	Delta string `json:"delta"`
}

// said is a message of the conversation.
type said struct {
	Role     string  `json:"role"`
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Content  content `json:"content"`
	Usage    usage   `json:"usage"`
	Stop     string  `json:"stopReason"` // stop, length, toolUse, error or aborted
	Trouble  string  `json:"errorMessage"`
}

// content is what a message holds; a plain text is one block.
type content []block

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []block
	if json.Unmarshal(data, &blocks) == nil {
		*c = blocks
	}
	return nil // what is neither has nothing to show
}

type usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Cost       struct {
		Total float64 `json:"total"`
	} `json:"cost"`
}

func (u usage) in() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// modelInfo is a model as the agent knows it.
type modelInfo struct {
	ID       string   `json:"id"`
	Provider string   `json:"provider"`
	Thinks   bool     `json:"reasoning"`
	Sees     []string `json:"input"`
	Window   int64    `json:"contextWindow"`
}

func (m *modelInfo) name() string {
	if m == nil || m.ID == "" {
		return ""
	}
	return m.Provider + "/" + m.ID
}

// is reports whether a name, with or without the provider, is this model's.
func (m *modelInfo) is(name string) bool { return m.ID == name || m.name() == name }

// state is the answer to get_state.
type state struct {
	Model      *modelInfo `json:"model"`
	Level      string     `json:"thinkingLevel"`
	Streaming  bool       `json:"isStreaming"`
	Compacting bool       `json:"isCompacting"`
	File       string     `json:"sessionFile"`
	Pending    int        `json:"pendingMessageCount"`
}

var (
	updateHead = []byte(`{"type":"message_update","assistantMessageEvent":{`)
	dialogHead = []byte(`{"type":"extension_ui_request"`)
)

// read decodes a line. Of a piece of an answer only the beginning is read: the
// rest repeats everything that was said so far. cut says that the line's end
// is missing. Not ok means that there is nothing to be had.
func read(line []byte, cut bool) (m message, ok bool) {
	if bytes.HasPrefix(line, updateHead) {
		if e, ok := readUpdate(line[len(updateHead)-1:]); ok {
			return message{Type: "message_update", Event: e}, true
		}
	}
	if cut {
		return glance(line)
	}
	if bytes.HasPrefix(line, dialogHead) {
		return readDialog(line)
	}
	err := json.Unmarshal(line, &m)
	if _, mismatch := err.(*json.UnmarshalTypeError); mismatch { //nolint:errorlint // as it is returned
		err = nil // a member that is not as we know it costs that member
	}
	return m, err == nil && m.Type != ""
}

// readUpdate reads the beginning of an update, up to where it repeats itself.
func readUpdate(text []byte) (e update, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return e, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return e, false
		}
		switch key {
		case "type":
			err = d.Decode(&e.Type)
		case "contentIndex":
			err = d.Decode(&e.Index)
		case "delta":
			return e, d.Decode(&e.Delta) == nil
		case "partial", "content", "message", "toolCall", "error", "reason":
			return e, true // no new words come after it
		default:
			return e, false
		}
		if err != nil {
			return e, false
		}
	}
	return e, true
}

// readDialog reads a question of an extension, whose message is a text.
func readDialog(line []byte) (message, bool) {
	var d struct {
		dialog
		ID      string `json:"id"`
		Message string `json:"message"`
	}
	if json.Unmarshal(line, &d) != nil || d.ID == "" {
		return message{}, false
	}
	d.Text = d.Message
	return message{Type: "extension_ui_request", ID: d.ID, dialog: d.dialog}, true
}

// glance reads what it can of a line whose end is missing: that a tool or a
// message has ended.
func glance(line []byte) (m message, ok bool) {
	m.Type = valueOf(line, "type")
	m.ToolID, m.ToolName = valueOf(line, "toolCallId"), valueOf(line, "toolName")
	switch m.Type {
	case "tool_execution_end", "agent_end", "turn_end":
		return m, true
	case "response":
		m.ID, m.Command, m.Success = valueOf(line, "id"), valueOf(line, "command"), bytes.Contains(line, []byte(`"success":true`))
		return m, true
	}
	return m, false
}

// valueOf is the first value of a text field in a piece of JSON; empty when
// there is none.
func valueOf(data []byte, key string) string {
	_, rest, ok := bytes.Cut(data, []byte(`"`+key+`":"`))
	if !ok {
		return ""
	}
	value, _, ok := bytes.Cut(rest, []byte(`"`))
	if !ok {
		return ""
	}
	return string(value)
}
