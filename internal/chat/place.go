package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Place is where messages come from and where answers go: one chat, or one
// thread of a chat, of one account; plus a person where a group is set to one
// conversation per person.
type Place struct {
	ID       int64  // ledger row, 0 until stored
	Platform string // telegram, feishu, web
	Account  string // key of the bot account in the configuration
	Chat     string // the platform's chat id
	Thread   string // topic or thread id, empty when there is none
	Person   string // set only where a group keeps one conversation per person
	Direct   bool   // a private chat of one person and the bot
	// Space names the id space that message numbers of this chat are drawn
	// from, where the platform numbers messages; chats of one account that
	// share a counter share the name. Empty where ids carry no order.
	Space string
	Title string // the chat's or the topic's name, for people only
	// Nameless says that the service named the topic by itself, and waits for
	// a better name.
	Nameless bool
}

// Channel names the unit that one ordered sender serves: all threads of one
// chat share the platform's budget and its order.
func (p Place) Channel() string { return p.Account + "/" + p.Chat }

// Ref is a message on the platform: its id, and whatever the adapter must get
// back later to edit it. Extra is opaque to everybody but the adapter.
type Ref struct {
	ID    string `json:"id,omitempty"`
	Chat  string `json:"chat,omitempty"`
	Num   int64  `json:"num,omitempty"` // ID as a number, in the place's Space; 0 where ids carry no order
	Extra string `json:"extra,omitempty"`
}

// Zero reports whether r names no message.
func (r Ref) Zero() bool { return r.ID == "" }

// Role is what a grant allows in one account and chat.
type Role string

// Roles, from most to least allowed.
const (
	RoleOwner    Role = "owner"    // talks, decides, pairs others, changes dangerous settings
	RoleOperator Role = "operator" // talks and decides for anybody's turns
	RoleMember   Role = "member"   // talks, decides for the own turns
	RoleViewer   Role = "viewer"   // reads status only
	RoleNone     Role = ""         // nothing
)

var roleRank = map[Role]int{RoleOwner: 4, RoleOperator: 3, RoleMember: 2, RoleViewer: 1}

// Covers reports whether r includes everything that least allows.
func (r Role) Covers(least Role) bool { return roleRank[r] >= roleRank[least] && roleRank[r] > 0 }

// nameLimit bounds a name, in characters.
const nameLimit = 100

// PlainName makes a name harmless to show: one short line without characters
// that steer a terminal or the direction of the text beside it. People choose
// their names, and those of groups, as they like.
func PlainName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200d', r == '\u200c': // join parts of an emoji, or of a word
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return Clip(strings.Join(strings.Fields(s), " "), nameLimit)
}

// Person is one immutable identity on one account.
type Person struct {
	ID   string `json:"id"` // the platform's immutable user id, never a name
	Name string `json:"name,omitempty"`
	Lang string `json:"lang,omitempty"`
	Bot  bool   `json:"bot,omitempty"` // not a person: a bot, a channel, an anonymous admin
	// Hidden says that a person writes as the chat itself: who it is cannot be
	// known. Bot is set too.
	Hidden bool `json:"hidden,omitempty"`
}
