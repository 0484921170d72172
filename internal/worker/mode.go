package worker

import "strings"

// unasking are the words, without case and separators, by which agents call
// modes in which they act without asking anybody: Claude Code's
// bypassPermissions and auto, Codex's never and danger-full-access, Gemini's
// yolo, Copilot's autopilot and allow-all.
var unasking = []string{"bypass", "yolo", "danger", "fullaccess", "fullauto", "autopilot", "allowall", "autoapprove", "unattended"}

// Unasked reports whether an agent in that mode acts without asking anybody,
// or has somebody other than a person decide. Names that are the address of a
// mode are judged by what follows the last "#" or "/".
func Unasked(mode string) bool {
	if i := strings.LastIndexAny(mode, "#/"); i >= 0 {
		mode = mode[i+1:]
	}
	word := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -_.", r) {
			return -1
		}
		return r
	}, strings.ToLower(mode))
	if word == "auto" || word == "never" {
		return true
	}
	for _, u := range unasking {
		if strings.Contains(word, u) {
			return true
		}
	}
	return false
}
