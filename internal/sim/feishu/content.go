package feishu

// cardContent checks the card of a message: an entity, or inline JSON.
func (q mailCall) cardContent(m *message, body map[string]any, c *chatState) *refusal {
	s := q.s
	if body["type"] == "card" {
		data, _ := body["data"].(map[string]any)
		id, _ := data["card_id"].(string)
		e := s.world.cards[id]
		switch {
		case e == nil || e.app != q.app.id:
			return refuse(230099, "Failed to create card content, ext=ErrCode: 200740; ErrMsg: card entity does not exist;")
		case e.message != "" && s.on(RuleEntity):
			// That an entity is sent once is documented, the code for a second time is not.
			return refuse(230099, "Failed to create card content, ext=ErrCode: 200740; ErrMsg: card entity has been sent;")
		case s.now().Sub(e.made) > entityLife && s.on(RuleEntity):
			return refuse(230099, "Failed to create card content, ext=ErrCode: 200750; ErrMsg: card entity has expired;")
		}
		m.Card = id
		return nil
	}
	if f := s.inspect(body, c); f != nil && f.code == 230001 {
		return refuse(230001, "Your request contains an invalid request parameter, ext=%s", f.msg)
	} else if f != nil {
		return refuse(230099, "Failed to create card content, ext=ErrCode: %d; ErrMsg: %s;", f.code, f.msg)
	}
	return nil
}
