package chat

import "time"

// EventKind says what an agent reports while a turn runs.
type EventKind string

// Event kinds.
const (
	EventSession EventKind = "session" // the agent reported its session id: Text
	EventSent    EventKind = "sent"    // the prompt has been written to the agent
	EventText    EventKind = "text"    // a piece of the answer: Text is appended
	EventBreak   EventKind = "break"   // the answer's text so far is a closed block
	EventThought EventKind = "thought" // a piece of thinking
	EventTool    EventKind = "tool"    // a tool call started or changed: Tool
	EventPlan    EventKind = "plan"    // the agent's plan changed: Plan
	EventUsage   EventKind = "usage"   // figures of this turn: Usage
	EventRetry   EventKind = "retry"   // the agent retries by itself; Text says why
	EventNotice  EventKind = "notice"  // something to tell that is no answer: Text
)

// Event is one report of a running turn.
type Event struct {
	Kind  EventKind
	Text  string
	Tool  *Tool
	Plan  []Step
	Usage *Usage
	Code  Code // for EventRetry and EventNotice: the class of the cause
}

// ToolState is the life of one tool call.
type ToolState string

// Tool states.
const (
	ToolRunning ToolState = "running"
	ToolDone    ToolState = "done"
	ToolFailed  ToolState = "failed"
)

// Tool is one call of an agent's tool; the same ID updates it.
type Tool struct {
	ID    string
	Name  string
	Title string // one line for people: the command, the file
	State ToolState
}

// Step is one line of an agent's plan.
type Step struct {
	Text string
	Done bool
}

// Usage are the figures of one turn, never cumulative.
type Usage struct {
	Model   string        `json:"model,omitempty"`
	In      int64         `json:"in,omitempty"` // tokens
	Out     int64         `json:"out,omitempty"`
	CostUSD float64       `json:"cost,omitempty"`
	Window  int64         `json:"window,omitempty"` // size of the context window, tokens
	Used    int64         `json:"used,omitempty"`   // tokens of the window in use
	Took    time.Duration `json:"took,omitempty"`
}

// AskKind is what a running turn asks of a person.
type AskKind string

// Kinds of asks.
const (
	AskApproval AskKind = "approval"
	AskChoice   AskKind = "choice" // one or several questions with options
	AskText     AskKind = "text"   // free text
	AskPlan     AskKind = "plan"
)

// Effect is what choosing an option means to the gateway.
type Effect string

// Effects.
const (
	EffectAllow   Effect = "allow"   // once
	EffectSession Effect = "session" // this exact request, in this session, from now on
	EffectAlways  Effect = "always"  // this exact request, in this conversation, with this agent and workspace
	EffectDeny    Effect = "deny"
	EffectChoose  Effect = "choose" // an answer without a meaning to us
)

// Allows reports whether e lets the agent do what it asks for.
func (e Effect) Allows() bool { return e == EffectAllow || e.Lasts() }

// Lasts reports whether e is also a rule for later requests.
func (e Effect) Lasts() bool { return e == EffectSession || e == EffectAlways }

// Option is one possible answer.
type Option struct {
	ID     string `json:"id"` // the agent's own name for it
	Label  string `json:"label"`
	Effect Effect `json:"effect"`
	Hint   string `json:"hint,omitempty"`
}

// Query is one of the questions of an AskChoice.
type Query struct {
	ID      string   `json:"id"`
	Header  string   `json:"header,omitempty"`
	Text    string   `json:"text"`
	Options []Option `json:"options,omitempty"`
	Multi   bool     `json:"multi,omitempty"`
	Free    bool     `json:"free,omitempty"` // free text is accepted too
}

// Question is what a running turn asks. Key is the agent's own id of the ask:
// asking again under the same key finds the same row.
type Question struct {
	Key     string   `json:"key"`
	Kind    AskKind  `json:"kind"`
	Tool    string   `json:"tool,omitempty"`
	Title   string   `json:"title,omitempty"`
	Detail  string   `json:"detail,omitempty"` // the exact request: command, diff, plan; never shortened here
	Options []Option `json:"options,omitempty"`
	Queries []Query  `json:"queries,omitempty"`
}

// Answer is what a person, a rule or a clock decided.
type Answer struct {
	Option string              `json:"option,omitempty"` // Option.ID
	Effect Effect              `json:"effect,omitempty"`
	Text   string              `json:"text,omitempty"`   // free text, or the reason of a denial
	Values map[string][]string `json:"values,omitempty"` // answers by Query.ID
	By     Person              `json:"by"`
}

// AskState is the life of an ask.
type AskState string

// Ask states.
const (
	AskOpen     AskState = "open"
	AskAnswered AskState = "answered"
	AskExpired  AskState = "expired" // nobody answered: denied
	AskVoid     AskState = "void"    // the turn or the worker ended, or the agent withdrew it
)

// Ask is a stored question.
type Ask struct {
	ID       int64
	Turn     int64
	Session  int64
	Place    Place
	Asker    Person // who asked for the turn: may decide about it
	Question Question
	Digest   string // of the exact request; a rule matches on it
	State    AskState
	Answer   Answer
	At       time.Time // when it was asked
	Expires  time.Time
}
