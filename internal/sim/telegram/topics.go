package telegram

import (
	"maps"
	"strings"
	"unicode/utf8"
)

// Rules of topics.
const (
	RuleForum     Rule = "forum"      // topics are made where the chat has topics
	RuleRights    Rule = "rights"     // whoever manages topics is an administrator with that right, or made the topic
	RuleTitle     Rule = "title"      // a topic has a name
	RuleTopicSame Rule = "topic-same" // a change of a topic changes something
	RuleClosed    Rule = "closed"     // a closed topic takes no messages
	RuleDeleted   Rule = "deleted"    // a deleted topic takes none either, and has none any more
	RuleGeneral   Rule = "general"    // General has no number on the way in

	RuleImplicit    Rule = "implicit"     // in a private chat with topics, what is written outside of them makes one
	RuleCreation    Rule = "creation"     // what answers nothing in a topic answers the message that made it
	RuleReplyThread Rule = "reply-thread" // a chain of replies has a thread id, which means no topic
	RuleNews        Rule = "news"         // what happens to a topic is told
)

// generalID is what General is called inside the service.
const generalID = 1

// maxTitle is how long the name of a topic may be; the rest is cut.
const maxTitle = 128

type topic struct {
	name            string
	closed, deleted bool
	told            bool // the bot was told that it is deleted
	creator         int64
}

// threaded reports whether the chat has topics for this bot: a forum, or a
// private chat with a bot that has them switched on.
func (b *bot) threaded(c *chatState) bool {
	on, _ := b.profile.flags["has_topics_enabled"].(bool)
	return c.forum || c.kind == Private && on
}

// admits refuses what is sent to a topic that is not there or takes nothing.
// The service itself lets those who manage topics write into closed ones; this
// one refuses them, too.
func admits(r request, c *chatState) *refusal {
	id := r.p.num("message_thread_id")
	if !r.b.threaded(c) {
		return nil // ignored without a word
	}
	on := r.s.on
	t := c.topics[id]
	switch {
	case id == 0:
		if g := c.topics[generalID]; g != nil && g.closed && on(RuleClosed) {
			return bad("TOPIC_CLOSED")
		}
	case t == nil || id == generalID:
		if on(RuleThread) {
			return bad("message thread not found")
		}
	case t.deleted && on(RuleDeleted):
		if !t.told {
			t.told = true
			return bad("TOPIC_DELETED")
		}
		return bad("message thread not found")
	case t.closed && on(RuleClosed):
		return bad("TOPIC_CLOSED")
	}
	return nil
}

func topicOf(r request, c *chatState) int64 {
	if r.b.threaded(c) {
		return r.p.num("message_thread_id")
	}
	return 0
}

// threadJSON says in which thread a message is.
func threadJSON(out map[string]any, s *Server, b *bot, m *Message) {
	c := s.chats[m.Chat]
	switch {
	case c == nil:
	case m.Thread != 0:
		out["message_thread_id"], out["is_topic_message"] = m.Thread, true
		made := c.find(b, m.Thread)
		if m.ReplyTo == 0 && m.ID != m.Thread && made != nil && made.extra["forum_topic_created"] != nil && s.on(RuleCreation) {
			out["reply_to_message"] = messageJSON(s, b, made)
		}
	case c.forum && !s.on(RuleGeneral):
		out["message_thread_id"], out["is_topic_message"] = generalID, true
	case c.kind == Supergroup && !c.forum && m.ReplyTo != 0 && s.on(RuleReplyThread):
		root := m.ReplyTo
		for to := c.find(b, root); to != nil && to.ReplyTo != 0; to = c.find(b, root) {
			root = to.ReplyTo
		}
		out["message_thread_id"] = root
	}
}

// topicCall is a call about a topic.
type topicCall struct {
	request
	c *chatState
}

// ofTopic carries out the methods about topics; false = another method.
func ofTopic(r request, method string) (any, *refusal, bool) {
	does, ok := map[string]func(topicCall) (any, *refusal){
		"createForumTopic":        topicCall.create,
		"editForumTopic":          topicCall.rename,
		"closeForumTopic":         topicCall.shut,
		"reopenForumTopic":        topicCall.reopen,
		"deleteForumTopic":        topicCall.remove,
		"closeGeneralForumTopic":  topicCall.shut,
		"reopenGeneralForumTopic": topicCall.reopen,
	}[method]
	if !ok {
		return nil, nil, false
	}
	c, no := r.target(false)
	if no == nil && !r.b.threaded(c) && r.s.on(RuleForum) {
		no = bad("the chat is not a forum")
	}
	if no != nil {
		return nil, no, true
	}
	call := topicCall{r, c}
	if strings.Contains(method, "General") {
		call.p.values = maps.Clone(call.p.values)
		call.p.values["message_thread_id"] = "1"
		if c.topics[generalID] == nil {
			c.topics[generalID] = &topic{name: "General"}
		}
	}
	result, no := does(call)
	return result, no, true
}

// may refuses bots that lack a right. The creator of a topic may change it.
func (t topicCall) may(right, what string, one *topic) *refusal {
	if t.c.kind == Private || !t.s.on(RuleRights) || one != nil && one.creator == t.b.id {
		return nil
	}
	if has, _ := t.b.profile.admin[t.c.id][right].(bool); has {
		return nil
	}
	return bad("not enough rights to " + what)
}

// one is the topic that the call is about.
func (t topicCall) one() (int64, *topic, *refusal) {
	id := t.p.num("message_thread_id")
	one := t.c.topics[id]
	if one == nil || one.deleted {
		if t.s.on(RuleThread) {
			return 0, nil, bad("message thread not found")
		}
		one = &topic{}
	}
	return id, one, nil
}

func (t topicCall) create() (any, *refusal) {
	name, no := t.title()
	if no == nil {
		no = t.may("can_manage_topics", "create a topic", nil)
	}
	if no == nil {
		no = t.rate(t.c, "createForumTopic")
	}
	if no != nil {
		return nil, no
	}
	id := t.s.make(t.b, t.c, t.b.me(), name, false)
	t.call.Message, t.call.Text = id, name
	return map[string]any{"message_thread_id": id, "name": name, "icon_color": 7322096}, nil
}

// title is the name that the call gives.
func (t topicCall) title() (string, *refusal) {
	name := strings.TrimSpace(t.p.str("name"))
	if name == "" && t.s.on(RuleTitle) {
		return "", bad("topic title must be non-empty")
	}
	if utf8.RuneCountInString(name) > maxTitle {
		name = string([]rune(name)[:maxTitle])
	}
	return name, nil
}

func (t topicCall) rename() (any, *refusal) {
	id, one, no := t.one()
	if no == nil {
		no = t.may("can_manage_topics", "edit the topic", one)
	}
	if no != nil {
		return nil, no
	}
	name, no := t.title()
	if no != nil {
		return nil, no
	}
	if name == one.name && t.s.on(RuleTopicSame) {
		return nil, bad("TOPIC_NOT_MODIFIED")
	}
	t.s.rename(t.b, t.c, t.b.me(), id, name)
	return true, nil
}

func (t topicCall) shut() (any, *refusal)   { return t.toggle(true) }
func (t topicCall) reopen() (any, *refusal) { return t.toggle(false) }

func (t topicCall) toggle(closed bool) (any, *refusal) {
	id, one, no := t.one()
	if no == nil {
		no = t.may("can_manage_topics", "close or reopen the topic", one)
	}
	if no != nil {
		return nil, no
	}
	if one.closed == closed && t.s.on(RuleTopicSame) {
		return nil, bad("TOPIC_NOT_MODIFIED")
	}
	t.s.toggle(t.b, t.c, t.b.me(), id, closed)
	return true, nil
}

func (t topicCall) remove() (any, *refusal) {
	id, _, no := t.one()
	if no == nil {
		no = t.may("can_delete_messages", "delete the topic", nil)
	}
	if no != nil {
		return nil, no
	}
	t.s.remove(t.b, t.c, id)
	t.c.topics[id].told = true
	return true, nil
}

// forums is what people do to topics, each told to the bot as the service
// tells it.
type forums struct{ s *Server }

// MakeTopic lets a person make a topic.
func (f forums) MakeTopic(token string, chat, from int64, name string) int64 {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	c := f.s.chats[chat]
	c.forum = c.forum || c.kind == Supergroup
	return f.make(f.s.bots[token], c, person(from, "Person"), name, false)
}

// RenameTopic lets a person name a topic.
func (f forums) RenameTopic(token string, chat, id, from int64, name string) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.rename(f.s.bots[token], f.s.chats[chat], person(from, "Person"), id, name)
}

// CloseTopic lets a person close a topic or open it again. Number 1 is General.
func (f forums) CloseTopic(token string, chat, id, from int64, closed bool) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	c := f.s.chats[chat]
	if id == generalID && c.topics[id] == nil {
		c.topics[id] = &topic{name: "General"}
	}
	f.toggle(f.s.bots[token], c, person(from, "Person"), id, closed)
}

// DeleteTopic lets a person delete a topic with all that is in it. Nobody is
// told.
func (f forums) DeleteTopic(token string, chat, id int64) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.remove(f.s.bots[token], f.s.chats[chat], id)
}

// Topics are the names of the topics of a chat that are there, by number.
func (f forums) Topics(chat int64) map[int64]string {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	out := map[int64]string{}
	for id, t := range f.s.chats[chat].topics {
		if !t.deleted && id != generalID {
			out[id] = t.name
		}
	}
	return out
}

// make makes a topic; its number is that of the message that tells of it.
func (f forums) make(b *bot, c *chatState, by map[string]any, name string, implicit bool) int64 {
	what := map[string]any{"name": name, "icon_color": 7322096}
	if implicit {
		what["is_name_implicit"] = true
	}
	m := f.s.store(b, c, f.news(by, "forum_topic_created", what))
	m.Thread = m.ID
	creator, _ := by["id"].(int64)
	c.topics[m.ID] = &topic{name: name, creator: creator}
	f.tell(b, m)
	return m.ID
}

func (f forums) rename(b *bot, c *chatState, by map[string]any, id int64, name string) {
	if t := c.topics[id]; t != nil {
		t.name = name
	}
	m := f.news(by, "forum_topic_edited", map[string]any{"name": name})
	m.Thread = id
	f.tell(b, f.s.store(b, c, m))
}

func (f forums) toggle(b *bot, c *chatState, by map[string]any, id int64, closed bool) {
	what := "forum_topic_reopened"
	if closed {
		what = "forum_topic_closed"
	}
	if t := c.topics[id]; t != nil {
		t.closed = closed
	}
	m := f.news(by, what, map[string]any{})
	if id != generalID {
		m.Thread = id
	}
	f.tell(b, f.s.store(b, c, m))
}

func (f forums) remove(b *bot, c *chatState, id int64) {
	c.topics[id].deleted = true
	key := b.token
	if c.kind == Supergroup {
		key = ""
	}
	for _, m := range c.messages[key] {
		m.Deleted = m.Deleted || m.Thread == id
	}
}

// news is a message of the service itself.
func (f forums) news(by map[string]any, what string, about any) *Message {
	from, _ := by["id"].(int64)
	return &Message{From: from, captioned: true, extra: map[string]any{"from": by, what: about}}
}

// tell hands over what happened, also what the bot itself did.
func (f forums) tell(b *bot, m *Message) {
	if f.s.on(RuleNews) {
		f.s.push(b, "message", messageJSON(f.s, b, m))
	}
}

// settle puts what a person says in a private chat with topics outside of them
// into a new one.
func (f forums) settle(b *bot, c *chatState, say *Say) {
	if c.kind == Private && b.threaded(c) && say.Thread == 0 && say.ReplyTo == 0 && f.s.on(RuleImplicit) {
		say.Thread = f.make(b, c, person(say.From, "Person"), "New Thread", true)
	}
}

// topicRules are the rules of this file.
func topicRules() []Rule {
	return []Rule{RuleForum, RuleRights, RuleTitle, RuleTopicSame, RuleClosed, RuleDeleted,
		RuleGeneral, RuleImplicit, RuleCreation, RuleReplyThread, RuleNews}
}
