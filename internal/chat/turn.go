package chat

import (
	"slices"
	"strings"
	"time"
)

// TurnState is the life of a turn.
type TurnState string

// Turn states.
const (
	TurnQueued      TurnState = "queued"
	TurnRunning     TurnState = "running"
	TurnWaiting     TurnState = "waiting" // for a person: an approval or a question is open
	TurnSucceeded   TurnState = "succeeded"
	TurnFailed      TurnState = "failed"
	TurnStopped     TurnState = "stopped"     // by a person, or by a clock (see Reason)
	TurnInterrupted TurnState = "interrupted" // the daemon or worker died; may have had effects
	TurnWithdrawn   TurnState = "withdrawn"   // removed from the queue before it ran
	TurnExpired     TurnState = "expired"
)

var turnMoves = map[TurnState][]TurnState{
	TurnQueued:  {TurnRunning, TurnFailed, TurnWithdrawn, TurnExpired},
	TurnRunning: {TurnQueued, TurnWaiting, TurnSucceeded, TurnFailed, TurnStopped, TurnInterrupted},
	TurnWaiting: {TurnRunning, TurnSucceeded, TurnFailed, TurnStopped, TurnInterrupted},
}

// Can reports whether a turn may move from s to next. Running goes back to
// queued only at boot, when the agent provably never saw the prompt.
func (s TurnState) Can(next TurnState) bool { return slices.Contains(turnMoves[s], next) }

// Final reports whether s is an end.
func (s TurnState) Final() bool { return len(turnMoves[s]) == 0 }

// Origin says who started a turn.
type Origin string

// Origins.
const (
	OriginUser  Origin = "user"
	OriginAgent Origin = "agent" // the agent went on by itself
)

// Turn is one run inside a session.
type Turn struct {
	ID           int64
	Conversation int64
	Session      int64
	Place        Place // where its answers go, fixed when it was made
	Origin       Origin
	State        TurnState
	Reason       Code   // why it ended, for failed, stopped, interrupted
	Input        Input  // what the agent is asked
	By           Person // who asked
	ReplyTo      Ref    // the message that the final answers
	Names        int64  // the earlier turn that this one continues or retries
	After        int64  // does not start before that turn has ended
	Held         bool   // does not start before somebody says so
	Choice       string // which of Continue, Retry, Drop was chosen; once
	Usage        Usage  // the figures, once it has ended
	CreatedAt    time.Time
	StartedAt    time.Time
	EndedAt      time.Time
}

// Input is what one turn asks, in pieces that stay bound to their messages.
type Input struct {
	Pieces []Piece `json:"pieces"`
	Recap  string  `json:"-"` // a recap put before the prompt when the agent lost its session
	Brief  string  `json:"-"` // what the agent has to know of the chat, behind everything else
}

// HasFiles reports whether anything of it came as a file.
func (in Input) HasFiles() bool {
	return slices.ContainsFunc(in.Pieces, func(p Piece) bool { return len(p.Files) > 0 })
}

// Piece is the part of an input that one message contributed.
type Piece struct {
	Inbound int64     `json:"inbound,omitempty"`
	Speaker string    `json:"speaker,omitempty"` // set where several people share a session
	Quote   string    `json:"quote,omitempty"`   // foreign or earlier text, marked as such in the prompt
	Source  Source    `json:"source,omitzero"`   // whose text that is
	Text    string    `json:"text,omitempty"`
	Files   []FileRef `json:"files,omitempty"`
}

// Text is the prompt as the agent gets it.
func (in Input) Text() string {
	parts := make([]string, 0, len(in.Pieces)+2)
	if in.Recap != "" {
		parts = append(parts, in.Recap)
	}
	for _, p := range in.Pieces {
		parts = append(parts, p.said()...)
	}
	if in.Brief != "" { // behind the person's own words: agents take the first ones for the title of a session
		parts = append(parts, in.Brief)
	}
	return strings.Join(parts, "\n\n")
}

// Fetched are the files that lie on this machine, in the order of the pieces. A
// voice message that was understood is words, and no file any more.
func (in Input) Fetched() []FileRef {
	var files []FileRef
	for _, p := range in.Pieces {
		for _, f := range p.Files {
			if f.Path != "" && (f.Kind != MediaVoice || f.Heard == "") {
				files = append(files, f)
			}
		}
	}
	return files
}

// AttemptState is how far one attempt at a turn got. The intent is written
// before each outside effect and the result after it.
type AttemptState string

// Attempt states.
const (
	AttemptClaimed AttemptState = "claimed" // no process, nothing sent
	AttemptReady   AttemptState = "ready"   // a worker is there, nothing sent
	AttemptIntent  AttemptState = "intent"  // the prompt may have been written
	AttemptSent    AttemptState = "sent"    // the prompt was written
	AttemptDone    AttemptState = "done"
)

// Seen reports whether the agent may have seen the prompt. Such an attempt is
// never repeated without the user.
func (s AttemptState) Seen() bool { return s == AttemptIntent || s == AttemptSent }

// Attempt is one try at a turn.
type Attempt struct {
	ID     int64
	Turn   int64
	No     int
	State  AttemptState
	Runner string // identity of the process that serves it, for the reaper at boot
	// Notices is set by a claim with which messages about the turn's waiting were
	// changed: its place is to be woken.
	Notices bool
}
