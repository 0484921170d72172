// Package api is the wire form of CliGate's HTTP API: plain shapes and the
// grammar of names, shared by the server, the web platform and the clients. It
// performs no I/O.
//
// Chats live under /api/chats, the control API under /api/control. Every
// request body and every response is JSON; the events of a chat are server-sent
// events whose data is one Event.
package api

import (
	"regexp"
	"strings"
	"time"

	"cligate/internal/chat"
)

// Paths of the API.
const (
	Chats   = "/api/chats"
	Control = "/api/control"
)

// MaxBody is the largest request body, bytes.
const MaxBody = 1 << 20

// Chat is one conversation in the list.
type Chat struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// ChatList is the answer of GET /api/chats: last used first.
type ChatList struct {
	Chats []Chat `json:"chats"`
}

// Message is one message as a reader shows it. The same ID again is a newer
// form of the same message.
type Message struct {
	ID      string          `json:"id"`            // unique within the chat, the same after a restart
	Key     string          `json:"key,omitempty"` // of a person's message: the key it was posted with
	Mine    bool            `json:"mine,omitempty"`
	From    string          `json:"from,omitempty"`
	Kind    string          `json:"kind,omitempty"` // chat.ReplyKind of ours
	Class   chat.OutClass   `json:"class,omitempty"`
	Turn    int64           `json:"turn,omitempty"`
	Text    string          `json:"text"`           // Markdown of ours, plain text of a person
	HTML    string          `json:"html,omitempty"` // Text made safe to show
	Footer  string          `json:"footer,omitempty"`
	Panels  []Panel         `json:"panels,omitempty"` // below the text, folded
	Buttons [][]chat.Button `json:"buttons,omitempty"`
	ReplyTo string          `json:"reply_to,omitempty"`
	File    *File           `json:"file,omitempty"`
	Silent  bool            `json:"silent,omitempty"`
	Emoji   string          `json:"emoji,omitempty"` // how far a person's message got
	At      time.Time       `json:"at"`
}

// Panel is what a reader may look into: thinking, a log.
type Panel struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"` // plain text, the newest last
}

// File is an attachment of ours.
type File struct {
	Name  string `json:"name"`
	Size  int64  `json:"size"` // bytes
	URL   string `json:"url"`
	Photo bool   `json:"photo,omitempty"` // an image that can be shown
}

// Lines is a page of a chat's history, oldest first.
type Lines struct {
	Lines  []Message `json:"lines"`
	Cursor string    `json:"cursor"`           // where the events of this chat go on
	Before string    `json:"before,omitempty"` // asks for the page before this one; empty = there is none
}

// EventKind says what changed in a chat.
type EventKind string

// Kinds of events.
const (
	EventMessage EventKind = "message" // Message is new or has a new form
	EventRemove  EventKind = "remove"  // the message ID is gone
	EventMark    EventKind = "mark"    // the message with the key ID got as far as Emoji says
	EventTyping  EventKind = "typing"
	EventReset   EventKind = "reset" // the gap is too wide: read the history again
	EventReady   EventKind = "ready" // everything missed has been said
	EventChats   EventKind = "chats" // the chat named Chat, another one, has news
)

// Event is one server-sent event. Its SSE id, where it has one, is the cursor
// that a reconnect names in Last-Event-ID.
type Event struct {
	Kind    EventKind `json:"kind"`
	ID      string    `json:"id,omitempty"`
	Emoji   string    `json:"emoji,omitempty"`
	Chat    string    `json:"chat,omitempty"`
	Message *Message  `json:"message,omitempty"`
}

// Post is a new message, or with Message set an edit or a recall of an earlier
// one. Key is made by the client: the same key again is the same event.
type Post struct {
	Key     string `json:"key"`
	Text    string `json:"text,omitempty"`
	Message string `json:"message,omitempty"` // the key of the message it changes
	Reply   string `json:"reply,omitempty"`   // Message.ID of what a new message replies to
}

// MineID is the Message.ID of what a person posted under key.
func MineID(key string) string { return minePrefix + key }

// KeyOf is the platform's id of a message, from its Message.ID.
func KeyOf(id string) string { return strings.TrimPrefix(id, minePrefix) }

const minePrefix = "in:"

// Click is the press of a button.
type Click struct {
	Key     string `json:"key"`
	Message string `json:"message"` // Message.ID
	Data    string `json:"data"`
}

// Taken is the answer to a Post or a Click: it is durable.
type Taken struct {
	Inbound int64    `json:"inbound"`
	Fresh   bool     `json:"fresh"`
	Toast   string   `json:"toast,omitempty"`
	Alert   bool     `json:"alert,omitempty"`
	Message *Message `json:"message,omitempty"` // new form of the message that carried the button
}

// Fate is what became of a posted message.
type Fate struct {
	State chat.InboundState `json:"state"`
	Turn  int64             `json:"turn,omitempty"`
	As    chat.TurnState    `json:"as,omitempty"`
	Ended bool              `json:"ended"`
}

// Problem is the body of every answer that is no success.
type Problem struct {
	Code    chat.Code `json:"code"`
	Message string    `json:"message"` // for a person, in their language
}

var (
	chatName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	keyName  = regexp.MustCompile(`^[A-Za-z0-9_-]{8,64}$`)
)

// ValidChat reports whether s can name a chat.
func ValidChat(s string) bool { return chatName.MatchString(s) }

// ValidKey reports whether s can be the key of an event.
func ValidKey(s string) bool { return keyName.MatchString(s) }

// Heading makes a chat's title from its first message.
func Heading(text string) string {
	const most = 60
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return chat.Clip(strings.TrimSpace(line), most)
}
