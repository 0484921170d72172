package feishu

import "slices"

// directWith is the direct chat of a person with an app's bot. Who writes to a
// person makes it. The lock is held.
func (s *Server) directWith(app, person string) string {
	if id := s.direct(app, person); id != "" {
		return id
	}
	if _, known := s.world.people[person]; !known {
		return ""
	}
	id := s.id("oc")
	s.world.chats[id] = &chatState{id: id, kind: P2P, bots: []string{app}, people: []string{person}, threads: map[string]string{}}
	return id
}

// Enter lets a person open the direct chat with the bot, which the app is told
// each time. It returns the ids of the chat and of the event.
func (x *crowd) Enter(app, person string) (chat, event string) {
	s := x.s
	s.mu.Lock()
	chat = s.directWith(app, person)
	s.mu.Unlock()
	return chat, s.push(app, "im.chat.access_event.bot_p2p_chat_entered_v1", map[string]any{
		"chat_id": chat, "operator_id": ids(person), "last_message_id": "", "last_message_create_time": stamp(s.now())}).ID
}

// Choose lets a person choose an item of the bot's menu. The event does not say
// where.
func (x *crowd) Choose(app, person, key string) (event string) {
	s := x.s
	s.mu.Lock()
	name := s.person(person)
	s.mu.Unlock()
	return s.push(app, "application.bot.menu_v6", map[string]any{
		"operator": map[string]any{"operator_name": name, "operator_id": ids(person)}, "event_key": key, "timestamp": s.now().Unix()}).ID
}

// Invite takes the bot into a group, Expel takes it out.
func (x *crowd) Invite(app, chat, by string) (event string) {
	return x.membership(app, chat, by, "im.chat.member.bot.added_v1", true)
}

// Expel takes the bot out of a group.
func (x *crowd) Expel(app, chat, by string) (event string) {
	return x.membership(app, chat, by, "im.chat.member.bot.deleted_v1", false)
}

func (x *crowd) membership(app, chat, by, kind string, in bool) string {
	s := x.s
	s.mu.Lock()
	c := s.world.chats[chat]
	c.bots = slices.DeleteFunc(slices.Clone(c.bots), func(id string) bool { return id == app })
	if in {
		c.bots = append(c.bots, app)
	}
	name := c.name
	s.mu.Unlock()
	return s.push(app, kind, map[string]any{"chat_id": chat, "operator_id": ids(by), "external": false, "operator_tenant_key": Tenant, "name": name}).ID
}
