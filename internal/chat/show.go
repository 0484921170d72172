package chat

// Verbosity says how much of a running turn is shown. Requests and the final
// answer are shown at every one. Empty = the configured default.
type Verbosity string

// Verbosities.
const (
	VerbosityFinal  Verbosity = "0" // nothing until the answer
	VerbosityStatus Verbosity = "1" // one line: what goes on, for how long
	VerbositySteps  Verbosity = "2" // steps, and the text so far
	VerbosityAll    Verbosity = "3" // also the thinking and the log of the tools
)

// Known reports whether v is one of them.
func (v Verbosity) Known() bool {
	switch v {
	case VerbosityFinal, VerbosityStatus, VerbositySteps, VerbosityAll:
		return true
	}
	return false
}

// Look says how a turn is to be shown.
type Look struct {
	Lang      string
	Agent     string // its name, for people
	Verbosity Verbosity
}

// Sign is the state of a turn as it is shown on the message that asked for it.
type Sign string

// Signs.
const (
	SignNone     Sign = ""
	SignAccepted Sign = "accepted" // seen; the agent does not have it yet
	SignQueued   Sign = "queued"
	SignWorking  Sign = "working"
	SignWaiting  Sign = "waiting" // for a person
	SignDone     Sign = "done"
	SignFailed   Sign = "failed"
	SignSteered  Sign = "steered" // its words went to the running turn
	SignStopped  Sign = "stopped"
)

// Last reports whether nothing follows s.
func (s Sign) Last() bool {
	switch s {
	case SignDone, SignFailed, SignSteered, SignStopped:
		return true
	case SignNone, SignAccepted, SignQueued, SignWorking, SignWaiting:
	}
	return false
}

// Emoji is the sign: one of those that every service with reactions has,
// without variation selectors.
func (s Sign) Emoji() string {
	switch s {
	case SignAccepted:
		return "👀"
	case SignQueued:
		return "😴"
	case SignWorking:
		return "✍"
	case SignWaiting:
		return "🤔"
	case SignDone:
		return "👌"
	case SignFailed:
		return "💔"
	case SignSteered:
		return "⚡"
	case SignStopped:
		return "🫡"
	case SignNone:
	}
	return ""
}

// SignOf is the sign of a turn that ended so, because of why; SignNone when it
// has no end, or none that its message shows. Only a person stops a turn: one
// that a clock or a budget ended did not come to what it was asked for.
func SignOf(end TurnState, why Code) Sign {
	switch end {
	case TurnSucceeded:
		return SignDone
	case TurnFailed, TurnInterrupted:
		return SignFailed
	case TurnStopped:
		if why != Stopped {
			return SignFailed
		}
		return SignStopped
	case TurnQueued, TurnRunning, TurnWaiting, TurnWithdrawn, TurnExpired:
	}
	return SignNone
}
