package opencode

import (
	"fmt"
	"net/http"
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
	{"model not found", chat.ModelUnknown},
	{"model_not_found", chat.ModelUnknown},
	{"does not exist or you do not have access", chat.ModelUnknown},
	{"context window", chat.ContextFull},
	{"context length", chat.ContextFull},
	{"context_length", chat.ContextFull},
	{"prompt is too long", chat.ContextFull},
	{"insufficient_quota", chat.Quota},
	{"quota", chat.Quota},
	{"billing", chat.Quota},
	{"usage limit", chat.Quota},
	{"rate limit", chat.Quota},
	{"rate_limit", chat.Quota},
	{"too many requests", chat.Quota},
	{"credit balance", chat.Quota},
	{"api key", chat.LoggedOut},
	{"api_key", chat.LoggedOut},
	{"unauthorized", chat.LoggedOut},
	{"authentication", chat.LoggedOut},
	{"overloaded", chat.Overloaded},
	{"internal server error", chat.Overloaded},
	{"service unavailable", chat.Overloaded},
	{"cannot connect", chat.Network},
	{"unable to connect", chat.Network},
	{"connection reset", chat.Network},
	{"connection refused", chat.Network},
	{"connection was closed", chat.Network},
	{"econn", chat.Network},
	{"enotfound", chat.Network},
	{"network", chat.Network},
	{"timed out", chat.Network},
}

// classify names the class of a failure by the agent's name for it, the status
// of the provider, and the words.
func classify(f failure, words string) chat.Code {
	switch f.Name {
	case "ProviderAuthError":
		return chat.LoggedOut
	case "ContextOverflowError":
		return chat.ContextFull
	case "MessageAbortedError":
		return chat.Stopped
	}
	all := strings.ToLower(words + " " + f.Data.Body)
	switch status := f.Data.StatusCode; {
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

// asError is what a turn that failed so returns.
func (f failure) asError(cause error) error {
	words, _, _ := strings.Cut(f.Data.Message, "\n") // below it the agent prints where in its code it was
	return chat.E(classify(f, words), shorten(words), fmt.Errorf("%s, status %d: %w", f.Name, f.Data.StatusCode, cause))
}

func shorten(s string) string { return chat.Clip(strings.TrimSpace(s), maxDetail) }
