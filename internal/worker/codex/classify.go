package codex

import (
	"encoding/json"
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

// kinds are the agent's own names of failures.
var kinds = map[string]chat.Code{
	"contextWindowExceeded":     chat.ContextFull,
	"sessionBudgetExceeded":     chat.Quota,
	"usageLimitExceeded":        chat.Quota,
	"rateLimitExceeded":         chat.Quota,
	"flexUnavailable":           chat.Overloaded,
	"serverOverloaded":          chat.Overloaded,
	"policyCapacityUnavailable": chat.Overloaded,
	"internalServerError":       chat.Overloaded,
	"modelNotFound":             chat.ModelUnknown,
	"unauthorized":              chat.LoggedOut,
}

// lines are the kinds that name a broken connection; they have a status when
// there was an answer.
var lines = map[string]bool{
	"httpConnectionFailed": true, "responseStreamConnectionFailed": true,
	"responseStreamDisconnected": true, "responseTooManyFailedAttempts": true,
}

// phrases are looked for, in order, in lower case, where kind and status tell
// nothing.
var phrases = []struct {
	text string
	code chat.Code
}{
	{"not logged in", chat.LoggedOut},
	{"codex login", chat.LoggedOut},
	{"unauthorized", chat.LoggedOut},
	{"api key", chat.LoggedOut},
	{"missing environment variable", chat.LoggedOut},
	{"context window", chat.ContextFull},
	{"usage limit", chat.Quota},
	{"quota", chat.Quota},
	{"model_not_found", chat.ModelUnknown},
	{"overloaded", chat.Overloaded},
	{"stream disconnected", chat.Network},
	{"error sending request", chat.Network},
	{"connection", chat.Network},
	{"network", chat.Network},
	{"timed out", chat.Network},
}

// classify names the class of a failure by HTTP status (0 when there was none),
// the agent's name of it and its words.
func classify(status int, kind string, words ...string) chat.Code {
	if code, ok := kinds[kind]; ok {
		return code
	}
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
	case status == 0 && lines[kind]:
		return chat.Network
	}
	all := strings.ToLower(strings.Join(words, " "))
	for _, p := range phrases {
		if strings.Contains(all, p.text) {
			return p.code
		}
	}
	return chat.AgentError
}

// kind reads the agent's name of a failure, and the status that it may carry.
func (e turnError) kind() (name string, status int) {
	if json.Unmarshal(e.Info, &name) == nil {
		return name, 0
	}
	var with map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if json.Unmarshal(e.Info, &with) != nil {
		return "", 0
	}
	for n, v := range with {
		name, status = n, v.Status
	}
	return name, status
}

func (e turnError) code() chat.Code {
	name, status := e.kind()
	return classify(status, name, e.Message, e.Details)
}

// text is what the agent says about it. Some of it is the provider's JSON, or
// ends with an address.
func (e turnError) text() string {
	said := e.Message
	if e.Details != "" {
		said += ": " + e.Details
	}
	var raw struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(e.Message), &raw) == nil && raw.Error.Message != "" {
		said = raw.Error.Message
	}
	said, _, _ = strings.Cut(said, ", url: ")
	return shorten(said)
}

// failure turns it into an error; resets is when the account's limit ends, zero
// when unknown.
func (e turnError) failure(resets, now time.Time) error {
	name, status := e.kind()
	err := chat.E(e.code(), e.text(), fmt.Errorf("turn failed: %s, status %d", name, status))
	if resets.IsZero() {
		resets = worker.Resets(e.text(), now)
	}
	if err.Code == chat.Quota && resets.After(now) {
		err.After = resets.Sub(now).Round(time.Second)
	}
	return err
}

func shorten(s string) string { return chat.Clip(strings.TrimSpace(s), maxDetail) }

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return shorten(s[strings.LastIndexByte(s, '\n')+1:])
}

// startFailure is the error of a process that ended before it was ready.
func startFailure(p process) error {
	said := lastLine(p.Stderr())
	if strings.Contains(said, "unrecognized subcommand") || strings.Contains(said, "unexpected argument") {
		return chat.E(chat.TooOld, needed(""), exitOf(p))
	}
	if code := classify(0, "", said); code == chat.LoggedOut {
		return chat.E(code, "", exitOf(p))
	}
	return chat.E(chat.Crashed, howEnded(p), exitOf(p))
}

// errGone says that the agent is not there any more.
var errGone = errors.New("the agent is gone")

// exitOf describes how a process ended; it is for the log.
func exitOf(p process) error {
	return fmt.Errorf("%w: %s: %s", errGone, howEnded(p), lastLine(p.Stderr()))
}

// howEnded is the fact alone, which may be shown.
func howEnded(p process) string {
	code, signal := p.Exit()
	if signal != 0 {
		return signal.String()
	}
	return fmt.Sprintf("exit code %d", code)
}
