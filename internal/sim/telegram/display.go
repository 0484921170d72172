package telegram

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// What a message shows beside its text: buttons for the clipboard and reactions.

// copyButton refuses what no clipboard button may be: one of 1 to 256
// characters that does nothing else.
func (r request) copyButton(x Button) *refusal {
	if x.CopyText == nil || !r.s.on(RuleCopy) {
		return nil
	}
	n := utf8.RuneCountInString(x.CopyText.Text)
	switch {
	case x.Data != "" || x.URL != "":
		return bad("can't parse inline keyboard button: exactly one of the optional fields must be used")
	case n == 0 || n > 256:
		return bad("BUTTON_COPY_TEXT_INVALID")
	}
	return nil
}

// AllowReactions restricts the reactions of a chat, as its administrators can:
// to these, or to none.
func AllowReactions(s *Server, chat int64, emojis ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[chat].restricted, s.chats[chat].reactions = true, emojis
}

// allowed reports whether a bot may react with emoji in c.
func (r request) allowed(c *chatState, emoji string) bool {
	if !r.s.on(RuleReaction) {
		return true
	}
	return strings.Contains(allowedReactions, " "+emoji+" ") && (!c.restricted || slices.Contains(c.reactions, emoji))
}
