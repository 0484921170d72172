package feishu

import (
	"encoding/json"
	"maps"
	"strings"
	"time"
	"unicode/utf8"
)

// streamLife is how long streaming stays open after it was last opened.
const (
	streamLife = 10 * time.Minute
	entityLife = 14 * 24 * time.Hour
)

// card is a card entity.
type card struct {
	id        string
	app       string
	root      map[string]any
	made      time.Time
	streaming bool
	opened    time.Time // streaming
	sequence  int
	message   string // that shows it; an entity is sent once
	uuids     map[string]string
	closed    bool // streaming was on, and was switched off by its app
	repaints  int
	calls     map[string]int
}

// Card is an entity as tests see it.
type Card struct {
	ID        string
	Message   string
	Streaming bool
	Sequence  int
	Text      string
	Summary   string
	JSON      string
	Repaints  int            // texts that were streamed and are not longer ones than before: clients paint them anew
	Calls     map[string]int // that were carried out, by API
}

// Cards returns the entities of an app, by id.
func (s *Server) Cards() map[string]Card {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]Card{}
	for id, c := range s.world.cards {
		text, _ := readable(c.root)
		raw, _ := json.Marshal(c.root)
		out[id] = Card{ID: id, Message: c.message, Streaming: c.streaming, Sequence: c.sequence, Text: text, JSON: string(raw), Summary: summary(c.root),
			Repaints: c.repaints, Calls: maps.Clone(c.calls)}
	}
	return out
}

// summary is what the list of chats shows of a card.
func summary(root map[string]any) string {
	cfg, _ := root["config"].(map[string]any)
	sum, _ := cfg["summary"].(map[string]any)
	text, _ := sum["content"].(string)
	return text
}

func (q cardCall) makeCard() (any, *refusal) {
	s := q.s
	if q.str("type") != "card_json" {
		return nil, refuse(200621, "parse card json err: unknown type")
	}
	root, no := q.parseCard(q.str("data"))
	if no != nil {
		return nil, no
	}
	c := &card{id: s.id("card"), app: q.app.id, root: root, made: s.now(), uuids: map[string]string{}, calls: map[string]int{}}
	c.take(streamingOf(root), s.now())
	s.world.cards[c.id] = c
	q.call.Message = c.id
	return map[string]any{"card_id": c.id}, nil
}

// parseCard checks the JSON of a card for CardKit, which has codes of its own.
func (q cardCall) parseCard(data string) (map[string]any, *refusal) {
	if len(q.raw) > maxCard && q.s.on(RuleSize) {
		return nil, refuse(200860, "card content exceeds the limit")
	}
	var root map[string]any
	if err := json.Unmarshal([]byte(data), &root); err != nil {
		return nil, refuse(200621, "parse card json err: %v", err)
	}
	if f := q.s.inspect(root, nil); f != nil {
		return nil, refuse(f.code, "%s", f.msg)
	}
	return root, nil
}

func streamingOf(root map[string]any) bool {
	cfg, _ := root["config"].(map[string]any)
	on, _ := cfg["streaming_mode"].(bool)
	return on
}

// take switches streaming. What is open stays as it was opened.
func (c *card) take(streaming bool, now time.Time) {
	switch {
	case streaming && c.streaming:
	case streaming:
		c.streaming, c.opened, c.closed = true, now, false
	case c.streaming:
		c.streaming, c.closed = false, true
	}
}

// entity is the card that a call is about, its number checked.
func (q cardCall) entity() (*card, *refusal) {
	s := q.s
	c := s.world.cards[q.args["card"]]
	if c == nil || c.app != q.app.id {
		return nil, refuse(200740, "card entity does not exist")
	}
	q.call.Message = c.id
	if m := s.world.messages[c.message]; m != nil {
		q.call.Chat = m.Chat
	}
	if s.now().Sub(c.made) > entityLife && s.on(RuleEntity) {
		return nil, refuse(200750, "card entity has expired")
	}
	if no := s.admitCard(s.on(RuleCardRate), c.id); no != nil {
		return nil, no
	}
	uuid, seq := q.str("uuid"), q.num("sequence")
	if uuid != "" {
		if what, ok := c.uuids[uuid]; ok && s.on(RuleUUID) && what != q.call.Method {
			return nil, refuse(200770, "uuid is used by another operation")
		}
	}
	if seq <= c.sequence && s.on(RuleSequence) {
		return nil, refuse(300317, "sequence number compare failed")
	}
	c.sequence = max(c.sequence, seq) // used up, whatever becomes of the call
	return c, nil
}

// moved notes that a call was carried out.
func (q cardCall) moved(c *card) {
	if uuid := q.str("uuid"); uuid != "" {
		c.uuids[uuid] = q.call.Method
	}
	q.call.Text, _ = readable(c.root)
	c.calls[q.call.Method]++
}

// convert tells which entity a message shows.
func (q cardCall) convert() (any, *refusal) {
	m := q.s.world.messages[q.str("message_id")]
	if m == nil || m.Card == "" || m.App != q.app.id {
		return nil, refuse(200740, "card entity does not exist")
	}
	return map[string]any{"card_id": m.Card}, nil
}

func (q cardCall) setCard() (any, *refusal) {
	c, no := q.entity()
	if no != nil {
		return nil, no
	}
	in, _ := q.body["card"].(map[string]any)
	data, _ := in["data"].(string)
	root, no := q.parseCard(data)
	if no != nil {
		return nil, no
	}
	c.root = root
	c.take(streamingOf(root), q.s.now())
	q.moved(c)
	return nil, nil
}

func (q cardCall) setSettings() (any, *refusal) {
	c, no := q.entity()
	if no != nil {
		return nil, no
	}
	var in struct {
		Config map[string]any `json:"config"`
	}
	if err := json.Unmarshal([]byte(q.str("settings")), &in); err != nil {
		return nil, refuse(200621, "parse settings json err: %v", err)
	}
	cfg, _ := c.root["config"].(map[string]any)
	if cfg == nil {
		cfg = map[string]any{}
		c.root["config"] = cfg
	}
	for k, v := range in.Config {
		cfg[k] = v
	}
	if on, ok := in.Config["streaming_mode"].(bool); ok {
		c.take(on, q.s.now())
		if on {
			c.opened = q.s.now() // anew
		}
	}
	q.moved(c)
	return nil, nil
}

// stream sets the text of an element while streaming is open.
func (q cardCall) stream() (any, *refusal) {
	c, no := q.entity()
	if no != nil {
		return nil, no
	}
	s := q.s
	if !c.streaming && s.on(RuleStreaming) {
		return nil, refuse(300309, "streaming mode is closed")
	}
	if c.streaming && s.now().Sub(c.opened) > streamLife && s.on(RuleStreamEnd) {
		c.streaming = false // the service closes it; the app did not
		return nil, refuse(200850, "card streaming timeout")
	}
	el := find(c.root, q.args["element"])
	text := q.str("content")
	switch {
	case el == nil:
		if s.on(RuleElementID) {
			return nil, refuse(300313, "element does not exist")
		}
		return nil, nil
	case el["tag"] != "markdown" && el["tag"] != "plain_text" && s.on(RuleTextual):
		return nil, refuse(300310, "element is not a text element")
	case (text == "" || utf8.RuneCountInString(text) > maxContent) && s.on(RuleContent):
		return nil, refuse(300302, "content must have 1 to 100000 characters")
	}
	before := el["content"]
	el["content"] = text
	if no := q.whole(c); no != nil {
		el["content"] = before
		return nil, no
	}
	if was, _ := before.(string); !strings.HasPrefix(text, was) {
		c.repaints++
	}
	q.moved(c)
	return nil, nil
}

// whole checks the card after a change.
func (q cardCall) whole(c *card) *refusal {
	raw, err := json.Marshal(c.root)
	if err == nil && len(raw) > maxCard && q.s.on(RuleSize) {
		return refuse(200860, "card content exceeds the limit")
	}
	if f := q.s.inspect(c.root, nil); f != nil {
		return refuse(f.code, "%s", f.msg)
	}
	return nil
}

// change carries out a change of the card's tree, or takes it back.
func (q cardCall) change(do func(root map[string]any) *refusal) (any, *refusal) {
	c, no := q.entity()
	if no != nil {
		return nil, no
	}
	kept, _ := json.Marshal(c.root)
	if no := do(c.root); no != nil {
		return nil, no
	}
	if no := q.whole(c); no != nil {
		var root map[string]any
		_ = json.Unmarshal(kept, &root)
		c.root = root
		return nil, no
	}
	q.moved(c)
	return nil, nil
}

func (q cardCall) addElements() (any, *refusal) {
	var list []any
	if err := json.Unmarshal([]byte(q.str("elements")), &list); err != nil {
		return nil, refuse(200621, "parse elements json err: %v", err)
	}
	return q.change(func(root map[string]any) *refusal {
		if !insert(root, q.str("type"), q.str("target_element_id"), list) {
			return refuse(300313, "element does not exist")
		}
		return nil
	})
}

func (q cardCall) setElement() (any, *refusal) {
	var el map[string]any
	if err := json.Unmarshal([]byte(q.str("element")), &el); err != nil {
		return nil, refuse(200621, "parse element json err: %v", err)
	}
	return q.change(func(root map[string]any) *refusal {
		old := find(root, q.args["element"])
		if old == nil {
			return refuse(300313, "element does not exist")
		}
		clear(old)
		for k, v := range el {
			old[k] = v
		}
		return nil
	})
}

func (q cardCall) patchElement() (any, *refusal) {
	var el map[string]any
	if err := json.Unmarshal([]byte(q.str("partial_element")), &el); err != nil {
		return nil, refuse(200621, "parse element json err: %v", err)
	}
	return q.change(func(root map[string]any) *refusal {
		old := find(root, q.args["element"])
		if old == nil {
			return refuse(300313, "element does not exist")
		}
		for k, v := range el {
			old[k] = v
		}
		return nil
	})
}

func (q cardCall) dropElement() (any, *refusal) {
	return q.change(func(root map[string]any) *refusal {
		if !remove(root, q.args["element"]) {
			return refuse(300313, "element does not exist")
		}
		return nil
	})
}

// batch carries out several actions as one call, all or none.
func (q cardCall) batch() (any, *refusal) {
	var actions []struct {
		Action string          `json:"action"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal([]byte(q.str("actions")), &actions); err != nil {
		return nil, refuse(200621, "parse actions json err: %v", err)
	}
	return q.change(func(root map[string]any) *refusal {
		for _, a := range actions {
			var p struct {
				Element  map[string]any `json:"element"`
				Partial  map[string]any `json:"partial_element"`
				ID       string         `json:"element_id"`
				IDs      []string       `json:"element_ids"`
				Type     string         `json:"type"`
				Target   string         `json:"target_element_id"`
				Elements []any          `json:"elements"`
			}
			if err := json.Unmarshal(a.Params, &p); err != nil {
				return refuse(200621, "parse params json err: %v", err)
			}
			var ok bool
			switch a.Action {
			case "add_elements":
				ok = insert(root, p.Type, p.Target, p.Elements)
			case "delete_elements":
				ok = true
				for _, id := range p.IDs {
					ok = remove(root, id) && ok
				}
			case "update_element", "partial_update_element":
				old := find(root, p.ID)
				if ok = old != nil; ok {
					if a.Action == "update_element" {
						clear(old)
						p.Partial = p.Element
					}
					for k, v := range p.Partial {
						old[k] = v
					}
				}
			default:
				return refuse(200621, "unknown action %s", a.Action)
			}
			if !ok {
				return refuse(300313, "element does not exist")
			}
		}
		return nil
	})
}
