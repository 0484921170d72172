package turn

import (
	"context"
	"strconv"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// aside names the session of a turn for people, when it is not the one that
// their next message goes to: its turn was asked for by a reply to an answer of
// its, or it was replaced while it worked. Empty otherwise.
func aside(n *run) string {
	c, err := n.books.Threads.ConversationByID(context.WithoutCancel(n.ctx), n.turn.Conversation)
	if err != nil || c.Session == 0 || c.Session == n.session.ID {
		return ""
	}
	id := strconv.FormatInt(n.session.ID, 10)
	if title := chat.PlainName(n.session.Title); title != "" {
		return i18n.T(n.words.lang, "turn.aside_title", "session", id, "title", line(title, labelLimit))
	}
	return i18n.T(n.words.lang, "turn.aside", "session", id)
}
