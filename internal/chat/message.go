package chat

import "time"

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
	case KindText, KindEdit, KindClick, KindRecall:
	}
	return false
}

// Message is one event of a platform, normalised by its adapter.
type Message struct {
	// Key is unique within the account for ever; a redelivered event has the
	// same key.
	Key    string
	Kind   MessageKind
	Place  Place
	Sender Person
	Ref    Ref    // the message itself; for a click, the message that carried the button
	Reply  Ref    // the message it replies to, zero when none
	Quote  string // foreign text it quotes or forwards; data, never a command
	// Text is the sender's own text. The adapter has removed mentions of the
	// bot and has normalised "/cmd@bot" to "/cmd"; commands of other bots never
	// become messages.
	Text string
	// Addressed says that a group message means the bot (mention, reply to the
	// bot, command); always true in a direct chat.
	Addressed bool
	// Mentioned says that it does so by naming the bot and in no other way.
	Mentioned bool
	// Moved is the new address of Place.Chat, for KindMoved: Chat and Space.
	Moved *Place    `json:",omitempty"`
	Group string    // companions of one send action share it (album id)
	Files []FileRef // attachments, not yet fetched
	Data  string    // a click's button data
	// Pairing is the code of a pairing link or command; handled before the
	// access gate, never stored.
	Pairing string
	SentAt  time.Time
	Raw     []byte // the platform's own form, kept with the row
}

// FileRef is an attachment on the platform.
type FileRef struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	MIME string `json:"mime,omitempty"`
	Kind string `json:"kind,omitempty"` // photo, document, voice, audio, video, sticker
	Size int64  `json:"size,omitempty"` // bytes, 0 when unknown
	Path string `json:"path,omitempty"` // absolute, of the fetched file; empty until then
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

// Ack is what the platform may show at once for an event; for a click the
// decision behind it is already committed.
type Ack struct {
	Inbound int64 // the row, 0 when the event was not stored
	Fresh   bool  // false for a redelivery
	Toast   string
	Alert   bool   // show the toast until dismissed
	Replace *Reply // new form of the message that carried the button
}

// Unread is an event as it came, which the adapter could not understand.
type Unread struct {
	Raw []byte
	Why string // without secrets
}
