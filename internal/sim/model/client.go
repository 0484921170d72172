package model

import (
	"slices"
	"strings"

	"cligate/internal/sim/script"
)

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
	"[Request interrupted", "[Image: source:", // Claude Code
	"# AGENTS.md instructions", "<image name=", "</image>", // Codex
}

// continuations are in texts by which a client makes the model go on, with a
// summary of what was before or after an answer that broke off.
var continuations = []string{
	"This session is being continued from a previous conversation", "Your response above was cut off mid-stream", // Claude Code
	"Another language model started to solve this problem",                                 // Codex
	"Resume the prior task using the summary above", "The connection dropped mid-response", // Qwen Code
	"Some of the conversation history has been summarized",     // Copilot
	"The conversation was compacted", "What did we do so far?", // opencode
	"The conversation history before this point was compacted", // pi
}

// goOn is what the model is told instead.
const goOn = "say I go on with it"

// asides are in requests that clients make for themselves, beside the
// conversation: no script must be played for them. The mark stands in the last
// text or at the beginning of the instructions.
var asides = []struct{ mark, answer string }{
	{"You are a title generator", "a title"},                                 // opencode
	{"<severity>N</severity>", "<severity>0</severity>"},                     // Claude Code: may a tool run?
	{"[SUGGESTION MODE:", "none"},                                            // Qwen Code: what will the user say next?
	{"Managed memory has TWO directories", "nothing to keep"},                // Qwen Code
	{"CRITICAL: Respond with TEXT ONLY", summary},                            // Claude Code
	{"You are performing a CONTEXT CHECKPOINT COMPACTION", summary},          // Codex
	{"First, reason in your", summary},                                       // Gemini CLI, Qwen Code
	{"Please create a detailed summary of the conversation so far", summary}, // Copilot
	{"You are a context summarization agent", summary},                       // opencode
	{"You are a context summarization assistant", summary},                   // pi
}

// summary stands for one of the conversation: it holds what can be asked for
// later.
const summary = "summary"

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

// continuation reports whether a client makes the model go on.
func continuation(text string) bool {
	return slices.ContainsFunc(continuations, func(mark string) bool { return strings.Contains(text, mark) })
}

// aside returns the answer to what the client asks for itself; empty when it
// asks for the user.
func (c *call) aside() string {
	for _, a := range asides {
		if !strings.Contains(c.last, a.mark) && !strings.HasPrefix(strings.TrimSpace(c.system), a.mark) {
			continue
		}
		if a.answer == summary {
			return "<state_snapshot>\n" + c.memory() + "\n</state_snapshot>"
		}
		return a.answer
	}
	if c.form != nil {
		return string(mustJSON(c.form.sample()))
	}
	return ""
}

// memory is what a summary must keep.
func (c *call) memory() string {
	if word := script.Word(c.texts); word != script.Word(nil) {
		return "The user said: remember the word " + word
	}
	return "There is nothing to keep."
}
