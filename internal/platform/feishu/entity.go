package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
)

// A live message is a card entity. It is made closed, and opened for streaming by
// its first change: by then its receipt is stored, so whoever comes after us can
// close it. Every call about it has a number of its own that only grows.

// tally is what is known about an entity that is shown.
type tally struct {
	mu     sync.Mutex // one writer a card
	seq    int
	opened time.Time // for streaming; zero = not by us
	over   bool      // the service closed the streaming
	face   face
	known  bool // what is shown is face
}

// face is a card taken apart.
type face struct {
	words map[string]string // of the elements that change, by id
	frame string            // everything else
}

// streaming makes an entity and shows it.
func (c *courier) streaming(ctx context.Context, o chat.Out) (chat.Ref, error) {
	raw, err := text(closedCard(o))
	if err != nil {
		return chat.Ref{}, err
	}
	var made struct {
		ID string `json:"card_id"`
	}
	if err := c.rest.do(ctx, call{method: http.MethodPost, path: "cardkit/v1/cards", body: object{"type": "card_json", "data": raw}}, &made); err != nil {
		return chat.Ref{}, c.repeatable(err) // nobody has seen it
	}
	began := c.now()
	ref, err := c.message(ctx, o, "interactive", object{"type": "card", "data": object{"card_id": made.ID}})
	if err != nil {
		return chat.Ref{}, err
	}
	if o.Unsure != nil { // an earlier try may have shown another entity
		if made.ID, err = c.entityOf(ctx, ref.ID); err != nil {
			return chat.Ref{}, err
		}
		if !o.Unsure.At.IsZero() {
			began = o.Unsure.At
		}
	}
	ref.Extra = extra{Kind: "interactive", Card: made.ID, Made: began.UnixMilli()}.String()
	c.tally(made.ID)
	return ref, nil
}

// closedCard is a live card as it is posted: it does not stream yet.
func closedCard(o chat.Out) object {
	whole := card(o.Part, o.Place.Thread, true)
	whole["config"].(object)["streaming_mode"] = false //nolint:forcetypeassert // ours
	return whole
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
		t.seq, _ = c.spent.get(card)
		c.cards[card] = t
	}
	return t
}

// forget drops what was known of a card that has ended, but for its last number:
// its buttons may go yet.
func (c *courier) forget(card string) {
	c.mu.Lock()
	t := c.cards[card]
	delete(c.cards, card)
	c.mu.Unlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c.spent.put(card, t.seq)
}

// How often a number that is too low is raised, and by how much at first: ten
// times more each time, up to some hours. Only a clock that was set back is so
// wrong.
const (
	sequenceTries = 5
	sequenceJump  = 1000
)

// with makes calls about an entity. Its numbers only grow: a process that begins
// anew starts from the time that has passed since the card was made, which is
// ahead of what its predecessor can have used.
func (c *courier) with(ex extra, do func(t *tally) error) error {
	t := c.tally(ex.Card)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq = max(t.seq, int(c.now().Sub(time.UnixMilli(ex.Made))/tick))
	var err error
	jump := sequenceJump
	for range sequenceTries {
		err = do(t)
		var no *refused
		if !errors.As(err, &no) || chat.CodeOf(err) != chat.Conflict {
			break
		}
		switch no.code {
		case codeSequence:
			t.seq += jump
			jump *= 10
		case codeStreamClosed, codeStreamOver:
			t.known, t.opened, t.over = false, time.Time{}, true // the whole card can be set all the same
		}
	}
	if code := chat.CodeOf(err); code == chat.Uncertain || code == chat.Degrade {
		t.known = false // the whole card puts it right
	}
	return err
}

// tick is the unit of the numbers. No call takes less, so that a process that
// made several in a row and died is not ahead of the next one. A card lives for
// 14 days: its last number is well within 32 bits.
const tick = time.Millisecond

// draw changes an entity, or ends it. What is changed of one that has ended, its
// buttons, is another end: it streams no more.
func (c *courier) draw(ctx context.Context, o chat.Out, ex extra) error {
	if o.Op != chat.OpFinish && live(o.Part) {
		return c.repeatable(c.with(ex, func(t *tally) error { return c.stroke(ctx, t, ex.Card, o) }))
	}
	err := c.with(ex, func(t *tally) error {
		if o.Part.Keep {
			err := c.keep(ctx, t, ex.Card, o)
			if chat.CodeOf(err) != chat.Degrade {
				return err
			}
			c.log.DebugContext(ctx, "what a live card shows is not kept", "outbox", o.ID, "err", err)
		}
		return c.end(ctx, t, ex.Card, o)
	})
	if err == nil {
		c.forget(ex.Card)
	}
	return err
}

// shut ends the streaming of an entity and leaves what it shows.
func (c *courier) shut(ctx context.Context, o chat.Out, ex extra) error {
	return c.with(ex, func(t *tally) error { return c.settle(ctx, t, ex.Card, o.Part.Text) })
}

// on makes a call about an entity with the next number.
func (c *courier) on(ctx context.Context, t *tally, method, path string, body object) error {
	t.seq++
	body["sequence"] = t.seq
	return c.rest.do(ctx, call{method: method, path: "cardkit/v1/cards/" + path, body: body}, nil)
}

// whole sets all of a card.
func (c *courier) whole(ctx context.Context, t *tally, id string, sheet object) error {
	raw, err := text(sheet)
	if err != nil {
		return err
	}
	if err := c.on(ctx, t, http.MethodPut, id, object{"card": object{"type": "card_json", "data": raw}}); err != nil {
		return err
	}
	t.face, t.known = apart(sheet), true
	return nil
}

// settle ends the streaming: else the list of chats goes on saying that more is
// to come.
func (c *courier) settle(ctx context.Context, t *tally, id, words string) error {
	return c.settings(ctx, t, id, object{"streaming_mode": false, "summary": object{"content": summary(words)}})
}

func (c *courier) settings(ctx context.Context, t *tally, id string, config object) error {
	raw, err := text(object{"config": config})
	if err != nil {
		return err
	}
	return c.on(ctx, t, http.MethodPatch, id+"/settings", object{"settings": raw})
}

// end gives an entity its last form.
func (c *courier) end(ctx context.Context, t *tally, id string, o chat.Out) error {
	streams := !t.known || !t.opened.IsZero()
	if err := c.whole(ctx, t, id, card(o.Part, o.Place.Thread, false)); err != nil || !streams {
		return err
	}
	return c.settle(ctx, t, id, o.Part.Text)
}

// keep ends an entity of which nobody knows what it shows: the text stays, what
// says that work goes on is replaced. Done twice it is the same.
func (c *courier) keep(ctx context.Context, t *tally, id string, o chat.Out) error {
	f := contents(o.Part)
	note := object{"tag": "markdown", "element_id": elementStatus, "content": join(f.Markdown, f.Status, plainly(f.Footer))}
	control := object{"tag": "hr", "element_id": elementControl}
	if rows := buttons(o.Part.Buttons, o.Place.Thread); len(rows) == 1 {
		control = rows[0].(object) //nolint:forcetypeassert // ours
		control["element_id"] = elementControl
	} else if len(rows) > 1 {
		return &chat.Error{Code: chat.Degrade, Detail: "more rows of buttons than there is room for"}
	} else {
		control, note = note, control // the line stands between the text and the note
		control["element_id"], note["element_id"] = elementControl, elementStatus
	}
	if err := c.batch(ctx, t, id, []object{
		{"action": "update_element", "params": object{"element_id": elementStatus, "element": note}},
		{"action": "update_element", "params": object{"element_id": elementControl, "element": control}},
	}); err != nil {
		return err
	}
	return c.settle(ctx, t, id, o.Part.Text)
}

func (c *courier) batch(ctx context.Context, t *tally, id string, actions []object) error {
	raw, err := text(actions)
	if err != nil {
		return err
	}
	return c.on(ctx, t, http.MethodPost, id+"/batch_update", object{"actions": raw})
}

// reopenAfter is how long streaming stays open before it is opened anew: the
// service closes it after ten minutes.
const reopenAfter = 9 * time.Minute

// stroke makes the least change that shows the row's part.
func (c *courier) stroke(ctx context.Context, t *tally, id string, o chat.Out) error {
	sheet := card(o.Part, o.Place.Thread, true)
	now := apart(sheet)
	if t.over || !t.opened.IsZero() && c.now().Sub(t.opened) > reopenAfter {
		if err := c.settings(ctx, t, id, object{"streaming_mode": true}); err != nil {
			return err
		}
		t.opened, t.over = c.now(), false
	}
	if !t.known || now.frame != t.face.frame || !strings.HasPrefix(now.words[elementText], t.face.words[elementText]) {
		if err := c.whole(ctx, t, id, sheet); err != nil {
			return err
		}
		if t.opened.IsZero() {
			t.opened = c.now()
		}
		return nil
	}
	if words := now.words[elementText]; words != t.face.words[elementText] {
		if err := c.on(ctx, t, http.MethodPut, id+"/elements/"+elementText+"/content", object{"content": words}); err != nil {
			return err
		}
		t.face.words[elementText] = words
	}
	var actions []object
	for el, words := range now.words {
		if el != elementText && words != t.face.words[el] {
			actions = append(actions, object{"action": "partial_update_element",
				"params": object{"element_id": el, "partial_element": object{"content": words}}})
		}
	}
	if len(actions) == 0 {
		return nil
	}
	if err := c.batch(ctx, t, id, actions); err != nil {
		return err
	}
	t.face = now
	return nil
}

// apart takes a card apart.
func apart(sheet object) face {
	f := face{words: map[string]string{}}
	body, _ := sheet["body"].(object)
	els, _ := body["elements"].([]any)
	var frame []any
	for _, x := range els {
		el, _ := x.(object)
		frame = append(frame, f.take(el))
	}
	raw, _ := json.Marshal(frame) // strings can always be encoded
	f.frame = string(raw)
	return f
}

// take notes the words of an element and returns the rest of it.
func (f *face) take(el object) object {
	rest := object{}
	for k, v := range el {
		rest[k] = v
	}
	if id, _ := el["element_id"].(string); el["tag"] == "markdown" && id != "" {
		f.words[id], _ = el["content"].(string)
		delete(rest, "content")
	}
	if inner, ok := el["elements"].([]any); ok {
		var kids []any
		for _, x := range inner {
			kid, _ := x.(object)
			kids = append(kids, f.take(kid))
		}
		rest["elements"] = kids
	}
	return rest
}
