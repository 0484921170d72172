package claude

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Message types of the agent.
const (
	typeSystem    = "system"
	typeStream    = "stream_event"
	typeAssistant = "assistant"
	typeUser      = "user"
	typeResult    = "result"
	typeLife      = "command_lifecycle"
	typeRequest   = "control_request"
	typeResponse  = "control_response"
	typeCancel    = "control_cancel_request"
	typeReset     = "conversation_reset"
	typeLimit     = "rate_limit_event"
)

// head is what every message of the agent begins to be told by.
type head struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Parent  string `json:"parent_tool_use_id"` // set on what a sub-agent says
}

// initMsg begins a run: the agent is going to work.
type initMsg struct {
	Model string `json:"model"`
	Mode  string `json:"permissionMode"`
}

// statusMsg tells what has changed.
type statusMsg struct {
	Mode string `json:"permissionMode"` // empty when that has not
}

// compactMsg says that the conversation so far was made shorter.
type compactMsg struct {
	Data struct {
		Before int64 `json:"pre_tokens"`
		After  int64 `json:"post_tokens"`
	} `json:"compact_metadata"`
}

// lifeMsg tells what becomes of a message that was sent with an id.
type lifeMsg struct {
	ID    string `json:"command_uuid"`
	State string `json:"state"` // queued, started, completed, cancelled
}

// retryMsg says that the agent repeats a call of the model by itself.
type retryMsg struct {
	Attempt int    `json:"attempt"`
	Max     int    `json:"max_retries"`
	Status  int    `json:"error_status"`
	Error   string `json:"error"`
}

// taskMsg tells about work that outlives its tool call.
type taskMsg struct {
	ID         string `json:"task_id"`
	Background bool   `json:"is_backgrounded"`
}

// limitMsg tells about the account's limits.
type limitMsg struct {
	Info struct {
		Status   string `json:"status"`
		ResetsAt int64  `json:"resetsAt"` // Unix seconds
	} `json:"rate_limit_info"`
}

// streamMsg carries one event of the model's stream.
type streamMsg struct {
	Event streamEvent `json:"event"`
}

type streamEvent struct {
	Type    string  `json:"type"`
	Message *said   `json:"message"`
	Block   *block  `json:"content_block"`
	Delta   *delta  `json:"delta"`
	Usage   *tokens `json:"usage"`
}

type delta struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Thinking string `json:"thinking"`
	Stop     string `json:"stop_reason"` // of a message_delta: why the message ends
}

// chatMsg is an assistant message.
type chatMsg struct {
	Message said `json:"message"`
}

type said struct {
	ID      string  `json:"id"`
	Model   string  `json:"model"`
	Content blocks  `json:"content"`
	Usage   *tokens `json:"usage"`
}

// blocks is a message's content; the agent also sends a plain string.
type blocks []block

func (b *blocks) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		*b = blocks{{Type: "text", Text: s}}
		return nil
	}
	return json.Unmarshal(raw, (*[]block)(b))
}

type block struct {
	Type   string          `json:"type"`
	Text   string          `json:"text"`
	ID     string          `json:"id"` // of a tool_use
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Result string          `json:"tool_use_id"` // of a tool_result
	Failed bool            `json:"is_error"`
}

// tokens are the model's figures for one call, or of a whole run.
type tokens struct {
	In     int64 `json:"input_tokens"`
	Write  int64 `json:"cache_creation_input_tokens"`
	Cached int64 `json:"cache_read_input_tokens"`
	Out    int64 `json:"output_tokens"`
}

func (t tokens) input() int64 { return t.In + t.Write + t.Cached }

// resultMsg ends a run.
type resultMsg struct {
	Failed   bool     `json:"is_error"`
	Reason   string   `json:"terminal_reason"`
	Status   int      `json:"api_error_status"`
	Kind     string   `json:"api_error_type"`
	Text     string   `json:"result"`
	Errors   []string `json:"errors"`
	Cost     float64  `json:"total_cost_usd"` // since the process started, or since /clear
	Duration int64    `json:"duration_ms"`
	Usage    tokens   `json:"usage"`
	Models   map[string]struct {
		Out    int64 `json:"outputTokens"`
		Window int64 `json:"contextWindow"`
	} `json:"modelUsage"`
	// Since are the tokens of all calls since the last result, by model.
	Since map[string]modelTokens `json:"model_usage_since_last_result"`
}

// modelTokens are the figures of a model, sub-agents included.
type modelTokens struct {
	In     int64 `json:"inputTokens"`
	Write  int64 `json:"cacheCreationInputTokens"`
	Cached int64 `json:"cacheReadInputTokens"`
	Out    int64 `json:"outputTokens"`
}

// text is what a failed run says about itself.
func (r resultMsg) text() string {
	if r.Text != "" {
		return r.Text
	}
	return strings.Join(r.Errors, "; ")
}

// requestMsg is something that the agent asks of us.
type requestMsg struct {
	ID      string  `json:"request_id"`
	Request request `json:"request"`
}

type request struct {
	Subtype string          `json:"subtype"`
	Tool    string          `json:"tool_name"`
	Input   json.RawMessage `json:"input"`
	ToolUse string          `json:"tool_use_id"`

	plan string // what the agent wants to carry out, as far as it was seen
}

// responseMsg answers one of our control requests.
type responseMsg struct {
	Response struct {
		Subtype string          `json:"subtype"`
		ID      string          `json:"request_id"`
		Error   string          `json:"error"`
		Code    string          `json:"error_code"`
		Body    json.RawMessage `json:"response"`
	} `json:"response"`
}

// looksLikeResult judges a line over the cap by its first bytes: a run must
// end even when the message that says so is too long to read.
func looksLikeResult(first []byte) bool {
	return bytes.HasPrefix(first, []byte(`{"type":"result"`)) || bytes.Contains(first, []byte(`"total_cost_usd":`))
}

// valueOf finds the first string that a key has in a piece of JSON.
func valueOf(piece []byte, key string) string {
	_, rest, found := bytes.Cut(piece, []byte(`"`+key+`":"`))
	if !found {
		return ""
	}
	value, _, found := bytes.Cut(rest, []byte(`"`))
	if !found {
		return ""
	}
	return string(value)
}

// What we send.

type object = map[string]any

// interrupt asks the agent to end what it does.
func interrupt() object { return object{"subtype": "interrupt"} }

// cancelMessage takes back a message that the agent has not begun with.
func cancelMessage(id string) object {
	return object{"subtype": "cancel_async_message", "message_uuid": id}
}

// userMessage is what a user says: a text, or blocks.
func userMessage(id string, content any) object {
	return object{"type": typeUser, "uuid": id, "message": object{"role": "user", "content": content}}
}

func controlRequest(id string, body object) object {
	return object{"type": typeRequest, "request_id": id, "request": body}
}

func controlResponse(id string, body any) object {
	return object{"type": typeResponse, "response": object{"subtype": "success", "request_id": id, "response": body}}
}

func controlRefusal(id, why string) object {
	return object{"type": typeResponse, "response": object{"subtype": "error", "request_id": id, "error": why}}
}
