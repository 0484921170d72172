package codex

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"cligate/internal/worker/rpc"
)

// object is a message in the making.
type object map[string]any

// Requests that we make.
const (
	doInitialize  = "initialize"
	doStart       = "thread/start"
	doResume      = "thread/resume"
	doFork        = "thread/fork"
	doUnsubscribe = "thread/unsubscribe"
	doList        = "thread/list"
	doRead        = "thread/read"
	doTurns       = "thread/turns/list"
	doTurn        = "turn/start"
	doSteer       = "turn/steer"
	doInterrupt   = "turn/interrupt"
	doCompact     = "thread/compact/start"
	doModels      = "model/list"
	doAccount     = "account/read"
	doTerminals   = "thread/backgroundTerminals/list"
	doTerminate   = "thread/backgroundTerminals/terminate"
)

// What the server tells.
const (
	onTurnStarted   = "turn/started"
	onTurnCompleted = "turn/completed"
	onItemStarted   = "item/started"
	onItemCompleted = "item/completed"
	onText          = "item/agentMessage/delta"
	onThought       = "item/reasoning/summaryTextDelta"
	onRawThought    = "item/reasoning/textDelta"
	onThoughtPart   = "item/reasoning/summaryPartAdded"
	onPlan          = "turn/plan/updated"
	onUsage         = "thread/tokenUsage/updated"
	onError         = "error"
	onSettings      = "thread/settings/updated"
	onClosed        = "thread/closed"
	onResolved      = "serverRequest/resolved"
	onLimits        = "account/rateLimits/updated"
)

// What the server asks.
const (
	askCommand     = "item/commandExecution/requestApproval"
	askFile        = "item/fileChange/requestApproval"
	askPermissions = "item/permissions/requestApproval"
	askUser        = "item/tool/requestUserInput"
	askForm        = "mcpServer/elicitation/request"
)

// thread is a session as the server describes it.
type thread struct {
	ID        string `json:"id"`
	Preview   string `json:"preview"`
	Name      string `json:"name"`
	Parent    string `json:"parentThreadId"`
	UpdatedAt int64  `json:"updatedAt"` // seconds
}

// opened is the answer to a start and to a resume.
type opened struct {
	Thread thread `json:"thread"`
	Model  string `json:"model"`
	Effort string `json:"reasoningEffort"`
}

// turnInfo is a turn as the server describes it.
type turnInfo struct {
	ID     string     `json:"id"`
	Root   string     `json:"rootTurnId"`
	Status turnStatus `json:"status"`
	Error  *turnError `json:"error"`
	Took   int64      `json:"durationMs"`
}

type turnStatus string

// How turns end.
const (
	turnCompleted   turnStatus = "completed"
	turnInterrupted turnStatus = "interrupted"
	turnFailed      turnStatus = "failed"
	turnRuns        turnStatus = "inProgress"
)

// turnError is why a turn failed, or a call of the model.
type turnError struct {
	Message string          `json:"message"`
	Details string          `json:"additionalDetails"`
	Info    json.RawMessage `json:"codexErrorInfo"` // a word, or a word with a status
}

// note is any notification about a thread; each has some of the members.
type note struct {
	Thread   string          `json:"threadId"`
	TurnID   string          `json:"turnId"`
	Turn     turnInfo        `json:"turn"`
	ItemID   string          `json:"itemId"`
	Item     item            `json:"item"`
	Delta    string          `json:"delta"`
	Error    turnError       `json:"error"`
	Retry    bool            `json:"willRetry"`
	Usage    tokenUsage      `json:"tokenUsage"`
	Plan     []planStep      `json:"plan"`
	Request  json.RawMessage `json:"requestId"`
	Settings struct {
		Model  string `json:"model"`
		Effort string `json:"effort"`
	} `json:"threadSettings"`
}

// turn is the turn that a notification belongs to.
func (n note) turn() string {
	if n.TurnID != "" {
		return n.TurnID
	}
	return n.Turn.ID
}

// Kinds of items that are more than a line of progress.
const (
	itemAnswer   = "agentMessage"
	itemThought  = "reasoning"
	itemCommand  = "commandExecution"
	itemFile     = "fileChange"
	itemMCP      = "mcpToolCall"
	itemSubAgent = "collabAgentToolCall"
	itemPlan     = "plan"
	itemCompact  = "contextCompaction"
)

// item is one step of a turn.
type item struct {
	Type    string   `json:"type"`
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Status  string   `json:"status"`
	Summary []string `json:"summary"`

	Command string   `json:"command"`
	Actions []action `json:"commandActions"`
	Changes []change `json:"changes"`
	Server  string   `json:"server"`
	Tool    string   `json:"tool"`
	Prompt  string   `json:"prompt"`
	Query   string   `json:"query"`
	Path    string   `json:"path"`
}

// action is the server's reading of a command.
type action struct {
	Command string `json:"command"`
}

// change is what a patch does to a file.
type change struct {
	Path string `json:"path"`
	Kind struct {
		Type string `json:"type"`
		Move string `json:"move_path"`
	} `json:"kind"`
	Diff string `json:"diff"`
}

// tokens are those of some calls of the model.
type tokens struct {
	Total int64 `json:"totalTokens"`
	In    int64 `json:"inputTokens"`
	Out   int64 `json:"outputTokens"`
}

type tokenUsage struct {
	Total  tokens `json:"total"` // of the thread
	Last   tokens `json:"last"`  // of the last call
	Window int64  `json:"modelContextWindow"`
}

// since returns the tokens of the calls that came after a total. The server
// tells the same figures more than once.
func (u tokenUsage) since(before tokens) tokens {
	switch {
	case before == u.Total:
		return tokens{}
	case before == (tokens{}), u.Total.In < before.In, u.Total.Out < before.Out: // counted anew
		return u.Last
	}
	return tokens{In: u.Total.In - before.In, Out: u.Total.Out - before.Out}
}

type planStep struct {
	Step   string `json:"step"`
	Status string `json:"status"`
}

// model is one that the server offers.
type model struct {
	ID      string `json:"id"`
	Hidden  bool   `json:"hidden"`
	Default bool   `json:"isDefault"`
	Efforts []struct {
		Effort string `json:"reasoningEffort"`
	} `json:"supportedReasoningEfforts"`
}

// efforts are the names of what the model can be told to take.
func (m model) efforts() []string {
	names := make([]string, 0, len(m.Efforts))
	for _, e := range m.Efforts {
		names = append(names, e.Effort)
	}
	return names
}

// limits are the account's.
type limits struct {
	Limits struct {
		Primary   *limitWindow `json:"primary"`
		Secondary *limitWindow `json:"secondary"`
	} `json:"rateLimits"`
}

type limitWindow struct {
	Used   float64 `json:"usedPercent"`
	Resets int64   `json:"resetsAt"` // seconds
}

var requestID = regexp.MustCompile(`^\{"method":"[^"]*","id":(\d+|"[^"\\]*")[,}]`)

// idOf finds a request's id in the beginning of it; empty when it is none.
func idOf(head []byte) rpc.ID {
	m := requestID.FindSubmatch(head)
	if m == nil {
		return ""
	}
	return rpc.ID(m[1])
}

// valueOf finds the first text member of that name in the beginning of a
// message; empty when it is not there.
func valueOf(head []byte, name string) string {
	_, rest, ok := bytes.Cut(head, []byte(`"`+name+`":"`))
	if !ok {
		return ""
	}
	value, _, ok := strings.Cut(string(rest), `"`)
	if !ok {
		return ""
	}
	return value
}
