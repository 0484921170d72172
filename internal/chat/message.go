package chat

import (
	"slices"
	"strings"
	"time"
)

// MessageKind says what happened on the platform.
type MessageKind string

// Message kinds.
const (
	KindText   MessageKind = "text"   // a new message
	KindEdit   MessageKind = "edit"   // an earlier message has a new text
	KindClick  MessageKind = "click"  // a button was pressed
	KindRecall MessageKind = "recall" // an earlier message was withdrawn by its author
	KindJoined MessageKind = "joined" // the bot can talk in this place (again)
	KindLeft   MessageKind = "left"   // the bot cannot talk in this place any more
	// KindGesture is a sign that somebody put on a message: Ref names the
	// message, Data the Gesture.
	KindGesture MessageKind = "gesture"

	// What happened to a place, whoever did it. These are never stored.
	KindRenamed  MessageKind = "renamed"  // its topic is called Place.Title now
	KindReopened MessageKind = "reopened" // its topic takes messages again
	KindMoved    MessageKind = "moved"    // its chat has a new address: Moved
)

// Fact reports whether k is about the place itself, so that it holds whoever
// caused it.
func (k MessageKind) Fact() bool {
	switch k {
	case KindJoined, KindLeft, KindRenamed, KindReopened, KindMoved:
		return true
	case KindText, KindEdit, KindClick, KindRecall, KindGesture:
	}
	return false
}

// Message is one event of a platform, normalised by its adapter.
type Message struct {
	// Key is unique within the account for ever; a redelivered event has the
	// same key.
	Key string
	// Twin is the same in a message that the service delivers once more as if it
	// were another one, and in no other message. Empty: the service does not do
	// that.
	Twin   string `json:",omitempty"`
	Kind   MessageKind
	Place  Place
	Sender Person
	Ref    Ref    // the message itself; for a click, the message that carried the button
	Reply  Ref    // the message it replies to, zero when none
	Quote  string // foreign or earlier text that it quotes, forwards or replies to; data, never a command
	Source Source // whose text that is
	// Text is the sender's own text. The adapter has removed mentions of the
	// bot and has normalised "/cmd@bot" to "/cmd"; commands of other bots never
	// become messages.
	Text string
	// Addressed says that a group message means the bot (mention, reply to the
	// bot, command); always true in a direct chat.
	Addressed bool
	// Mentioned says that it does so by naming the bot and in no other way.
	Mentioned bool
	// People is how many others than the bot are in the chat, bots included, where
	// the service tells and the message does not mean the bot anyway; 0 = not known.
	People int `json:",omitempty"`
	// Moved is the new address of Place.Chat, for KindMoved: Chat and Space.
	Moved *Place `json:",omitempty"`
	Group string // companions of one send action share it (album id)
	// Strewn says that the service delivers what is sent at once, several
	// pictures, as messages that do not tell of each other.
	Strewn bool      `json:",omitempty"`
	Files  []FileRef // attachments, not yet fetched
	// Unread is a kind of content that cannot be put into words or files; empty
	// when there is none.
	Unread string `json:",omitempty"`
	Data   string // a click's button data
	// Form is what was filled in, by field, when the click sent a form; a field
	// that was left empty may be missing.
	Form map[string][]string `json:",omitempty"`
	// Pairing is the code of a pairing link or command; handled before the
	// access gate, never stored.
	Pairing string
	SentAt  time.Time
	Raw     []byte // the platform's own form, kept with the row
}

// Said is what its author said, in writing or aloud.
func (m Message) Said() string {
	said := m.Text
	for _, f := range m.Files {
		if f.Heard != "" && f.Kind != MediaQuote {
			said = strings.TrimPrefix(said+"\n"+f.Heard, "\n")
		}
	}
	return said
}

// Gesture is what a sign on a message means.
type Gesture string

// Gestures.
const (
	GestureNow    Gesture = "now"    // give the waiting message to the running turn
	GestureRemove Gesture = "remove" // take the waiting message back
)

// Media says what a service calls an attachment.
type Media string

// Kinds of media.
const (
	MediaPhoto    Media = "photo"
	MediaDocument Media = "document"
	MediaVoice    Media = "voice" // spoken to the bot
	MediaAudio    Media = "audio" // music, a recording
	MediaVideo    Media = "video"
	// MediaQuote is text that the service keeps elsewhere: a message that is
	// replied to, those of a forwarded bundle. What is fetched for it is an
	// Excerpt. It becomes a quotation, no file.
	MediaQuote Media = "quote"
)

// FileRef is an attachment on the platform.
type FileRef struct {
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`
	MIME    string `json:"mime,omitempty"` // as the service says; of a fetched file, as its content says
	Kind    Media  `json:"kind,omitempty"`
	Size    int64  `json:"size,omitempty"`    // bytes, 0 when unknown
	Seconds int    `json:"seconds,omitempty"` // how long it plays, 0 when unknown
	Path    string `json:"path,omitempty"`    // absolute, of the fetched file; empty until then
	Heard   string `json:"heard,omitempty"`   // the words of a voice message, a recording or a quotation
	Lost    string `json:"lost,omitempty"`    // why it cannot be had, for the agent; empty while that is not known
	Source  Source `json:"source,omitzero"`   // of a quotation: whose words these are
	Of      string `json:"of,omitempty"`      // the quotation that it came with, by its ID
}

// Attached are those of a message's files that are no quotations.
func Attached(files []FileRef) []FileRef {
	return slices.DeleteFunc(slices.Clone(files), func(f FileRef) bool { return f.Kind == MediaQuote })
}

// Same reports whether two attachments are the same one: a service may give
// out another id for it at any time.
func (f FileRef) Same(g FileRef) bool {
	return f.ID == g.ID || f.Kind == g.Kind && f.Kind != MediaQuote && f.Name == g.Name && f.Size == g.Size && f.Seconds == g.Seconds
}

// RevisedFiles are the files of a message after an edit. An edit of the words
// does not mention what came with a reply, and takes nothing away. A file that stays
// keeps what is known about it.
func RevisedFiles(old, now []FileRef) []FileRef {
	if len(now) == 0 {
		return old
	}
	out := slices.Clone(now)
	for i := range out {
		if j := slices.IndexFunc(old, out[i].Same); j >= 0 {
			out[i] = old[j]
		}
	}
	for _, f := range old[min(1, len(old)):] { // what the message itself carried is one file
		if !slices.ContainsFunc(out, f.Same) {
			out = append(out, f)
		}
	}
	return out
}

// InboundState is the life of a stored message. Which end a turn's messages
// had is read from the turn.
type InboundState string

// Inbound states.
const (
	InboundNew       InboundState = "new"       // durable, not yet looked at by the router
	InboundTurn      InboundState = "turn"      // bound to a turn
	InboundDone      InboundState = "done"      // a command, a click, an answer: carried out
	InboundRefused   InboundState = "refused"   // policy or a full queue; the author was told
	InboundAsked     InboundState = "asked"     // older than the age limit: the author is asked what to do
	InboundExpired   InboundState = "expired"   // asked about, and declined or never answered
	InboundWithdrawn InboundState = "withdrawn" // taken back by its author before it ran
	InboundIgnored   InboundState = "ignored"   // talk in a group that does not concern the bot
)

// Inbound is a stored message.
type Inbound struct {
	ID int64
	Message
	Conversation int64
	Role         Role // what the sender was allowed when the message came in
	State        InboundState
	At           time.Time // when it was stored
}

// Refusal is why the press of a button is not carried out.
type Refusal struct {
	Text  string // for its author; empty = it is carried out
	Spent bool   // the button is of no use to anybody any more
}

// Ack is what the platform may show at once for an event; for a click the
// decision behind it is already committed.
type Ack struct {
	Inbound int64 // the row, 0 when the event was not stored
	Fresh   bool  // false for a redelivery
	Toast   string
	Alert   bool   // show the toast until dismissed
	Replace *Reply // new form of the message that carried the button
	// Follows says that the message gets that form by a row of the outbox, too.
	// Only a service that shows Replace with the acknowledgement needs it then.
	Follows bool
}

// Unread is an event as it came, which the adapter could not understand.
type Unread struct {
	Raw []byte
	Why string // without secrets
}
