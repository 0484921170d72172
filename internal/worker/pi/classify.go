package pi

import (
	"net/http"
	"strconv"
	"strings"

	"cligate/internal/chat"
)

// maxDetail bounds what is shown of the agent's own words about a failure, in
// characters.
const maxDetail = 600

// phrase is a piece of a provider's words that tells a class of failure.
type phrase struct {
	text string
	code chat.Code
}

// phrases are looked for in order, in lower case.
var phrases = []phrase{
	{"context window", chat.ContextFull},
	{"context length", chat.ContextFull},
	{"context_length", chat.ContextFull},
	{"prompt is too long", chat.ContextFull},
	{"no api key", chat.LoggedOut},
	{"api key", chat.LoggedOut},
	{"no model selected", chat.LoggedOut},
	{"no models available", chat.LoggedOut},
	{"unauthorized", chat.LoggedOut},
	{"authentication", chat.LoggedOut},
	{"model not found", chat.ModelUnknown},
	{"no models match", chat.ModelUnknown},
	{"model_not_found", chat.ModelUnknown},
	{"quota", chat.Quota},
	{"billing", chat.Quota},
	{"usage limit", chat.Quota},
	{"rate limit", chat.Quota},
	{"rate_limit", chat.Quota},
	{"overloaded", chat.Overloaded},
	{"connection error", chat.Network},
	{"connection refused", chat.Network},
	{"connection reset", chat.Network},
	{"econn", chat.Network},
	{"enotfound", chat.Network},
	{"fetch failed", chat.Network},
	{"terminated", chat.Network},
	{"timed out", chat.Network},
	{"network", chat.Network},
}

// classify names the class of a failure by the agent's words, which begin with
// the provider's status where there was one.
func classify(words string) chat.Code {
	all := strings.ToLower(words)
	first, _, _ := strings.Cut(strings.TrimSpace(all), " ")
	status, err := strconv.Atoi(strings.TrimSuffix(first, ":"))
	if err != nil {
		status = 0
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
	}
	for _, p := range phrases {
		if strings.Contains(all, p.text) {
			return p.code
		}
	}
	return chat.AgentError
}

func shorten(s string) string { return chat.Clip(strings.TrimSpace(s), maxDetail) }

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return shorten(s[strings.LastIndexByte(s, '\n')+1:])
}
