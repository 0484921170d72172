package telegram

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
)

// reactions are the emoji that the service accepts, without variation
// selectors.
var reactions = func() map[string]bool {
	const all = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"
	set := map[string]bool{}
	for e := range strings.FieldsSeq(all) {
		set[e] = true
	}
	return set
}()

// mute is how long a chat that refused a sign of life gets none.
const mute = 5 * time.Minute

// signaller gives signs of life. They are worth nothing by themselves: a chat
// that refuses them is left alone.
type signaller struct {
	wire *wire
	out  *courier
	calm *calm

	mu      sync.Mutex
	noReact map[string]bool // chats whose rules forbid reactions
	muted   calm            // chats that refused a typing sign
}

func (s *signaller) signal(ctx context.Context, to chat.Place, ref chat.Ref, sig chat.Signal) error {
	calm := s.calm.now(to.Chat) // the service asked for fewer calls in this chat
	switch sig.Kind {
	case chat.SignalTyping:
		if calm {
			return nil
		}
		return s.typing(ctx, to)
	case chat.SignalReact:
		if calm {
			return chat.E(chat.Unavailable, "this chat has to wait", nil)
		}
		return s.react(ctx, to, ref, sig.Emoji)
	case chat.SignalTitle:
		return s.out.rename(ctx, to, sig.Text)
	}
	return chat.E(chat.Unsupported, "unknown signal "+string(sig.Kind), nil)
}

func (s *signaller) typing(ctx context.Context, to chat.Place) error {
	if s.muted.now(to.Chat) {
		return nil
	}
	d := newDraft(to, chat.Part{})
	p := params{"chat_id": d.chat, "action": "typing"}
	p.AddNonEmpty("message_thread_id", d.thread)
	_, err := s.wire.call(ctx, request{method: "sendChatAction", params: p, limit: 10 * time.Second})
	var r *refusal
	if errors.As(err, &r) && r.Status < 500 && r.After == 0 {
		s.muted.until(to.Chat, mute)
	}
	return s.told(d, err)
}

func (s *signaller) react(ctx context.Context, to chat.Place, ref chat.Ref, emoji string) error {
	if ref.Zero() {
		return chat.E(chat.Invalid, "a reaction without a message", nil)
	}
	emoji = strings.ReplaceAll(emoji, "\ufe0f", "")
	if emoji != "" && !reactions[emoji] {
		return chat.E(chat.Unsupported, "not a reaction that Telegram has", nil)
	}
	s.mu.Lock()
	off := s.noReact[to.Chat]
	s.mu.Unlock()
	if off {
		return chat.E(chat.Unsupported, "this chat takes no reactions", nil)
	}
	d := newDraft(to, chat.Part{})
	if ref.Chat != "" {
		d.chat = ref.Chat
	}
	set := []reaction{}
	if emoji != "" {
		set = append(set, reaction{Type: "emoji", Emoji: emoji})
	}
	_, err := s.wire.call(ctx, request{
		method: "setMessageReaction",
		params: params{"chat_id": d.chat, "message_id": ref.ID, "reaction": object(set)},
		limit:  10 * time.Second,
	})
	var r *refusal
	if errors.As(err, &r) && (r.says("reaction_invalid") || r.says("reactions_disabled") || r.says("method not found")) {
		s.mu.Lock()
		s.noReact[to.Chat] = true
		s.mu.Unlock()
	}
	return s.told(d, err)
}

// told turns an error into one with a code and remembers a wait.
func (s *signaller) told(d draft, err error) error {
	if err == nil {
		return nil
	}
	if a, _ := judge(err, false); a == actDone {
		return nil
	}
	return s.out.refused(d, err, false)
}

type reaction struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}
