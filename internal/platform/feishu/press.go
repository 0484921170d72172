package feishu

import (
	"encoding/json"
	"fmt"

	"cligate/internal/chat"
)

// Bounds of what is taken of a form. What our cards ask for is far below them.
const (
	maxFields = 64
	maxValue  = 4000 // runes
)

// press decodes a button or a form. The service does not tell the thread: it
// comes with the value, as does what the button means. All of it is checked
// against the rows.
func (d decoder) press(e event, p pressed) (chat.Message, bool) {
	data, _ := p.Action.Value["data"].(string)
	if p.Operator.Open == "" || p.Context.Message == "" || p.Context.Chat == "" || data == "" || e.Header.ID == "" {
		return chat.Message{}, false
	}
	thread, _ := p.Action.Value["thread"].(string)
	kind, _ := d.mind.chats.get(p.Context.Chat)
	m := chat.Message{
		Key:       "c/" + e.Header.ID,
		Kind:      chat.KindClick,
		Place:     chat.Place{Platform: Name, Account: d.account, Chat: p.Context.Chat, Thread: thread, Direct: kind.direct, Title: kind.title},
		Sender:    d.person(p.Operator.Open),
		Ref:       chat.Ref{ID: p.Context.Message, Chat: p.Context.Chat},
		Data:      data,
		Form:      fields(p.Action.Form),
		Addressed: true,
		SentAt:    millis(e.Header.At, d.now),
	}
	m.Sender.Bot = e.Header.Tenant != "" && p.Operator.Tenant != "" && p.Operator.Tenant != e.Header.Tenant
	return m, true
}

// fields are the values of a form. A field in which nothing stands is kept, as
// far as the client mentions it: something may have been taken back.
func fields(in map[string]any) map[string][]string {
	var out map[string][]string
	for name, v := range in {
		if len(out) == maxFields {
			break
		}
		values := []string{}
		switch v := v.(type) {
		case nil:
		case string:
			if v != "" {
				values = append(values, chat.Clip(v, maxValue))
			}
		case []any:
			for _, x := range v {
				if s, ok := x.(string); ok && len(values) < maxFields {
					values = append(values, chat.Clip(s, maxValue))
				}
			}
		default:
			continue // none of our fields
		}
		if out == nil {
			out = map[string][]string{}
		}
		out[name] = values
	}
	return out
}

// answer is what a press shows at once: a word, and the message's new form.
func (a *Adapter) answer(ack chat.Ack, m chat.Message) ([]byte, error) {
	out := object{}
	if ack.Toast != "" {
		kind := "info"
		switch {
		case ack.Alert:
			kind = "warning"
		case ack.Follows:
			kind = "success"
		}
		out["toast"] = object{"type": kind, "content": chat.Clip(ack.Toast, maxToast)}
	}
	if ack.Replace != nil {
		if parts := a.Render(*ack.Replace); len(parts) > 0 {
			out["card"] = object{"type": "raw", "data": card(parts[len(parts)-1], m.Place.Thread, false)}
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the answer to a press: %w", err)
	}
	return raw, nil
}

// maxToast is the length of the word that a press is answered with.
const maxToast = 200
