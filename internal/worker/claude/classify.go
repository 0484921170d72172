package claude

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// maxDetail bounds what is shown of the agent's own words about a failure, in
// characters.
const maxDetail = 600

// phrase is a piece of the agent's own text that tells a class of failure
// where the status does not.
type phrase struct {
	text string
	code chat.Code
}

// phrases are looked for in order, in lower case.
var phrases = []phrase{
	{"not logged in", chat.LoggedOut},
	{"/login", chat.LoggedOut},
	{"authentication_failed", chat.LoggedOut},
	{"authentication_error", chat.LoggedOut},
	{"failed to authenticate", chat.LoggedOut},
	{"invalid api key", chat.LoggedOut},
	{"oauth token", chat.LoggedOut},
	{"oauth session", chat.LoggedOut},
	{"prompt is too long", chat.ContextFull},
	{"context window", chat.ContextFull},
	{"context limit", chat.ContextFull},
	{"conversation is too long", chat.ContextFull},
	{"credit balance", chat.Quota},
	{"billing_error", chat.Quota},
	{"usage limit", chat.Quota},
	{"hit your limit", chat.Quota},
	{"rate_limit", chat.Quota},
	{"limit reached", chat.Quota},
	{"selected model", chat.ModelUnknown},
	{"model_not_found", chat.ModelUnknown},
	{"overloaded", chat.Overloaded},
	{"server_error", chat.Overloaded},
	{"econnrefused", chat.Network},
	{"econnreset", chat.Network},
	{"enotfound", chat.Network},
	{"etimedout", chat.Network},
	{"eai_again", chat.Network},
	{"connection lost", chat.Network},
	{"connection error", chat.Network},
	{"connection refused", chat.Network},
	{"unable to connect", chat.Network},
	{"fetch failed", chat.Network},
	{"network", chat.Network},
	{"request timed out", chat.Network},
}

// classify names the class of a failed call of the model by its HTTP status (0
// when there was none) and the agent's words.
func classify(status int, words ...string) chat.Code {
	all := strings.ToLower(strings.Join(words, " "))
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return chat.LoggedOut
	case status == http.StatusPaymentRequired, status == http.StatusTooManyRequests:
		return chat.Quota
	case status == http.StatusNotFound:
		return chat.ModelUnknown
	case status == http.StatusRequestEntityTooLarge:
		return chat.ContextFull
	case status >= http.StatusInternalServerError:
		return chat.Overloaded
	}
	for _, p := range phrases {
		if strings.Contains(all, p.text) {
			return p.code
		}
	}
	return chat.AgentError
}

// failure turns the result of a failed run into an error; resets is when the
// account's limit ends, zero when unknown.
func (r resultMsg) failure(resets time.Time, now time.Time) error {
	if r.aborted() {
		return chat.E(chat.Stopped, "", fmt.Errorf("%w: %s", errAborted, r.Reason))
	}
	e := chat.E(classify(r.Status, r.Kind, r.text()), shorten(r.text()),
		fmt.Errorf("run failed: %s, status %d", r.cause(), r.Status))
	if resets.IsZero() {
		resets = worker.Resets(r.text(), now)
	}
	if e.Code == chat.Quota && resets.After(now) {
		e.After = resets.Sub(now).Round(time.Second)
	}
	return e
}

// errAborted says that a run was ended on request.
var errAborted = errors.New("the agent ended the run")

// aborted reports whether the run was ended on request. One that made way for
// other words is not called a failure.
func (r resultMsg) aborted() bool {
	return r.Reason == "aborted_streaming" || r.Reason == "aborted_tools"
}

// cause names the failure for the log.
func (r resultMsg) cause() string {
	if r.Reason != "" {
		return r.Reason
	}
	return "no reason given"
}

// code names the class of a repeated call. No status means that no answer
// came at all.
func (r retryMsg) code() chat.Code {
	if c := classify(r.Status, r.Error); c != chat.AgentError || r.Status != 0 {
		return c
	}
	return chat.Network
}

func (r retryMsg) text() string {
	s := fmt.Sprintf("%s (%d/%d)", r.Error, r.Attempt, r.Max)
	if r.Status != 0 {
		s = fmt.Sprintf("%d ", r.Status) + s
	}
	return s
}

func shorten(s string) string { return chat.Clip(strings.TrimSpace(s), maxDetail) }

// What the agent says before it serves anything.
const (
	saysUnknown = "No conversation found with session ID"
	saysInUse   = "is already in use"
)

// errInUse says that a session with the wanted id exists already.
var errInUse = errors.New("the session id is already in use")

// startFailure turns the end of a process that never answered into an error.
func startFailure(said string, p process) error {
	all, exit := said+"\n"+p.Stderr(), exitOf(p)
	switch {
	case strings.Contains(all, saysUnknown):
		return chat.E(chat.NoSession, "", exit)
	case strings.Contains(all, saysInUse):
		return chat.E(chat.AgentError, "", errors.Join(errInUse, exit))
	case classify(0, all) == chat.LoggedOut:
		return chat.E(chat.LoggedOut, shorten(said), exit)
	case strings.TrimSpace(said) == "":
		return chat.E(chat.Crashed, howEnded(p), exit)
	}
	return chat.E(chat.AgentError, shorten(said), exit)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return shorten(s[strings.LastIndexByte(s, '\n')+1:])
}
