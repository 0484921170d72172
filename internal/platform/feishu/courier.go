package feishu

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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
	now   func() time.Time

	mu    sync.Mutex
	cards map[string]*tally // by entity
	spent recent[int]       // the last numbers of entities that have ended
	slow  recent[time.Time] // live messages without an entity: when they were edited last
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
	return &courier{rest: r, files: f, log: log, now: time.Now, cards: map[string]*tally{}}
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
	case chat.OpEdit:
		return c.change(ctx, o)
	case chat.OpFinish:
		return c.finish(ctx, o)
	case chat.OpRemove:
		return o.Target, c.rest.do(ctx, call{method: http.MethodDelete, path: "im/v1/messages/" + o.Target.ID}, nil)
	case chat.OpTopic:
	}
	return chat.Ref{}, &chat.Error{Code: chat.Unsupported, Detail: string(o.Op)}
}

// memory is how long the service knows a uuid: an hour, less what clocks differ.
const memory = 55 * time.Minute

// post sends a new message. The same row gives the same uuid, so an earlier try
// that arrived is found, not repeated, as long as the service remembers it.
func (c *courier) post(ctx context.Context, o chat.Out) (chat.Ref, error) {
	switch {
	case o.Unsure != nil && !o.Unsure.At.IsZero() && c.now().Sub(o.Unsure.At) > memory:
		return chat.Ref{}, &chat.Error{Code: chat.Uncertain, Detail: "it was sent too long ago to be found"}
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
	if err == nil && o.Unsure != nil && live(o.Part) {
		return c.which(ctx, ref)
	}
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

// which notes the entity that a message shows, if an earlier try sent one: it
// cannot be changed as an ordinary card.
func (c *courier) which(ctx context.Context, ref chat.Ref) (chat.Ref, error) {
	id, err := c.entityOf(ctx, ref.ID)
	switch {
	case chat.CodeOf(err) == chat.Gone: // it shows none
		return ref, nil
	case err != nil:
		return chat.Ref{}, err
	}
	ref.Extra = extra{Kind: "interactive", Card: id, Made: c.now().Add(-memory).UnixMilli()}.String()
	return ref, nil
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

// change gives a message its new form.
func (c *courier) change(ctx context.Context, o chat.Out) (chat.Ref, error) {
	ex, err := extraOf(o.Target)
	if err != nil {
		return chat.Ref{}, err
	}
	if ex.Card != "" {
		return o.Target, c.draw(ctx, o, ex)
	}
	if o.Class == chat.OutProgress && o.Op == chat.OpEdit {
		if wait := c.pause(o.Target.ID, ex); wait > 0 {
			return chat.Ref{}, &chat.Error{Code: chat.Wait, After: wait, Detail: "messages without an entity change rarely"}
		}
	}
	return o.Target, c.repeatable(c.rewrite(ctx, o, ex))
}

func extraOf(r chat.Ref) (ex extra, err error) {
	if r.Extra == "" {
		return ex, nil
	}
	if err := json.Unmarshal([]byte(r.Extra), &ex); err != nil {
		return ex, &chat.Error{Code: chat.Gone, Detail: "the message is not known", Err: err}
	}
	return ex, nil
}

// How often a live message changes that is no entity: cards are drawn anew each
// time, and a text may be edited twenty times in all.
const (
	cardEvery = 1500 * time.Millisecond
	textEvery = 30 * time.Second
)

// pause is how long a live message without an entity is left as it is.
func (c *courier) pause(message string, ex extra) time.Duration {
	every := cardEvery
	if ex.Kind == "text" || ex.Kind == "post" {
		every = textEvery
	}
	last, known := c.slow.get(message)
	if wait := every - c.now().Sub(last); known && wait > 0 {
		return wait
	}
	c.slow.put(message, c.now())
	return 0
}

// rewrite changes a message that is no entity.
func (c *courier) rewrite(ctx context.Context, o chat.Out, ex extra) error {
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
		return err
	}
	one.body = object{"content": raw}
	if one.method == http.MethodPut {
		one.body = object{"content": raw, "msg_type": ex.Kind}
	}
	return c.rest.do(ctx, one, nil)
}

// repeatable is the error of a call that does no harm when it is made once more.
func (c *courier) repeatable(err error) error {
	if chat.CodeOf(err) == chat.Uncertain {
		return &chat.Error{Code: chat.Network, Detail: chat.DetailOf(err), Err: err}
	}
	return err
}

// finish ends a live message. Whatever form is refused, the message does not
// stay as if more were to come: what cannot be shown in it is Gone, and then it
// was closed without.
func (c *courier) finish(ctx context.Context, o chat.Out) (chat.Ref, error) {
	ex, err := extraOf(o.Target)
	if err != nil {
		return chat.Ref{}, err
	}
	words := ex.Card != "" || ex.Kind == "interactive" || o.Class == chat.OutProgress
	switch {
	case o.Part.File != nil || !words: // a text that was to grow is no form for an answer
		err = &chat.Error{Code: chat.Degrade, Detail: "not a form for this message"}
	case ex.Card != "":
		err = c.draw(ctx, o, ex)
	default:
		err = c.rewrite(ctx, o, ex)
	}
	if chat.CodeOf(err) != chat.Degrade || len(o.Part.Format) > 0 && words {
		return o.Target, err
	}
	// Not even the plain form.
	if ex.Card == "" {
		err = c.rest.do(ctx, call{method: http.MethodDelete, path: "im/v1/messages/" + o.Target.ID}, nil)
	} else {
		err = c.shut(ctx, o, ex)
	}
	if err != nil {
		return chat.Ref{}, err
	}
	return chat.Ref{}, &chat.Error{Code: chat.Gone, Detail: "it cannot be shown in the live message"}
}
