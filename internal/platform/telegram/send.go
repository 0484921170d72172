package telegram

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// courier posts, changes and removes messages.
type courier struct {
	wire  *wire
	log   *slog.Logger
	calm  *calm
	files platform.Files // nil = every file is in its row
	plain *classicOnly
}

// send carries one outbox row out.
func (s *courier) send(ctx context.Context, o chat.Out) (chat.Ref, error) {
	d, err := s.address(o)
	if err != nil {
		return chat.Ref{}, err
	}
	switch o.Op {
	case chat.OpPost:
		return s.post(ctx, d)
	case chat.OpEdit, chat.OpFinish:
		return s.edit(ctx, d, o.Target)
	case chat.OpRemove:
		return o.Target, s.remove(ctx, d.chat, o.Target)
	case chat.OpTopic:
		return s.topic(ctx, d)
	}
	return chat.Ref{}, chat.E(chat.GiveUp, "unknown operation "+string(o.Op), nil)
}

// address makes the draft of a row.
func (s *courier) address(o chat.Out) (draft, error) {
	if _, err := strconv.ParseInt(o.Place.Chat, 10, 64); err != nil {
		return draft{}, chat.E(chat.GiveUp, "not the id of a Telegram chat", nil)
	}
	d := newDraft(o.Place, o.Part)
	d.files = s.files
	if s.plain.is() {
		d.rich = nil
	}
	return d, nil
}

// post sends d as a new message, once. When the service refuses its form,
// nothing was sent, and it is tried in the next simpler one. A closed topic is
// opened where the bot may do that.
func (s *courier) post(ctx context.Context, d draft) (chat.Ref, error) {
	for reopened := false; ; {
		var m message
		err := s.wire.decode(ctx, d.post(), &m)
		if err == nil {
			return s.posted(ctx, d, m)
		}
		if a, _ := judge(err, true); a == actShut && !reopened && s.reopen(ctx, d) {
			reopened = true
			continue
		}
		simpler, ok := s.mend(ctx, d, err)
		if !ok {
			return chat.Ref{}, s.refused(d, err, true)
		}
		d = simpler
	}
}

// posted makes the receipt. A message that ended up outside its topic is taken
// back: an answer never appears in another place.
func (s *courier) posted(ctx context.Context, d draft, m message) (chat.Ref, error) {
	if m.ID == 0 || m.Chat == nil {
		return chat.Ref{}, chat.E(chat.Uncertain, "Telegram sent no message id", nil)
	}
	r := ref(m.Chat.ID, m.ID)
	if d.thread != "" && strconv.FormatInt(m.Thread, 10) != d.thread {
		s.log.WarnContext(ctx, "a message missed its topic and is taken back", "chat", d.chat, "thread", d.thread)
		if err := s.remove(ctx, d.chat, r); err != nil {
			s.log.WarnContext(ctx, "a message that missed its topic stays", "chat", d.chat, "err", err)
		}
		return chat.Ref{}, chat.Say(chat.Vanished, "telegram.why_topic_gone", nil)
	}
	return r, nil
}

// mend returns the form of d to try next after err, if there is one.
func (s *courier) mend(ctx context.Context, d draft, err error) (draft, bool) {
	if simpler, ok := s.classic(ctx, d, err); ok {
		return simpler, true
	}
	a, _ := judge(err, true)
	switch {
	case a == actBare && len(d.part.Buttons) > 0:
		s.log.ErrorContext(ctx, "buttons refused, sent without", "chat", d.chat, "err", err)
		d.part.Buttons = nil
		return d, true
	case a == actFile && d.part.File == nil:
		s.log.WarnContext(ctx, "text too long, sent as a file", "chat", d.chat, "err", err)
		return d.asFile(), true
	}
	return d, false
}

// refused is the error of a call about d; the caller learns from its code what
// to do.
func (s *courier) refused(d draft, err error, posts bool) error {
	out := oblige(err, posts, d.simpler())
	var e *chat.Error
	if a, _ := judge(err, posts); a == actForm && d.part.File != nil && d.simpler() && errors.As(out, &e) {
		e.Code = chat.Degrade // not the words are refused but the file
	}
	if errors.As(out, &e) && e.Code == chat.Wait {
		s.calm.until(d.chat, e.After)
	}
	return out
}

// edit gives the message target the content of d. It may be repeated.
func (s *courier) edit(ctx context.Context, d draft, target chat.Ref) (chat.Ref, error) {
	if target.Zero() {
		return chat.Ref{}, chat.E(chat.GiveUp, "an edit without a message", nil)
	}
	if target.Chat != "" {
		d.chat = target.Chat
	}
	caption := false
	for {
		_, err := s.wire.call(ctx, d.edit(target.ID, caption))
		if err == nil {
			return target, nil
		}
		if simpler, ok := s.classic(ctx, d, err); ok {
			d = simpler
			continue
		}
		a, _ := judge(err, false)
		var r *refusal
		switch {
		case a == actDone:
			return target, nil
		case !caption && errors.As(err, &r) && r.says("there is no text in the message"):
			caption = true
		case a == actBare && len(d.part.Buttons) > 0:
			s.log.ErrorContext(ctx, "buttons refused, edited without", "chat", d.chat, "err", err)
			d.part.Buttons = nil
		case a == actMove: // ids of the old group are dead
			return chat.Ref{}, chat.E(chat.Gone, "the group has a new id", err)
		default:
			return chat.Ref{}, s.refused(d, err, false)
		}
	}
}

// remove deletes a message. One that is not there, or too old, is no error.
func (s *courier) remove(ctx context.Context, chatID string, target chat.Ref) error {
	if target.Zero() {
		return nil
	}
	if target.Chat != "" {
		chatID = target.Chat
	}
	_, err := s.wire.call(ctx, request{
		method: "deleteMessage",
		params: params{"chat_id": chatID, "message_id": target.ID},
	})
	if err == nil {
		return nil
	}
	if a, _ := judge(err, false); a == actDone || a == actGone || a == actMove {
		return nil
	}
	return s.refused(draft{chat: chatID}, err, false)
}

// calm knows in which chats the service wants fewer calls. Only signs of life
// heed it here; the pace of messages is the sender's above.
type calm struct {
	mu   sync.Mutex
	ends map[string]time.Time
}

func (c *calm) until(chatID string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for k, t := range c.ends {
		if now.After(t) {
			delete(c.ends, k)
		}
	}
	if end := now.Add(d); end.After(c.ends[chatID]) {
		c.ends[chatID] = end
	}
}

func (c *calm) now(chatID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.ends[chatID])
}
