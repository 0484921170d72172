package chat

import (
	"encoding/json"
	"time"
)

// ReplyKind says what a reply is, so that an adapter can choose its form.
type ReplyKind string

// Reply kinds.
const (
	ReplyAnswer   ReplyKind = "answer"   // the final answer of a turn: Markdown of the model
	ReplyProgress ReplyKind = "progress" // the live message of a running turn
	ReplyNotice   ReplyKind = "notice"   // our own words
	ReplyAsk      ReplyKind = "ask"      // an approval or a question
	ReplyFile     ReplyKind = "file"     // File, with Markdown as its caption
)

// Choice is a person's wish for something that is on or off; empty = the
// configured default.
type Choice string

// Choices.
const (
	ChoiceOn  Choice = "on"
	ChoiceOff Choice = "off"
)

// Or is what c comes to where the default is def.
func (c Choice) Or(def bool) bool {
	switch c {
	case ChoiceOn:
		return true
	case ChoiceOff:
		return false
	}
	return def
}

// Reply is one thing to say, before it is split and formatted for a platform.
type Reply struct {
	Kind     ReplyKind
	Markdown string     // the body
	Footer   string     // small print after the body, plain
	Details  []Panel    // what a reader may look into; folded where the service can
	Status   string     // Markdown: what goes on beside the body, of a live message that only grows
	Grows    bool       // more of Markdown is to come behind it
	Buttons  [][]Button // rows; on the last part only
	Form     *Form      // beside or instead of the buttons, where the service has forms; nil = none
	ReplyTo  Ref        // on the first part only
	Silent   bool       // no notification
	Rich     Choice     // an answer may be shown as a document, where the service has a form for that
	File     *OutFile   // sent as a message of its own
	// Waits is the queued turn that a message tells of; 0 = none. Once that waits
	// no more the message offers nothing, and reads Over, unless that is empty.
	Waits int64
	Over  string // Markdown
}

// Panel is a list of foreign lines that nobody has to read: thinking, a log. An
// adapter keeps the newest that fit and leaves the panel out where it has no
// form for it.
type Panel struct {
	Title string
	Lines []string // plain text, no Markdown; the newest last
}

// Button is one control. Data is at most 64 bytes of "verb:row[:arg]"; it is a
// name, not a right: what a press may do is checked against the rows.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"data,omitempty"`
	Style string `json:"style,omitempty"` // "", primary, danger
	// Copy makes the button put this text into the reader's clipboard; it has no
	// Data then, and nobody hears of the press. Where a service cannot, or the
	// text is too long for it, the button is left out: the body shows the text,
	// too.
	Copy string `json:"copy,omitempty"`
}

// OutFile is a file to send. Its body is either in the row, as that of our own
// long texts, or in the spool, which is a folder of the data directory.
type OutFile struct {
	Name  string   `json:"name"` // a base name, cleaned
	Kind  FileKind `json:"kind,omitempty"`
	Body  []byte   `json:"body,omitempty"`
	Spool string   `json:"spool,omitempty"` // its name there; then Body is empty
	Size  int64    `json:"size,omitempty"`  // bytes; 0 = that of Body
	// Instead is said when the service does not take the file in any form: what
	// it was and where it lies.
	Instead string `json:"instead,omitempty"`
}

// Bytes is the size of the file.
func (f OutFile) Bytes() int64 { return max(f.Size, int64(len(f.Body))) }

// slowest is the rate, in bytes a second, of the slowest uplink that a file is
// sent over: a small part of what a home or a phone has.
const slowest = 32 << 10

// Travel is how long the file may be on its way to a service, beside the time
// that a call without one has.
func (f OutFile) Travel() time.Duration { return time.Duration(f.Bytes()/slowest) * time.Second }

// FileKind says how a file is shown.
type FileKind string

// Kinds of files.
const (
	FileDocument FileKind = ""
	FilePhoto    FileKind = "photo" // an image that a chat can show as such
)

// Part is one platform message, already formatted and within the limits.
type Part struct {
	Text    string          `json:"text"`             // the message's plain text, what a person reads
	Format  json.RawMessage `json:"format,omitempty"` // the adapter's own formatting of Text
	Buttons [][]Button      `json:"buttons,omitempty"`
	Form    *Form           `json:"form,omitempty"`
	ReplyTo Ref             `json:"reply,omitzero"`
	Silent  bool            `json:"silent,omitempty"`
	File    *OutFile        `json:"file,omitempty"`
	Topic   *Topic          `json:"topic,omitempty"` // for OpTopic
	Waits   *Waiting        `json:"waits,omitempty"`
	// Note is the end of Text that was added behind what Format was made of, for
	// adapters whose Format holds the words.
	Note string `json:"note,omitempty"`
	// Keep says that an OpFinish adds to what the message shows, as far as the
	// service can: nobody knows any more what that is.
	Keep bool `json:"keep,omitempty"`
}

// Waiting says of a message that it tells of a queued turn. The ledger changes
// the message together with the turn: when the turn waits no more, nothing can
// be done about its waiting.
type Waiting struct {
	Turn int64 `json:"turn"`
	Over *Part `json:"over,omitempty"` // what the message is then; nil = the same without its buttons
}

// Done is the message once its turn waits no more.
func (w Waiting) Done(p Part) Part {
	if w.Over != nil {
		return *w.Over
	}
	p.Buttons, p.Waits = nil, nil
	return p
}

// Topic is a topic that is to be made, and what it begins with.
type Topic struct {
	Name string `json:"name"`
	// From is the place whose conversation goes on there, and whose waiting
	// messages go there; 0 = a new conversation with these wishes.
	From      int64  `json:"from,omitempty"`
	Agent     string `json:"agent,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	Lang      string `json:"lang,omitempty"` // of what is said about it
	Greeting  []Part `json:"greeting,omitempty"`
}

// Op is what to do with a part.
type Op string

// Operations.
const (
	OpPost Op = "post" // a new message
	OpEdit Op = "edit" // change Target in place
	// OpFinish is the last edit of a live message. Without a Target it is that of
	// the turn, if there is one; with class OutFinal a new message otherwise.
	OpFinish Op = "finish"
	OpRemove Op = "remove" // delete Target
	OpTopic  Op = "topic"  // make the topic Part.Topic; its id comes back as the Ref. Never repeated
)

// OutClass orders what waits for one channel and says what may be dropped.
type OutClass string

// Outbox classes.
const (
	OutFinal    OutClass = "final"    // part of a turn's last word; never dropped
	OutAsk      OutClass = "ask"      // approvals and questions
	OutNotice   OutClass = "notice"   // our own words
	OutProgress OutClass = "progress" // the first post of a live message; its edits are not stored
)

// OutState is the life of an outbox row.
type OutState string

// Outbox states.
const (
	OutPending OutState = "pending"
	OutSending OutState = "sending" // intent written: the platform may have it
	OutSent    OutState = "sent"    // a platform message id is stored
	OutDead    OutState = "dead"    // given up; kept, the owner is told
	OutDropped OutState = "dropped" // overtaken (a progress message of an ended turn)
)

// Out is one row of the outbox.
type Out struct {
	ID     int64
	Key    string // idempotency key, unique for ever
	Place  Place
	Turn   int64 // 0 for words outside a turn
	Seq    int   // order within the turn
	Ask    int64 // the ask that this message shows
	Class  OutClass
	Op     Op
	Part   Part
	Target Ref // what an edit, finish or remove changes
	State  OutState
	Tries  int
	DueAt  time.Time
	// Unsure is set when an earlier try may have arrived: the adapter then
	// makes sure of one copy, or returns an error with code Uncertain.
	Unsure *Unsure
}

// Unsure is what the ledger knows about the id space that a doubtful message
// would be in.
type Unsure struct {
	At    time.Time // when the first intent was written; zero = not known
	Since int64     // the highest number known when the intent was written
	Known []int64   // numbers above Since that belong to other messages
}

// Signal is a sign of life outside messages; best effort, never stored.
type Signal struct {
	Kind  SignalKind
	Emoji string // for SignalReact; empty removes it
	Text  string // for SignalTitle
}

// SignalKind names a kind of signal.
type SignalKind string

// Signals.
const (
	SignalTyping SignalKind = "typing"
	SignalReact  SignalKind = "react"
	SignalTitle  SignalKind = "title" // the topic's name
)
