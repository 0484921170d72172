package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// message is one line in either direction. Fields that an agent adds are
// ignored, fields that it leaves out are empty.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// incoming is message as it is read.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// rpcError is an error object of either side.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Codes that mean something to us.
const (
	codeNoMethod = -32601
	codeInternal = -32603
	codeAuth     = -32000
	codeNotFound = -32002
)

func (e *rpcError) Error() string {
	return fmt.Sprintf("agent error %d: %s", e.Code, e.text())
}

// text is everything that the error says, for people and for classification.
func (e *rpcError) text() string {
	var data struct {
		Details string `json:"details"`
		Message string `json:"message"`
	}
	var plain string
	if json.Unmarshal(e.Data, &data) != nil {
		_ = json.Unmarshal(e.Data, &plain)
	}
	var parts []string
	for _, s := range []string{inner(e.Message), inner(data.Details), inner(data.Message), plain} {
		if s != "" && s != "Internal error" && !strings.Contains(strings.Join(parts, " "), s) {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return e.Message
	}
	return strings.Join(parts, ": ")
}

// inner takes the message out of a text that is a model service's JSON.
func inner(s string) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(s), &body) == nil && body.Error.Message != "" {
		return body.Error.Message
	}
	return s
}

// UnmarshalJSON takes any JSON value: an agent may put a bare text here.
func (e *rpcError) UnmarshalJSON(b []byte) error {
	type plain rpcError
	var p plain
	if err := json.Unmarshal(b, &p); err == nil {
		*e = rpcError(p)
		return nil
	}
	e.Code, e.Message = codeInternal, string(bytes.Trim(b, `"`))
	return nil
}

// Messages of ours.

type initialize struct {
	ProtocolVersion int          `json:"protocolVersion"`
	Capabilities    capabilities `json:"clientCapabilities"`
	Client          party        `json:"clientInfo"`
}

// capabilities say what the agent may ask of us: questions, but neither files
// nor terminals, which it has itself.
type capabilities struct {
	FS struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal    bool `json:"terminal"`
	Elicitation struct {
		Form struct{} `json:"form"`
	} `json:"elicitation"`
}

type party struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type openSession struct {
	SessionID string     `json:"sessionId,omitempty"`
	Dir       string     `json:"cwd"`
	Servers   []struct{} `json:"mcpServers"`
}

type setting struct {
	SessionID string `json:"sessionId"`
	Mode      string `json:"modeId,omitempty"`
	Model     string `json:"modelId,omitempty"`
	Option    string `json:"configId,omitempty"`
	Value     string `json:"value,omitempty"`
}

type prompt struct {
	SessionID string    `json:"sessionId"`
	Prompt    []content `json:"prompt"`
}

type cancelNote struct {
	SessionID string `json:"sessionId"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Messages of the agent.

type presented struct {
	Agent        party `json:"agentInfo"`
	Capabilities struct {
		Load   bool `json:"loadSession"`
		Prompt struct {
			Image bool `json:"image"`
		} `json:"promptCapabilities"`
	} `json:"agentCapabilities"`
}

type opened struct {
	SessionID string `json:"sessionId"`
	Modes     struct {
		Available []offer `json:"availableModes"`
	} `json:"modes"`
	Models struct {
		Current   string  `json:"currentModelId"`
		Available []offer `json:"availableModels"`
	} `json:"models"`
	Options []configOption `json:"configOptions"`
}

// offer is a mode, by its id, or a model.
type offer struct {
	ID    string `json:"id"`
	Model string `json:"modelId"`
}

type configOption struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Current  any    `json:"currentValue"`
	Options  []struct {
		Value string `json:"value"`
	} `json:"options"`
}

type prompted struct {
	StopReason string `json:"stopReason"`
	Usage      *struct {
		In  int64 `json:"inputTokens"`
		Out int64 `json:"outputTokens"`
	} `json:"usage"`
	Meta struct {
		Quota struct {
			Tokens struct {
				In  int64 `json:"input_tokens"`
				Out int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta"`
}

type updateNote struct {
	SessionID string `json:"sessionId"`
	Update    update `json:"update"`
}

// update is any kind of session/update.
type update struct {
	Kind     string          `json:"sessionUpdate"`
	Message  string          `json:"messageId"` // the block that a piece belongs to
	Content  json.RawMessage `json:"content"`   // a block, or a list of them for tools
	Commands []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"availableCommands"`
	Options []configOption `json:"configOptions"`
	Entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
	Used int64 `json:"used"`
	Size int64 `json:"size"`
	toolCall
}

// toolCall is a tool_call, a change of one, and what a permission is about.
type toolCall struct {
	ID       string          `json:"toolCallId"`
	Name     string          `json:"name"`
	Kind     string          `json:"kind"`
	Title    string          `json:"title"`
	Status   string          `json:"status"`
	RawInput json.RawMessage `json:"rawInput"`
	Meta     toolMeta        `json:"_meta"`
}

type toolMeta struct {
	Tool      string      `json:"toolName"`
	Questions []metaQuery `json:"qwenQuestions"`
	Claude    toolName    `json:"claudeCode"`
}

type toolName struct {
	Tool string `json:"toolName"`
}

// metaQuery is a question that travels inside a permission request.
type metaQuery struct {
	Question string `json:"question"`
	Header   string `json:"header"`
	Multi    bool   `json:"multiSelect"`
	Options  []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
}

type permission struct {
	Call struct {
		toolCall
		Content json.RawMessage `json:"content"`
	} `json:"toolCall"`
	Options []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type permitted struct {
	Outcome outcome           `json:"outcome"`
	Answers map[string]string `json:"answers,omitempty"` // by the number of the question
}

type outcome struct {
	Outcome string `json:"outcome"`
	Option  string `json:"optionId,omitempty"`
}

// decode reads params or results. What does not fit stays empty: an agent's
// odd field must not cost the turn.
func decode[T any](raw json.RawMessage) (T, error) {
	var v T
	if len(raw) == 0 || string(raw) == "null" {
		return v, nil
	}
	err := json.Unmarshal(raw, &v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		err = nil
	}
	return v, err
}

var (
	headID     = regexp.MustCompile(`"id"\s*:\s*("[^"]{1,100}"|-?\d{1,18})`)
	headMethod = regexp.MustCompile(`"method"\s*:\s*"([^"]{1,100})"`)
)

// decodeHead finds out what a line was of which only the beginning was kept.
func decodeHead(head []byte) (id json.RawMessage, method string) {
	if m := headMethod.FindSubmatch(head); m != nil {
		method = string(m[1])
	}
	if m := headID.FindSubmatch(head); m != nil {
		id = bytes.Clone(m[1])
	}
	return id, method
}
