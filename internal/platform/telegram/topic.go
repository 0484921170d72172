package telegram

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"cligate/internal/chat"
)

// maxTopicName is the longest name of a topic, in characters.
const maxTopicName = 128

// general is the thread id that the General topic of a group has inside the
// service. It is never used on the way in or out.
const general = "1"

// supergroup is the address of a supergroup: each numbers its own messages.
func supergroup(id int64) *chat.Place {
	c := strconv.FormatInt(id, 10)
	return &chat.Place{Chat: c, Space: c}
}

// fact decodes what a message of the service tells about a place.
func (d decoder) fact(m *message) (chat.Message, bool) {
	if m.Chat == nil || m.Chat.Type == "channel" {
		return chat.Message{}, false
	}
	out := chat.Message{Place: d.place(m), Sender: sender(m), SentAt: time.Unix(m.Date, 0).UTC()}
	switch {
	case m.MovedTo != 0:
		out.Kind, out.Moved = chat.KindMoved, supergroup(m.MovedTo)
	case m.MovedFrom != 0:
		out.Kind, out.Moved = chat.KindMoved, supergroup(m.Chat.ID)
		out.Place.Chat, out.Place.Space = strconv.FormatInt(m.MovedFrom, 10), spaceBot
	case m.TopicEdited != nil && m.TopicEdited.Name != "" && out.Place.Thread != "":
		out.Kind, out.Place.Title = chat.KindRenamed, m.TopicEdited.Name
	case m.TopicReopened != nil, m.GeneralReopened != nil, m.GeneralShown != nil:
		out.Kind = chat.KindReopened
	case m.Topic != nil && m.Topic.Implicit && out.Place.Thread != "":
		d.made.remember(out.Place, m.Topic)
		return chat.Message{}, false
	default:
		return chat.Message{}, false
	}
	return out, true
}

// nameless are topics that the service named by itself and in which nobody has
// spoken yet. It matters only to their names, so it need not outlive us.
type nameless struct {
	mu     sync.Mutex
	topics map[string]*topic // by chat/thread
}

// maxNameless bounds how many are remembered.
const maxNameless = 512

func (n *nameless) remember(p chat.Place, made *topic) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.topics) >= maxNameless {
		clear(n.topics) // they keep the service's name
	}
	n.topics[p.Chat+"/"+p.Thread] = made
}

func (n *nameless) of(p chat.Place) *topic {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.topics[p.Chat+"/"+p.Thread]
}

// topic makes a topic. The id of the topic comes back as that of a message: it
// is the one of the message by which the service tells of it.
func (s *courier) topic(ctx context.Context, d draft) (chat.Ref, error) {
	if d.part.Topic == nil || d.part.Topic.Name == "" {
		return chat.Ref{}, chat.E(chat.GiveUp, "a topic without a name", nil)
	}
	var made topic
	err := s.wire.decode(ctx, request{
		method: "createForumTopic",
		params: params{"chat_id": d.chat, "name": chat.Clip(d.part.Topic.Name, maxTopicName)},
	}, &made)
	var r *refusal
	switch {
	case err == nil && made.Thread == 0:
		return chat.Ref{}, chat.E(chat.Uncertain, "Telegram sent no topic id", nil)
	case err == nil:
		id, _ := strconv.ParseInt(d.chat, 10, 64)
		return ref(id, made.Thread), nil
	case errors.As(err, &r) && (r.says("not enough rights") || r.says("admin_required") || r.says("admin_rights")):
		return chat.Ref{}, chat.Say(chat.Denied, "telegram.why_topic_right", err)
	case errors.As(err, &r) && (r.says("not a forum") || r.says("method not found") || r.says("forum_missing")):
		return chat.Ref{}, chat.Say(chat.Unsupported, "telegram.why_no_topics", err)
	}
	return chat.Ref{}, s.refused(d, err, true)
}

// reopen opens a closed topic and reports whether it did. The service allows
// that to administrators with the right to manage topics, and to the creator of
// a topic.
func (s *courier) reopen(ctx context.Context, d draft) bool {
	r := request{method: "reopenForumTopic", params: params{"chat_id": d.chat, "message_thread_id": d.thread}}
	if d.thread == "" {
		r = request{method: "reopenGeneralForumTopic", params: params{"chat_id": d.chat}}
	}
	if _, err := s.wire.call(ctx, r); err != nil {
		s.log.DebugContext(ctx, "a closed topic stays closed", "chat", d.chat, "thread", d.thread, "err", err)
		return false
	}
	s.log.InfoContext(ctx, "a closed topic is opened for an answer", "chat", d.chat, "thread", d.thread)
	return true
}

// rename gives a topic a name. It is worth nothing by itself.
func (s *courier) rename(ctx context.Context, to chat.Place, name string) error {
	d := newDraft(to, chat.Part{})
	if d.thread == "" || name == "" {
		return chat.E(chat.Unsupported, "nothing to name", nil)
	}
	_, err := s.wire.call(ctx, request{
		method: "editForumTopic",
		params: params{"chat_id": d.chat, "message_thread_id": d.thread, "name": chat.Clip(name, maxTopicName)},
		limit:  10 * time.Second,
	})
	var r *refusal
	if errors.As(err, &r) && r.says("topic_not_modified") {
		return nil
	}
	if err != nil {
		return s.refused(d, err, false)
	}
	return nil
}
