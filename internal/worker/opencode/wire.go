package opencode

import (
	"encoding/json"
	"fmt"
	"net/http"
)

type object = map[string]any

// agentInfo is one of the agent's agents; those that people talk to are our
// modes.
type agentInfo struct {
	Name       string `json:"name"`
	Mode       string `json:"mode"` // primary, subagent or all
	Hidden     bool   `json:"hidden"`
	Permission []rule `json:"permission"`
}

// sessionInfo is a session as the agent knows it.
type sessionInfo struct {
	ID         string     `json:"id"`
	ParentID   string     `json:"parentID"`
	Directory  string     `json:"directory"`
	Title      string     `json:"title"`
	Version    string     `json:"version"`
	Permission []rule     `json:"permission"`
	Model      *modelName `json:"model"`
	Time       struct {
		Updated  int64 `json:"updated"`
		Archived int64 `json:"archived"`
	} `json:"time"`
}

// modelName names a model; sessions and messages spell it differently.
type modelName struct {
	ID         string `json:"id,omitempty"`
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID,omitempty"`
	Variant    string `json:"variant,omitempty"`
}

func (m *modelName) name() string {
	if m == nil || m.ProviderID == "" {
		return ""
	}
	return m.ProviderID + "/" + m.ID + m.ModelID
}

// providers is what can be chosen from.
type providers struct {
	Providers []struct {
		ID     string `json:"id"`
		Models map[string]struct {
			Status       string         `json:"status"`
			Variants     map[string]any `json:"variants"`
			Capabilities struct {
				Input struct {
					Image bool `json:"image"`
					PDF   bool `json:"pdf"`
				} `json:"input"`
			} `json:"capabilities"`
			Limit struct {
				Context int64 `json:"context"`
			} `json:"limit"`
		} `json:"models"`
	} `json:"providers"`
}

// commandInfo is a slash command of the agent's or of the user's own.
type commandInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source"` // command, mcp or skill
}

// event is one message of the stream.
type event struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
}

// properties are those of all events that are looked at.
type properties struct {
	SessionID string    `json:"sessionID"`
	Info      info      `json:"info"`
	Part      part      `json:"part"`
	MessageID string    `json:"messageID"`
	PartID    string    `json:"partID"`
	Field     string    `json:"field"`
	Delta     string    `json:"delta"`
	Status    status    `json:"status"`
	Error     *failure  `json:"error"`
	Todos     []todo    `json:"todos"`
	RequestID string    `json:"requestID"`
	ID        string    `json:"id"` // of a request
	Questions []query   `json:"questions"`
	Tool      *toolCall `json:"tool"`
	permitted
}

// permitted is what a permission request asks for.
type permitted struct {
	Permission string                     `json:"permission"`
	Patterns   []string                   `json:"patterns"`
	Metadata   map[string]json.RawMessage `json:"metadata"`
}

type toolCall struct {
	MessageID string `json:"messageID"`
	CallID    string `json:"callID"`
}

// info is a session or a message.
type info struct {
	ID         string   `json:"id"`
	ParentID   string   `json:"parentID"`
	SessionID  string   `json:"sessionID"`
	Role       string   `json:"role"`
	Agent      string   `json:"agent"`
	Summary    any      `json:"summary"` // true for the summary of a compaction
	Variant    string   `json:"variant"`
	ModelID    string   `json:"modelID"`
	ProviderID string   `json:"providerID"`
	Cost       float64  `json:"cost"`
	Tokens     tokens   `json:"tokens"`
	Error      *failure `json:"error"`
	Finish     string   `json:"finish"`
	Time       struct {
		Completed int64 `json:"completed"`
	} `json:"time"`
}

func (i info) isSummary() bool { b, ok := i.Summary.(bool); return ok && b }

// done reports whether an answer of the model is finished.
func (i info) done() bool { return i.Role == roleAssistant && (i.Time.Completed > 0 || i.Error != nil) }

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

type tokens struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	Cache     struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"cache"`
}

func (t tokens) in() int64  { return t.Input + t.Cache.Read + t.Cache.Write }
func (t tokens) out() int64 { return t.Output + t.Reasoning }

// part is a piece of a message.
type part struct {
	ID        string    `json:"id"`
	MessageID string    `json:"messageID"`
	SessionID string    `json:"sessionID"`
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Synthetic bool      `json:"synthetic"`
	Tool      string    `json:"tool"`
	CallID    string    `json:"callID"`
	State     toolState `json:"state"`
	Time      struct {
		End int64 `json:"end"`
	} `json:"time"`
}

type toolState struct {
	Status string          `json:"status"` // pending, running, completed or error
	Title  string          `json:"title"`
	Input  json.RawMessage `json:"input"`
}

// message is a message with its parts.
type message struct {
	Info  info   `json:"info"`
	Parts []part `json:"parts"`
}

// status is what a session does: idle, busy, or retry with the other fields.
type status struct {
	Type    string `json:"type"`
	Attempt int    `json:"attempt"`
	Message string `json:"message"`
}

type todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

type query struct {
	Question string `json:"question"`
	Header   string `json:"header"`
	Options  []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
	Multiple bool  `json:"multiple"`
	Custom   *bool `json:"custom"` // own words are taken too; missing = yes
}

// failure is the agent's own word about what went wrong.
type failure struct {
	Name string `json:"name"`
	Data struct {
		Message    string `json:"message"`
		StatusCode int    `json:"statusCode"`
		Body       string `json:"responseBody"`
	} `json:"data"`
}

// refusalError is the server's no to a request.
type refusalError struct {
	status int
	failure
}

func (r *refusalError) Error() string {
	return fmt.Sprintf("the server refused: %d %s: %s", r.status, r.Name, r.Data.Message)
}

// unknown reports whether the server says, definitely, that there is no such
// session.
func (r *refusalError) unknown() bool {
	return r.status == http.StatusNotFound && r.Name == "NotFoundError"
}
