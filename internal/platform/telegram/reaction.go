package telegram

import (
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
)

// gestures says what a reaction on one's own waiting message means. Others mean
// nothing. docs/telegram.md has the same table.
var gestures = map[string]chat.Gesture{
	"👍": chat.GestureNow,
	"⚡": chat.GestureNow,
	"👎": chat.GestureRemove,
	"💔": chat.GestureRemove,
}

// reaction decodes the change of somebody's reactions on a message. Only one
// that was put there means something: taking it away takes nothing back.
// Anonymous ones are nobody's. In which topic the message is the service does
// not say; the place is the chat's.
func (d decoder) reaction(r *reactionChange) (chat.Message, bool) {
	if r.Chat == nil || r.Chat.Type == "channel" || r.ID == 0 || r.User == nil || r.Actor != nil {
		return chat.Message{}, false
	}
	var meant chat.Gesture
	for _, n := range r.New {
		if slices.Contains(r.Old, n) {
			continue
		}
		if g, ok := gestures[strings.TrimSuffix(n.Emoji, "\ufe0f")]; ok {
			meant = g
		}
	}
	if meant == "" {
		return chat.Message{}, false
	}
	to := ref(r.Chat.ID, r.ID)
	to.Num = 0 // the message's own number, which is known already
	return chat.Message{
		Kind:      chat.KindGesture,
		Place:     d.place(&message{origin: origin{Chat: r.Chat}}),
		Sender:    person(r.User),
		Ref:       to,
		Data:      string(meant),
		Addressed: true,
		SentAt:    time.Unix(r.Date, 0).UTC(),
	}, true
}
