package chat

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Code classifies an error for machines; the words for people are the
// catalogue's entry "error.<code>".
type Code string

// Codes of the gateway itself.
const (
	CodeNone     Code = ""
	Internal     Code = "internal"
	Invalid      Code = "invalid"     // bad input; Detail says what
	Missing      Code = "missing"     // no such row
	Conflict     Code = "conflict"    // somebody was faster
	Expired      Code = "expired"     // too late
	Denied       Code = "denied"      // not allowed
	Full         Code = "full"        // a limit is reached; not taken
	Unavailable  Code = "unavailable" // cannot now: disk full, shutting down
	Stopped      Code = "stopped"     // a person said stop
	TimedOut     Code = "timeout"     // the turn's absolute limit
	Stalled      Code = "stalled"     // no sign of life for too long
	Shutdown     Code = "shutdown"    // the daemon ended
	Crashed      Code = "crashed"     // the worker process died
	DaemonDied   Code = "daemon_died" // found at boot
	NotInstalled Code = "not_installed"
	LoggedOut    Code = "logged_out"
	Quota        Code = "quota"
	Overloaded   Code = "overloaded"
	Network      Code = "network"
	ModelUnknown Code = "model_unknown"
	ContextFull  Code = "context_full"
	NoSession    Code = "session_lost" // the agent says definitely: no such session
	Protocol     Code = "protocol"     // the agent speaks nonsense
	StartTimeout Code = "start_timeout"
	LoadTimeout  Code = "load_timeout"
	AgentError   Code = "agent_error"  // the agent reported a failure of another kind
	Unsupported  Code = "unsupported"  // this agent or platform cannot do that
	TooOld       Code = "too_old"      // the agent's version lacks what is needed; Detail says which is needed
	Unasked      Code = "unasked"      // the agent would act without asking, and the operator did not allow that
	Nothing      Code = "nothing_left" // of a message nothing is left that an agent could work on
	OverBudget   Code = "over_budget"  // an operator's limit of tokens or money; Detail says which
)

// Codes of a platform's Send: what the error obliges the sender to do.
const (
	Wait      Code = "wait"      // try again after After
	Degrade   Code = "degrade"   // the form was refused; send the plain form
	GiveUp    Code = "give_up"   // will never work; bury the row
	Uncertain Code = "uncertain" // may or may not have arrived
	Park      Code = "park"      // this chat cannot be reached; wait until it speaks again
	Gone      Code = "gone"      // the edited message is not there (any more)
	Shut      Code = "shut"      // this topic is closed: its messages wait until it opens
	Vanished  Code = "vanished"  // this topic was deleted: its messages wait until somebody says where they are to go
	Moved     Code = "moved"     // nothing was sent: the chat has the address in To
)

// Error is an error at the edge of a package.
type Error struct {
	Code   Code
	Detail string        // safe to show: no secrets, no paths of ours
	Key    string        // catalogue key of what is said instead of Detail, in the reader's language
	Args   []any         // for Key: name, value pairs, safe to show
	After  time.Duration // for Wait
	To     *Place        // for Moved: Chat and Space
	Err    error         // the cause, for the log
}

// Error implements error.
func (e *Error) Error() string {
	s := string(e.Code)
	switch {
	case e.Detail != "":
		s += ": " + e.Detail
	case e.Key != "":
		s += ": " + e.Key
		for i := 0; i+1 < len(e.Args); i += 2 {
			s += fmt.Sprintf(" %v=%v", e.Args[i], e.Args[i+1])
		}
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first *Error in err's chain; Internal when
// there is none, CodeNone for nil.
func CodeOf(err error) Code {
	if err == nil {
		return CodeNone
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return TimedOut
	}
	return Internal
}

// DetailOf returns the text of err that is safe to show as it is. One that is
// in the catalogue (Error.Key) is had from i18n.Detail.
func DetailOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Detail
	}
	return ""
}

// E makes an *Error.
func E(code Code, detail string, err error) *Error {
	return &Error{Code: code, Detail: detail, Err: err}
}

// AfterOf returns how long an error with code Wait asks to wait.
func AfterOf(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.After
	}
	return 0
}

// Say makes an *Error whose detail is a text of the catalogue; args are name,
// value pairs for its places.
func Say(code Code, key string, err error, args ...any) *Error {
	return &Error{Code: code, Key: key, Args: args, Err: err}
}

// Recode returns err with another code and the same detail.
func Recode(code Code, err error) *Error {
	r := &Error{Code: code, Err: err}
	var e *Error
	if errors.As(err, &e) {
		r.Detail, r.Key, r.Args = e.Detail, e.Key, e.Args
	}
	return r
}
