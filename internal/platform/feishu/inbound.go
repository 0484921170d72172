package feishu

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cligate/internal/chat"
)

// decoder turns events into messages of our own vocabulary.
type decoder struct {
	account string
	app     string
	me      func() string // open_id of the bot
	now     func() time.Time
	mind    *mind
}

// mind is what was seen lately. None of it is needed for anything to arrive.
type mind struct {
	chats   recent[chatKind]
	crowds  recent[headcount] // by chat
	gone    recent[bool]      // messages that were taken back
	directs recent[string]    // by person: their direct chat
	names   recent[string]    // by open_id
}

// chatKind is what is known of a chat.
type chatKind struct {
	direct bool
	topics bool
	title  string
}

// taken is what an event came to.
type taken struct {
	before []chat.Message // what has to be known before msg
	msg    chat.Message
	ok     bool
	click  bool // the answer goes into the acknowledgement
	tenant string
	topics bool // its chat has nothing but topics
}

// take decodes an event. An error means that it cannot be understood.
func (d decoder) take(payload []byte) (t taken, err error) {
	defer func() {
		// One odd event must not stop the others; the caller keeps it.
		if r := recover(); r != nil {
			t, err = taken{}, fmt.Errorf("decode an event: panic: %v", r)
		}
	}()
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return taken{}, fmt.Errorf("decode an event: %w", err)
	}
	if e.Header.App != "" && e.Header.App != d.app {
		return taken{}, nil // another app's
	}
	switch e.Header.Type {
	case eventMessage:
		var r received
		if err := json.Unmarshal(e.Event, &r); err != nil {
			return taken{}, fmt.Errorf("decode a message: %w", err)
		}
		t.tenant, t.topics = e.Header.Tenant, r.Message.ChatType == "topic_group"
		if t.msg, t.ok, err = d.message(e, r); err != nil {
			return taken{}, err
		}
	case eventClick:
		var p pressed
		if err := json.Unmarshal(e.Event, &p); err != nil {
			return taken{}, fmt.Errorf("decode a press: %w", err)
		}
		t.click = true
		t.msg, t.ok = d.press(e, p)
	default:
		var p placed
		if err := json.Unmarshal(e.Event, &p); err != nil {
			return taken{}, fmt.Errorf("decode %s: %w", e.Header.Type, err)
		}
		t.msg, t.ok = d.about(e, p)
	}
	if t.ok && t.msg.Pairing == "" {
		t.msg.Raw = kept(payload)
	}
	return t, nil
}

// message decodes a new message. False is for one that means nothing: a
// program's without an author, one that was taken back before it came.
func (d decoder) message(e event, r received) (chat.Message, bool, error) {
	m := r.Message
	switch program := r.Sender.Type != "" && r.Sender.Type != "user"; {
	case r.Sender.ID.Open == "" && program:
		return chat.Message{}, false, nil
	case m.ID == "", m.Chat == "", r.Sender.ID.Open == "":
		return chat.Message{}, false, fmt.Errorf("decode a message: no id (%q), chat (%q) or sender (%q)", m.ID, m.Chat, r.Sender.ID.Open)
	}
	out := chat.Message{
		Key:    "m/" + m.ID,
		Twin:   twin(m, r.Sender.ID.Open),
		Kind:   chat.KindText,
		Place:  d.place(m),
		Sender: d.person(r.Sender.ID.Open),
		Ref:    chat.Ref{ID: m.ID, Chat: m.Chat},
		SentAt: millis(m.At, d.now),
	}
	// A program, or somebody of another tenant: the gate keeps both out.
	out.Sender.Bot = r.Sender.Type != "" && r.Sender.Type != "user" ||
		e.Header.Tenant != "" && r.Sender.Tenant != "" && r.Sender.Tenant != e.Header.Tenant
	s := words(m, d.me())
	out.Text, out.Files, out.Unread = s.text, s.files, s.odd
	out.Strewn = m.Type == "image" || m.Type == "media" || m.Type == "file"
	out.Files = append(out.Files, quoted(m, out.Place, s.bundle)...)
	if m.Parent != "" && m.Parent != out.Place.Thread {
		out.Reply = chat.Ref{ID: m.Parent, Chat: m.Chat}
	}
	if code, ok := pairing(out.Text); ok && out.Place.Direct {
		out.Pairing = code
	}
	command := strings.HasPrefix(out.Text, "/") && (!s.alien || out.Place.Direct)
	out.Addressed = out.Place.Direct || s.named || command
	out.Mentioned = s.named && !command && !out.Place.Direct
	_, gone := d.mind.gone.get(m.ID)
	return out, !gone, nil
}

// twin is the same in a message that is pushed again under another id, which
// the service was seen to do after a reconnection. People cannot send two
// messages in the same millisecond.
func twin(m incoming, sender string) string {
	if m.At == "" {
		return ""
	}
	sum := sha256.New()
	for _, part := range []string{m.Chat, sender, m.At, m.Type, m.Content} {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// quoted is what belongs into the prompt and has to be fetched: the message
// that is replied to, the messages of a bundle, and in a topic what was said
// before. Who is asked there for the first time needs the last one; the rest is
// decided where that is known.
func quoted(m incoming, at chat.Place, bundle bool) (refs []chat.FileRef) {
	if at.Thread != "" && at.Thread != m.ID {
		refs = append(refs, quoteRef(m.ID, chat.SourceTopic))
	}
	if m.Parent != "" && m.Parent != at.Thread {
		refs = append(refs, quoteRef(m.Parent, chat.SourceReply))
	}
	if bundle {
		refs = append(refs, quoteRef(m.ID, chat.SourceForward))
	}
	return refs
}

// quoteRef names such a text by the message that leads to it.
func quoteRef(message string, kind chat.SourceKind) chat.FileRef {
	return chat.FileRef{ID: message + "/" + string(kind) + "/quote", Kind: chat.MediaQuote, Source: chat.Source{Kind: kind}}
}

// pairing finds the code of "/pair CODE" or "/start CODE".
func pairing(text string) (string, bool) {
	f := strings.Fields(text)
	if len(f) == 2 && (f[0] == "/pair" || f[0] == "/start") {
		return f[1], true
	}
	return "", false
}

// place is where a message belongs. A thread is named by the message that it
// began with: that is what can be replied to.
func (d decoder) place(m incoming) chat.Place {
	k := chatKind{direct: m.ChatType == "p2p", topics: m.ChatType == "topic_group"}
	if known, ok := d.mind.chats.get(m.Chat); ok {
		k.title, k.topics = known.title, k.topics || known.topics
	}
	d.mind.chats.put(m.Chat, k)
	p := chat.Place{Platform: Name, Account: d.account, Chat: m.Chat, Direct: k.direct, Title: k.title}
	if m.Thread != "" || k.topics {
		p.Thread = m.Root
		if p.Thread == "" {
			p.Thread = m.ID
		}
	}
	return p
}

func (d decoder) person(openID string) chat.Person {
	name, _ := d.mind.names.get(openID)
	return chat.Person{ID: openID, Name: name}
}

// about decodes what happened to a chat or to one of its messages.
func (d decoder) about(e event, p placed) (chat.Message, bool) {
	m := chat.Message{Addressed: true, SentAt: millis(e.Header.At, d.now), Key: "e/" + e.Header.ID}
	m.Place = chat.Place{Platform: Name, Account: d.account, Chat: p.Chat}
	if k, ok := d.mind.chats.get(p.Chat); ok {
		m.Place.Direct, m.Place.Title = k.direct, k.title
	}
	switch e.Header.Type {
	case eventRecalled:
		// Only its author, or an owner of the group, can take a message back.
		// Whose it is the service does not say.
		d.mind.gone.put(p.Message, true)
		m.Kind, m.Ref, m.Key = chat.KindRecall, chat.Ref{ID: p.Message, Chat: p.Chat}, "r/"+p.Message
		return m, p.Message != ""
	case eventReaction:
		return d.gesture(m, p)
	case eventEntered:
		return d.entered(m, p)
	case eventAdded:
		m.Kind, m.Sender, m.Place.Title = chat.KindJoined, d.person(p.Operator.Open), p.Name
		d.mind.chats.put(p.Chat, chatKind{title: p.Name})
		return m, p.Chat != ""
	case eventRemoved, eventGone:
		m.Kind, m.Sender = chat.KindLeft, d.person(p.Operator.Open)
		return m, p.Chat != ""
	case eventMenu:
		return d.menu(m, p)
	case eventCame, eventWent:
		d.mind.crowds.put(p.Chat, headcount{}) // to be counted again
	}
	return m, false
}

// gestures says what a reaction on one's own waiting message means. Others mean
// nothing. docs/feishu.md has the same table.
var gestures = map[string]chat.Gesture{
	"THUMBSUP": chat.GestureNow, "ThumbsDown": chat.GestureRemove, "CrossMark": chat.GestureRemove,
}

// gesture decodes a reaction of a person. The service does not tell where the
// message is.
func (d decoder) gesture(m chat.Message, p placed) (chat.Message, bool) {
	g, ok := gestures[p.Reaction.Emoji]
	if !ok || p.Message == "" || p.By != "user" || p.User.Open == "" {
		return m, false
	}
	m.Kind, m.Sender, m.Data, m.Ref = chat.KindGesture, d.person(p.User.Open), string(g), chat.Ref{ID: p.Message}
	return m, true
}

func millis(s string, now func() time.Time) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return now().UTC()
	}
	return time.UnixMilli(n).UTC()
}
