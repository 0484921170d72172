package telegram

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cligate/internal/chat"
)

// decoder turns updates into messages of our own vocabulary.
type decoder struct {
	account string
	me      user
	now     func() time.Time
	made    *nameless
}

func newDecoder(account string, me user) decoder {
	return decoder{account: account, me: me, now: time.Now, made: &nameless{topics: map[string]*topic{}}}
}

// taken is what one update came to.
type taken struct {
	msgs  []chat.Message // none or one
	query string         // a callback query that must be answered
	crowd string         // the chat that somebody joined or left, the bot too
}

// take decodes one update. An error means that it cannot be understood and is
// to be skipped.
func (d decoder) take(raw json.RawMessage) (t taken, err error) {
	defer func() {
		// One odd update must not stop the others; the caller logs it.
		if r := recover(); r != nil {
			t, err = taken{}, fmt.Errorf("decode an update: panic: %v", r)
		}
	}()
	var u update
	if err := json.Unmarshal(raw, &u); err != nil {
		return taken{}, fmt.Errorf("decode an update: %w", err)
	}
	var (
		m  chat.Message
		ok bool
	)
	switch {
	case u.Message != nil:
		t.crowd = u.Message.crowd()
		if m, ok = d.fact(u.Message); !ok {
			m, ok = d.message(u.Message, chat.KindText, raw)
		}
		m.Key = fmt.Sprintf("%d:%s/%s/%d", u.ID, m.Place.Chat, m.Ref.ID, u.Message.Date)
	case u.Edited != nil:
		m, ok = d.message(u.Edited, chat.KindEdit, raw)
		m.Key = fmt.Sprintf("%d:%s/%s/e%d", u.ID, m.Place.Chat, m.Ref.ID, u.Edited.Edited)
	case u.Callback != nil:
		t.query = u.Callback.ID
		m, ok = d.click(u.Callback)
		m.Key = fmt.Sprintf("%d:c%s", u.ID, u.Callback.ID)
	case u.Reaction != nil:
		m, ok = d.reaction(u.Reaction)
		m.Key = fmt.Sprintf("%d:%s/%s/r%d", u.ID, m.Place.Chat, m.Ref.ID, u.Reaction.Date)
	case u.Member != nil:
		m, ok = d.member(u.Member)
		if u.Member.Chat != nil {
			t.crowd = strconv.FormatInt(u.Member.Chat.ID, 10)
		}
		m.Key = fmt.Sprintf("%d:%s/m%d", u.ID, m.Place.Chat, u.Member.Date)
	}
	if ok {
		if m.Pairing == "" {
			m.Raw = raw
		}
		t.msgs = []chat.Message{m}
	}
	return t, nil
}

// message decodes a new or changed message. It reports false for what is no
// message of a person: service messages, posts of channels, commands of other
// bots, empty ones.
func (d decoder) message(m *message, kind chat.MessageKind, raw json.RawMessage) (chat.Message, bool) {
	if m.Chat == nil || m.Chat.Type == "channel" || m.ID == 0 {
		return chat.Message{}, false
	}
	out := chat.Message{
		Kind:   kind,
		Place:  d.place(m),
		Sender: sender(m),
		Ref:    ref(m.Chat.ID, m.ID),
		Group:  m.Album,
		Files:  m.files(m.ID),
		SentAt: time.Unix(m.Date, 0).UTC(),
	}
	if kind == chat.KindEdit && m.Edited > 0 {
		out.SentAt = time.Unix(m.Edited, 0).UTC()
	}
	d.context(m, &out)
	ours, meant := d.words(m, &out)
	if !ours {
		return chat.Message{}, false
	}
	if kind == chat.KindText && out.Text == "" && (out.Quote == "" || !m.forwarded()) && len(m.files(m.ID)) == 0 {
		out.Unread = strange(raw)
	}
	if out.Text == "" && out.Quote == "" && len(out.Files) == 0 && out.Unread == "" {
		return chat.Message{}, false
	}
	out.Addressed = out.Place.Direct || meant
	out.Mentioned = out.Mentioned && !out.Place.Direct
	return out, true
}

// words fills in what the sender says. It reports whether the text is for us
// or for nobody in particular, and whether it means the bot.
func (d decoder) words(m *message, out *chat.Message) (ours, meant bool) {
	s := newSaid(m.Text, m.Entities)
	if m.Text == "" {
		s = newSaid(m.Caption, m.CaptionEntities)
	}
	replied := m.Reply != nil && m.Reply.Topic == nil && d.mine(m.Reply)
	if m.forwarded() {
		// Somebody else's words: data, whatever they look like.
		if out.Quote = strings.TrimSpace(s.text()); out.Quote == "" {
			out.Quote = m.described()
		}
		out.Source = chat.Source{Kind: chat.SourceForward, Name: m.Forward.name()}
		return true, replied
	}
	text, named := s.withoutMentions(d.me)
	text, is, ours := command(text, d.me)
	if !ours {
		return false, false
	}
	if is {
		text, out.Pairing = pairing(text)
		if !out.Place.Direct || out.Kind != chat.KindText {
			out.Pairing = "" // a code shown to a group is worth nothing
		}
	}
	if text == "" {
		text = m.described()
	}
	out.Text = text
	out.Mentioned = named && !is && !replied
	return true, named || is || replied
}

// crowd is the chat of m when m says that somebody joined or left it.
func (m *message) crowd() string {
	if m.Chat == nil || len(m.Came) == 0 && m.Went == nil {
		return ""
	}
	return strconv.FormatInt(m.Chat.ID, 10)
}

// click decodes a pressed button.
func (d decoder) click(c *callback) (chat.Message, bool) {
	if c.Message == nil || c.Message.Chat == nil || c.From == nil || c.Data == "" {
		return chat.Message{}, false
	}
	r := ref(c.Message.Chat.ID, c.Message.ID)
	// The number is our own message's. If its receipt is still missing, the
	// ledger must not take it for somebody else's.
	r.Num = 0
	return chat.Message{
		Kind:      chat.KindClick,
		Place:     d.place(c.Message),
		Sender:    person(c.From),
		Ref:       r,
		Data:      c.Data,
		Addressed: true,
		SentAt:    d.now().UTC(),
	}, true
}

// member decodes a change of the bot's own standing in a chat.
func (d decoder) member(c *memberChange) (chat.Message, bool) {
	promoted := c.New.Status == "administrator" && c.Old.Status != "administrator"
	if c.Chat == nil || c.Chat.Type == "channel" || c.Old.talks() == c.New.talks() && !promoted {
		return chat.Message{}, false
	}
	kind := chat.KindLeft
	if c.New.talks() {
		kind = chat.KindJoined
	}
	return chat.Message{
		Kind:      kind,
		Place:     d.place(&message{origin: origin{Chat: c.Chat}}),
		Sender:    person(c.From),
		Addressed: true,
		SentAt:    time.Unix(c.Date, 0).UTC(),
	}, true
}
