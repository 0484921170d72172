package model

import "strings"

// Agents put words of their own among the user's: what the date is, what lies
// in the folder, that a turn was interrupted. A model tells them apart by
// meaning; here tables do.

// elements are marked parts of a text that a client wrote, wherever they
// stand.
var elements = []string{
	"system-reminder", "local-command-caveat", "local-command-stdout", "local-command-stderr", // Claude Code; the first: opencode and Qwen Code, too
	"command-name", "command-message", "command-args",
	"environment_context", "user_instructions", "turn_aborted", "skill", "subagent_notification", "collaboration_mode", // Codex
	"session_context", "untrusted_context", // Gemini CLI
	"current_datetime", "system_reminder", "reminder", "system_notification", // Copilot
}

// beginnings are how texts begin that a client wrote as a whole.
var beginnings = []string{
	"[Request interrupted",     // Claude Code
	"# AGENTS.md instructions", // Codex
}

// asides are how clients begin the instructions of requests that they make for
// themselves, beside the conversation: it must not be played for them.
var asides = []string{
	"You are a title generator", // opencode
}

// steered is how Claude Code introduces a message that came while it worked.
const steered = "The user sent a new message while you were working:"

// own returns the user's own part of a text; empty when there is none.
func own(text string) string {
	for _, name := range elements {
		text = without(text, name)
	}
	text = strings.TrimSpace(text)
	for _, p := range beginnings {
		if strings.HasPrefix(text, p) {
			return ""
		}
	}
	if rest, ok := strings.CutPrefix(text, steered); ok {
		text, _, _ = strings.Cut(strings.TrimSpace(rest), "\n\n")
	}
	return text
}

// without cuts every element of that name out of text.
func without(text, name string) string {
	begin, end := "<"+name+">", "</"+name+">"
	for {
		before, rest, ok := strings.Cut(text, begin)
		if !ok {
			return text
		}
		_, after, ok := strings.Cut(rest, end)
		if !ok {
			return before // not closed: the rest is the client's
		}
		text = before + after
	}
}

// aside reports whether a client asks for itself, judging by its instructions.
func aside(system string) bool {
	for _, p := range asides {
		if strings.HasPrefix(strings.TrimSpace(system), p) {
			return true
		}
	}
	return false
}
