package telegram

import "fmt"

// Rules of who speaks and who listens.
const (
	RuleStandIn Rule = "stand-in" // whoever writes as a chat is not named
	RulePrivacy Rule = "privacy"  // in privacy mode a bot that is no administrator is given what is meant for it
	RuleOldHome Rule = "old-home" // the new supergroup says which group it was
)

// Ids that stand for no person.
const (
	anonymousAdmin = 1087968824
	channelAuthor  = 136817688
	serviceItself  = 777000
)

// SayAnonymously lets an administrator write as the group itself.
func (p people) SayAnonymously(token string, say Say) int64 {
	s := p.server
	s.mu.Lock()
	group := chatJSON(s, say.Chat)
	s.mu.Unlock()
	return p.sayAs(token, say, stands(anonymousAdmin, "GroupAnonymousBot", true), group, nil)
}

// SayAsChannel lets a person write into a group as their channel.
func (p people) SayAsChannel(token string, say Say, channel int64) int64 {
	return p.sayAs(token, say, stands(channelAuthor, "Channel_Bot", true), channelJSON(channel), nil)
}

// Forwarded lets a post of the linked channel appear in its group.
func (p people) Forwarded(token string, say Say, channel int64) int64 {
	return p.sayAs(token, say, stands(serviceItself, "Telegram", false), channelJSON(channel), map[string]any{
		"is_automatic_forward": true,
		"forward_origin":       map[string]any{"type": "channel", "chat": channelJSON(channel), "message_id": 9, "date": 1},
	})
}

func (p people) sayAs(token string, say Say, from, as map[string]any, more map[string]any) int64 {
	if p.server.on(RuleStandIn) {
		say.Extra = map[string]any{"from": from, "sender_chat": as}
		for k, v := range more {
			say.Extra[k] = v
		}
	}
	return p.server.Say(token, say)
}

func stands(id int64, name string, bot bool) map[string]any {
	return map[string]any{"id": id, "is_bot": bot, "first_name": name}
}

func channelJSON(id int64) map[string]any {
	return map[string]any{"id": id, "type": "channel", "title": fmt.Sprintf("Channel %d", id)}
}

// hears reports whether a bot is given a message of a group.
func (s *Server) hears(b *bot, c *chatState, m *Message) bool {
	if c.kind == Private || !b.privacy || !s.on(RulePrivacy) || b.profile.admin[c.id] != nil {
		return true
	}
	s.shelf.mu.Lock()
	admin := s.admins[c.id]
	s.shelf.mu.Unlock()
	return admin || visibleToBot(b, c, m)
}

// Signal is how a bot hears that a group has become a supergroup.
type Signal int

// Signals; a send to the old group is refused with the new id in any case.
const (
	Unsaid  Signal = 0 // not at all, as when updates were lost
	SaidOld Signal = 1 // in the old group
	SaidNew Signal = 2 // in the new one
)

// Upgrade turns a group into a supergroup with a new id, and says so by these
// signals.
func (p people) Upgrade(token string, from, to int64, by Signal) {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	b, old := s.bots[token], s.chats[from]
	old.migrated = to
	s.chats[to] = &chatState{id: to, kind: Supergroup, title: old.title, topics: map[int64]*topic{}, counter: 0,
		messages: map[string]map[int64]*Message{}, started: true}
	if rights := b.profile.admin[from]; rights != nil {
		b.profile.admin[to] = rights
	}
	f := forums{s}
	admin := person(1, "Admin")
	there := s.store(b, old, f.news(admin, "migrate_to_chat_id", to))
	here := s.store(b, s.chats[to], f.news(admin, "migrate_from_chat_id", from))
	if by&SaidOld != 0 {
		s.push(b, "message", messageJSON(s, b, there))
	}
	if by&SaidNew != 0 && s.on(RuleOldHome) {
		s.push(b, "message", messageJSON(s, b, here))
	}
}

// senderRules are the rules of this file.
func senderRules() []Rule { return []Rule{RuleStandIn, RulePrivacy, RuleOldHome} }
