package chat

import (
	"cmp"
	"time"
)

// Conversation is the durable thing behind one place.
type Conversation struct {
	ID        int64
	Session   int64  // the current session, 0 when there is none yet
	Agent     string // empty = the configured default
	Workspace string // empty = the configured default
	Model     string // wanted model; empty = the agent's default
	Mode      string // wanted permission mode; empty = the agent's default
	Effort    string // wanted reasoning effort; empty = the agent's default
	Lang      string // en, zh; empty = the person's
	Verbosity Verbosity
	Rich      Choice // answers as documents, where the service has a form for that
	Previous  int64  // the session that was current before the last replacement, for Undo
}

// SessionState is the life of a session.
type SessionState string

// Session states. Only a lost session cannot be returned to.
const (
	SessionOpen SessionState = "open" // may be current, may be a past one; both can be used
	SessionLost SessionState = "lost" // the agent said definitely that it does not know it
)

// Session is an agent's working thread for one conversation. It ends by the
// session rule only, never because a turn or a worker ended.
type Session struct {
	ID           int64
	Conversation int64
	Agent        string
	Workspace    string
	Model        string // what it is to run with; empty = the agent's default. Likewise:
	Mode         string
	Effort       string
	// Unproven says that no turn has succeeded since Model was chosen; Proven is
	// the one before it. It comes back when the agent knows no such model.
	Unproven bool
	Proven   string
	// Seed is a UUID chosen when the row was made. A driver whose agent lets
	// the client choose the id uses it; it is never taken for a NativeID.
	Seed string
	// NativeID is an id that the agent itself reported; empty until then and
	// never overwritten by an empty one.
	NativeID string
	// Fork is the agent's id of the session whose memory this one begins with;
	// it counts until there is a NativeID. Empty = it begins with none.
	Fork    string
	State   SessionState
	Title   string
	Begun   bool // an open with Seed may have reached the agent
	Recap   bool // the next prompt carries a recap of the stored transcript
	Briefed bool // the agent was told where to put files for the chat
	Adopted bool // the agent's own session was begun elsewhere, in a terminal say
	// ParkedAt is when it was handed over to a terminal; zero = it was not, or
	// it has come back.
	ParkedAt  time.Time
	CreatedAt time.Time
	UsedAt    time.Time
}

// Serves is the only code that decides whether a session can serve the next
// turn of a conversation, or a new one is needed. A failed turn, a dead
// worker, a restart, idle time, a model or mode change do not matter.
func (s Session) Serves(c Conversation) bool {
	return s.ID != 0 && s.State == SessionOpen && s.ID == c.Session &&
		s.Conversation == c.ID && s.Agent == c.Agent && s.Workspace == c.Workspace
}

// Wishes are the settings that a conversation wants for its worker.
func (c Conversation) Wishes() Settings {
	return Settings{Model: c.Model, Mode: c.Mode, Effort: c.Effort}
}

// Wishes are the settings that the session is to run with.
func (s Session) Wishes() Settings {
	return Settings{Model: s.Model, Mode: s.Mode, Effort: s.Effort}
}

// Settings are a conversation's wishes for its worker.
type Settings struct {
	Model  string
	Mode   string
	Effort string
}

// Setting names one of them.
type Setting string

// The settings.
const (
	SettingModel  Setting = "model"
	SettingMode   Setting = "mode"
	SettingEffort Setting = "effort"
)

// Get returns the value of one setting.
func (s Settings) Get(k Setting) string {
	switch k {
	case SettingModel:
		return s.Model
	case SettingMode:
		return s.Mode
	case SettingEffort:
		return s.Effort
	}
	return ""
}

// With returns s with one setting changed.
func (s Settings) With(k Setting, value string) Settings {
	switch k {
	case SettingModel:
		s.Model = value
	case SettingMode:
		s.Mode = value
	case SettingEffort:
		s.Effort = value
	}
	return s
}

// Or returns s with the values of d where s has none.
func (s Settings) Or(d Settings) Settings {
	return Settings{Model: cmp.Or(s.Model, d.Model), Mode: cmp.Or(s.Mode, d.Mode), Effort: cmp.Or(s.Effort, d.Effort)}
}

// Wish returns c with its wishes changed.
func (c Conversation) Wish(s Settings) Conversation {
	c.Model, c.Mode, c.Effort = s.Model, s.Mode, s.Effort
	return c
}

// Applied says when a change of settings takes effect.
type Applied string

// When settings apply.
const (
	AppliedNow    Applied = "now"
	AppliedNext   Applied = "next"   // from the next turn
	AppliedReopen Applied = "reopen" // when the worker is opened again; the session keeps its context
)
