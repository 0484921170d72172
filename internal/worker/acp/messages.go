package acp

import (
	"encoding/json"
)

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

type listSessions struct {
	Dir    string `json:"cwd"`
	Cursor string `json:"cursor,omitempty"`
}

type prompt struct {
	SessionID string    `json:"sessionId"`
	Prompt    []content `json:"prompt"`
}

// steering are words for the turn that runs. Where none does any more they must
// not begin one.
type steering struct {
	SessionID string    `json:"sessionId"`
	Prompt    []content `json:"prompt"`
	Meta      struct {
		Steering struct {
			Idle string `json:"idleBehavior"`
		} `json:"steering"`
	} `json:"_meta"`
}

// steered is the answer; only "injected" means that they were taken.
type steered struct {
	Outcome string `json:"outcome"`
}

type cancelNote struct {
	SessionID string `json:"sessionId"`
}

// content is a block of a prompt or of an answer: a text, or a picture.
type content struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	MIME string `json:"mimeType,omitempty"`
	Data []byte `json:"data,omitempty"` // base64 in the message
}

// Messages of the agent.

type presented struct {
	Agent        party `json:"agentInfo"`
	Capabilities struct {
		Load   bool `json:"loadSession"`
		Prompt struct {
			Image bool `json:"image"`
		} `json:"promptCapabilities"`
		Session struct {
			List *struct{} `json:"list"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Meta struct {
		Steering struct {
			Supported bool `json:"supported"`
		} `json:"steering"`
	} `json:"_meta"`
}

type opened struct {
	SessionID string `json:"sessionId"`
	Modes     struct {
		Current   string  `json:"currentModeId"`
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
	Name  string `json:"name"`
	Meta  struct {
		Window int64 `json:"contextLimit"`
	} `json:"_meta"`
}

// configOption is a setting of the agent's own.
type configOption struct {
	ID       string        `json:"id"`
	Category string        `json:"category"`
	Current  any           `json:"currentValue"`
	Options  []optionValue `json:"options"`
}

// optionValue is a value, or a group of them.
type optionValue struct {
	Value   string        `json:"value"`
	Name    string        `json:"name"`
	Options []optionValue `json:"options"`
}

// values are those of an option, of all groups.
func (o configOption) values() (all []choice) {
	for _, v := range o.Options {
		if v.Value != "" {
			all = append(all, choice{ID: v.Value, Name: v.Name})
		}
		for _, g := range v.Options {
			all = append(all, choice{ID: g.Value, Name: g.Name})
		}
	}
	return all
}

// listed is a page of the agent's sessions.
type listed struct {
	Sessions []struct {
		ID      string `json:"sessionId"`
		Dir     string `json:"cwd"`
		Title   string `json:"title"`
		Updated string `json:"updatedAt"`
	} `json:"sessions"`
	Next string `json:"nextCursor"`
}

// tokens are figures of a turn, or of one call of the model.
type tokens struct {
	In  int64 `json:"inputTokens"`
	Out int64 `json:"outputTokens"`
}

type prompted struct {
	StopReason string  `json:"stopReason"`
	Usage      *tokens `json:"usage"`
	Meta       struct {
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
	Mode    string         `json:"currentModeId"`
	Options []configOption `json:"configOptions"`
	Entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
	Used int64 `json:"used"`
	Size int64 `json:"size"`
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
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
	Usage     *tokens     `json:"usage"`  // of one call of the model
	Source    string      `json:"source"` // of a message that is not the model's
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

// startTurn is a turn of the agent's own, when it begins and when it ends.
type startTurn struct {
	ID     string `json:"turnId"`
	Reason string `json:"reason"`
}

type startReply struct {
	Accepted bool `json:"accepted"`
}

// drained are words for a turn that runs.
type drained struct {
	Messages []string `json:"messages"`
	Queued   bool     `json:"hasQueuedPrompt"`
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
