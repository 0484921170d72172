package model

import "strings"

// Agents put words of their own among the user's: what the date is, what lies
// in the folder, that a turn was interrupted. A model tells them apart by
// meaning; here a table does.

// theirs begins a text that a client wrote, not the user.
var theirs = []string{
	"<system-reminder>", "<local-command", "<command-", "[Request interrupted", // Claude Code
}

// steered is how Claude Code introduces a message that came while it worked.
const steered = "The user sent a new message while you were working:"

// own returns the user's own part of a text; empty when there is none.
func own(text string) string {
	text = strings.TrimSpace(text)
	for _, p := range theirs {
		if strings.HasPrefix(text, p) {
			return ""
		}
	}
	if rest, ok := strings.CutPrefix(text, steered); ok {
		text, _, _ = strings.Cut(strings.TrimSpace(rest), "\n\n")
	}
	return text
}
