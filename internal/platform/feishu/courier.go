package feishu

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"cligate/internal/chat"
)

// Error codes and limits that decide how a card is sent are in codes.go and
// card.go; this file knows the calls.

// courier carries out outbox rows.
type courier struct {
	rest  *rest
	log   *slog.Logger
	files uploads

	mu    sync.Mutex
	cards map[string]*tally // by entity
}

// tally is what is known about a card entity that is shown.
type tally struct {
	mu     sync.Mutex // one writer a card
	seq    int
	text   string
	status string
	rest   string // everything else, as it was sent
	known  bool   // what is shown is what stands here
}

// extra is what a Ref has to bring back: what kind of message it is; of a card
// entity its id and when it was made.
type extra struct {
	Kind string `json:"kind,omitempty"` // interactive, post, text …
	Card string `json:"card,omitempty"`
	Made int64  `json:"made,omitempty"` // Unix milliseconds
}

func (e extra) String() string {
	raw, _ := json.Marshal(e) // strings and a number can always be encoded
	return string(raw)
}

func newCourier(r *rest, f uploads, log *slog.Logger) *courier {
	return &courier{rest: r, files: f, log: log, cards: map[string]*tally{}}
}

// uuid makes the service take a row once, however often it is sent within an
// hour; at most 50 characters.
func uuid(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}

// send is the Adapter's Send.
func (c *courier) send(ctx context.Context, o chat.Out) (chat.Ref, error) {
	switch o.Op {
	case chat.OpPost:
		return c.post(ctx, o)
	case chat.OpEdit, chat.OpFinish:
		return c.change(ctx, o)
	case chat.OpRemove:
		return o.Target, c.rest.do(ctx, call{method: http.MethodDelete, path: "im/v1/messages/" + o.Target.ID}, nil)
	case chat.OpTopic:
	}
	return chat.Ref{}, &chat.Error{Code: chat.Unsupported, Detail: string(o.Op)}
}

// post sends a new message. The same row gives the same uuid, so an earlier try
// that arrived is found, not repeated.
func (c *courier) post(ctx context.Context, o chat.Out) (chat.Ref, error) {
	switch {
	case o.Part.File != nil:
		kind, content, err := c.files.upload(ctx, *o.Part.File)
		if err != nil {
			return chat.Ref{}, err
		}
		return c.message(ctx, o, kind, content)
	case len(o.Part.Format) == 0:
		return c.message(ctx, o, "text", object{"text": unmarked(o.Part.Text)})
	case live(o.Part):
		ref, err := c.streaming(ctx, o)
		if code := chat.CodeOf(err); code != chat.Degrade && code != chat.GiveUp && code != chat.Gone {
			return ref, err
		}
		c.log.DebugContext(ctx, "no streaming card, an ordinary one instead", "outbox", o.ID, "err", err)
	}
	ref, err := c.message(ctx, o, "interactive", card(o.Part, o.Place.Thread, false))
	if chat.CodeOf(err) != chat.Degrade || o.Unsure != nil {
		return ref, err
	}
	if o.Part.Form != nil {
		c.log.WarnContext(ctx, "form refused, buttons instead", "outbox", o.ID, "err", err)
		o.Part.Form = nil
		return c.post(ctx, o)
	}
	c.log.DebugContext(ctx, "card refused, rich text instead", "outbox", o.ID, "err", err)
	if len(o.Part.Buttons) > 0 {
		return chat.Ref{}, err // rich text has no buttons
	}
	return c.message(ctx, o, "post", post(o.Part))
}

func live(p chat.Part) bool {
	var f format
	return json.Unmarshal(p.Format, &f) == nil && f.Live
}

// message makes the call that shows something in a chat.
func (c *courier) message(ctx context.Context, o chat.Out, kind string, content any) (chat.Ref, error) {
	raw, err := text(content)
	if err != nil {
		return chat.Ref{}, err
	}
	body := object{"msg_type": kind, "content": raw, "uuid": uuid(o.Key + "/" + kind)}
	to := o.Part.ReplyTo.ID
	one := call{method: http.MethodPost, path: "im/v1/messages", query: map[string]string{"receive_id_type": receiver(o.Place.Chat)}, body: body}
	switch {
	case to != "" || o.Place.Thread != "":
		if to == "" {
			to = o.Place.Thread // the message that the thread began with
		}
		body["reply_in_thread"] = o.Place.Thread != ""
		one.path, one.query = "im/v1/messages/"+to+"/reply", nil
	default:
		body["receive_id"] = o.Place.Chat
	}
	var out struct {
		ID string `json:"message_id"`
	}
	err = c.rest.do(ctx, one, &out)
	if chat.CodeOf(err) == chat.Gone && o.Part.ReplyTo.Zero() && o.Place.Thread != "" {
		// What the thread began with was withdrawn: the chat itself is left.
		delete(body, "reply_in_thread")
		body["receive_id"] = o.Place.Chat
		one.path, one.query = "im/v1/messages", map[string]string{"receive_id_type": "chat_id"}
		err = c.rest.do(ctx, one, &out)
	}
	if err != nil {
		return chat.Ref{}, err
	}
	if out.ID == "" {
		return chat.Ref{}, &chat.Error{Code: chat.Uncertain, Detail: "the service gave no message id"}
	}
	return chat.Ref{ID: out.ID, Chat: o.Place.Chat, Extra: extra{Kind: kind}.String()}, nil
}

// streaming makes a card entity and shows it.
func (c *courier) streaming(ctx context.Context, o chat.Out) (chat.Ref, error) {
	raw, err := text(card(o.Part, o.Place.Thread, true))
	if err != nil {
		return chat.Ref{}, err
	}
	var made struct {
		ID string `json:"card_id"`
	}
	if err := c.rest.do(ctx, call{method: http.MethodPost, path: "cardkit/v1/cards", body: object{"type": "card_json", "data": raw}}, &made); err != nil {
		if chat.CodeOf(err) == chat.Uncertain { // nobody has seen it
			err = &chat.Error{Code: chat.Network, Detail: chat.DetailOf(err), Err: err}
		}
		return chat.Ref{}, err
	}
	ref, err := c.message(ctx, o, "interactive", object{"type": "card", "data": object{"card_id": made.ID}})
	if err != nil {
		return chat.Ref{}, err
	}
	if o.Unsure != nil { // an earlier try may have shown another entity
		if made.ID, err = c.entityOf(ctx, ref.ID); err != nil {
			return chat.Ref{}, err
		}
	}
	ref.Extra = extra{Kind: "interactive", Card: made.ID, Made: time.Now().UnixMilli()}.String()
	c.tally(made.ID)
	return ref, nil
}

// entityOf asks which entity a message shows.
func (c *courier) entityOf(ctx context.Context, message string) (string, error) {
	var out struct {
		ID string `json:"card_id"`
	}
	err := c.rest.do(ctx, call{method: http.MethodPost, path: "cardkit/v1/cards/id_convert", body: object{"message_id": message}}, &out)
	return out.ID, err
}

func (c *courier) tally(card string) *tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.cards[card]
	if t == nil {
		t = &tally{}
		c.cards[card] = t
	}
	return t
}

// change gives a message its new form.
func (c *courier) change(ctx context.Context, o chat.Out) (chat.Ref, error) {
	var ex extra
	if o.Target.Extra != "" {
		if err := json.Unmarshal([]byte(o.Target.Extra), &ex); err != nil {
			return chat.Ref{}, &chat.Error{Code: chat.Gone, Detail: "the message is not known", Err: err}
		}
	}
	if ex.Card != "" {
		return o.Target, c.draw(ctx, o, ex)
	}
	var content any
	one := call{method: http.MethodPut, path: "im/v1/messages/" + o.Target.ID}
	switch ex.Kind {
	case "text":
		content = object{"text": unmarked(o.Part.Text)}
	case "post":
		content = post(o.Part)
	default:
		content = card(o.Part, o.Place.Thread, false)
		one.method = http.MethodPatch
	}
	raw, err := text(content)
	if err != nil {
		return chat.Ref{}, err
	}
	one.body = object{"content": raw}
	if one.method == http.MethodPut {
		one.body = object{"content": raw, "msg_type": ex.Kind}
	}
	err = c.rest.do(ctx, one, nil)
	if chat.CodeOf(err) == chat.Uncertain { // the same once more does no harm
		err = &chat.Error{Code: chat.Network, Detail: chat.DetailOf(err), Err: err}
	}
	return o.Target, err
}

// sequenceTries is how often a number that is too low is raised.
const sequenceTries = 5

// draw changes a card entity. Its numbers only grow: a process that begins
// anew starts from the time that has passed since the card was made, which is
// ahead of what its predecessor can have used.
func (c *courier) draw(ctx context.Context, o chat.Out, ex extra) error {
	t := c.tally(ex.Card)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq = max(t.seq, ticks(ex.Made))
	last := o.Op == chat.OpFinish
	var err error
	for range sequenceTries {
		err = c.stroke(ctx, t, ex.Card, o)
		var no *refused
		if !errors.As(err, &no) || chat.CodeOf(err) != chat.Conflict {
			break
		}
		switch no.code {
		case codeSequence:
			t.seq += 1000
		case codeStreamClosed, codeStreamOver:
			t.known = false // the whole card can be set all the same
		}
	}
	if err == nil && last {
		c.forget(ex.Card)
	}
	if chat.CodeOf(err) == chat.Uncertain { // the whole card, with a new number, does no harm
		t.known = false
		return &chat.Error{Code: chat.Network, Detail: chat.DetailOf(err), Err: err}
	}
	return err
}

// tick is the unit of the numbers: the service allows ten calls a second.
const tick = 50 * time.Millisecond

func ticks(made int64) int { return int(time.Since(time.UnixMilli(made)) / tick) }

// stroke makes the least change that shows the row's part.
func (c *courier) stroke(ctx context.Context, t *tally, id string, o chat.Out) error {
	last := o.Op == chat.OpFinish
	whole := card(o.Part, o.Place.Thread, !last)
	words, status, other := shown(whole)
	path := "cardkit/v1/cards/" + id
	if last || !t.known || other != t.rest {
		raw, err := text(whole)
		if err != nil {
			return err
		}
		t.seq++
		err = c.rest.do(ctx, call{method: http.MethodPut, path: path,
			body: object{"card": object{"type": "card_json", "data": raw}, "sequence": t.seq}}, nil)
		if err == nil {
			t.text, t.status, t.rest, t.known = words, status, other, true
		}
		return err
	}
	for _, el := range []struct {
		id  string
		now string
		was *string
	}{{elementText, words, &t.text}, {elementStatus, status, &t.status}} {
		if el.now == *el.was {
			continue
		}
		t.seq++
		if err := c.rest.do(ctx, call{method: http.MethodPut, path: path + "/elements/" + el.id + "/content",
			body: object{"content": el.now, "sequence": t.seq}}, nil); err != nil {
			return err
		}
		*el.was = el.now
	}
	return nil
}

// shown takes a card apart: its text, its status, and the rest.
func shown(whole object) (words, status, other string) {
	body, _ := whole["body"].(object)
	els, _ := body["elements"].([]any)
	var rest []any
	for _, x := range els {
		el, _ := x.(object)
		content, _ := el["content"].(string)
		switch el["element_id"] {
		case elementText:
			words = content
		case elementStatus:
			status = content
		default:
			rest = append(rest, el)
		}
	}
	raw, _ := json.Marshal(rest)
	return words, status, string(raw)
}

// forget drops what was known of a card that changes no more.
func (c *courier) forget(card string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cards, card)
}
