package feishu

import (
	"slices"
	"strconv"
)

// mentioned is a list of mentions as calls show it: there an id is a word,
// where events have an object.
func mentioned(ats []map[string]any) []map[string]any {
	out := make([]map[string]any, len(ats))
	for i, at := range ats {
		id, _ := at["id"].(map[string]any)
		out[i] = map[string]any{"key": at["key"], "name": at["name"], "tenant_key": at["tenant_key"], "id": id["open_id"], "id_type": "open_id"}
	}
	return out
}

// list is the history of a chat, without what was said in its threads, or that
// of a thread, which takes no times.
func (q mailCall) list() (any, *refusal) {
	s := q.s
	c, threaded := s.world.chats[q.str("container_id")], q.str("container_id_type") == "thread"
	if threaded {
		c = s.threadChat(q.str("container_id"))
	}
	if !threaded && q.str("container_id_type") != "chat" || c == nil {
		return nil, refuse(230001, "Your request contains an invalid request parameter, ext=invalid container_id")
	}
	q.call.Chat = c.id
	if no := q.member(c); no != nil && no.code != 230018 {
		return nil, no
	}
	if c.kind != P2P && !q.app.scopes["im:message.group_msg"] && s.on(RuleHistory) {
		return nil, refuse(230027, "Lack of necessary permissions, ext=need scope: im:message.group_msg")
	}
	from, _ := strconv.ParseInt(q.str("start_time"), 10, 64) // seconds
	to, _ := strconv.ParseInt(q.str("end_time"), 10, 64)
	if threaded && (from > 0 || to > 0) {
		return nil, refuse(230001, "Your request contains an invalid request parameter, ext=thread does not support start_time or end_time")
	}
	var all []*message
	for _, id := range s.world.order {
		m := s.world.messages[id]
		at := m.At.Unix()
		inside := m.Thread == "" || m.Root == "" || m.Root == m.ID
		if threaded {
			inside = m.Thread == q.str("container_id")
		}
		if m.Chat == c.id && m.Upper == "" && inside && at >= from && (to <= 0 || at <= to) {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b *message) int { return a.At.Compare(b.At) })
	if q.str("sort_type") == "ByCreateTimeDesc" {
		slices.Reverse(all)
	}
	return q.page(all), nil
}

// page is a page of a list of messages.
func (q mailCall) page(all []*message) map[string]any {
	size, _ := strconv.Atoi(q.str("page_size"))
	if size <= 0 || size > 50 {
		size = 20
	}
	skip, _ := strconv.Atoi(q.str("page_token"))
	all = all[min(max(skip, 0), len(all)):]
	items := []map[string]any{}
	for _, m := range all[:min(size, len(all))] {
		items = append(items, q.s.messageJSON(m))
	}
	out := map[string]any{"items": items, "has_more": len(all) > size}
	if len(all) > size {
		out["page_token"] = strconv.Itoa(skip + size)
	}
	return out
}

// threadChat is the chat that a thread is in.
func (s *Server) threadChat(thread string) *chatState {
	for _, c := range s.world.chats {
		for _, id := range c.threads {
			if id == thread {
				return c
			}
		}
	}
	return nil
}

// PushAsAnother pushes a message once more under another message id, with the
// time at which it was sent: seen after reconnections.
func (x *crowd) PushAsAnother(app, id string) (message, event string) {
	s := x.s
	s.mu.Lock()
	again := *s.world.messages[id]
	at := again.At
	if again.Root == again.ID {
		again.Root = ""
	}
	s.store(&again)
	again.At, again.Updated = at, at
	body := s.received(&again, Say{From: again.From, Chat: again.Chat}, again.Content)
	s.mu.Unlock()
	return again.ID, s.push(app, "im.message.receive_v1", body).ID
}

// ChildFrom adds a message of a person to a merged forward.
func (x *crowd) ChildFrom(of, from, kind string, content any) string {
	id := x.Child(of, kind, content)
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.messages[id].From = from
	return id
}

// Payload is what was pushed as an event.
func (d *dispatch) Payload(event string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dv := range d.sent {
		if dv.ID == event {
			return dv.payload
		}
	}
	return nil
}
