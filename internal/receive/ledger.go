package receive

import (
	"context"
	"time"

	"cligate/internal/chat"
)

// Inbox stores what came in.
type Inbox interface {
	// Record stores the messages and the account's cursor (empty = unchanged)
	// in one transaction and answers one Recorded per message. An event key or
	// a twin that is known already is not stored again. It sets Place.ID and
	// Conversation of the given rows. After an error nothing was stored and
	// nothing may be acknowledged.
	Record(ctx context.Context, account, cursor string, ms []chat.Inbound) ([]chat.Recorded, error)
	// Keep stores events that were not understood; one that is stored already
	// is not stored again. Old ones make room.
	Keep(ctx context.Context, account string, us []chat.Unread) error
	// Cursor returns the account's stored cursor, empty at first.
	Cursor(ctx context.Context, account string) (string, error)
}

// Access knows who may do what.
type Access interface {
	// Role is the role granted to person in that chat (direct = in direct
	// chats of the account); chat.RoleNone when there is none.
	Role(ctx context.Context, account, chatID string, direct bool, person string) (chat.Role, error)
	// Redeem uses up a pairing code for p. Errors: chat.Denied (unknown or
	// used), chat.Expired, chat.Full (too many tries; the code is not even
	// looked at).
	Redeem(ctx context.Context, account string, p chat.Person, code string, now time.Time) (chat.Role, error)
	// Stranger notes that somebody without a grant wrote and reports whether
	// to tell them: at most once per quiet.
	Stranger(ctx context.Context, m chat.Message, now time.Time, quiet time.Duration) (tell bool, err error)
}

// Asks settles decisions.
type Asks interface {
	// Decide answers an open ask by compare-and-set and settles d.Inbound with
	// it. With EffectSession it also writes the rule. Errors: chat.Missing (no
	// such ask), chat.Denied (other place, or neither the asker nor an
	// operator), chat.Expired (expired or void), chat.Conflict (already
	// answered: the returned ask says how and by whom).
	Decide(ctx context.Context, d chat.Decision) (chat.Ask, error)
	// AskByID returns an ask.
	AskByID(ctx context.Context, id int64) (chat.Ask, error)
	// AskMessages returns the receipts of the messages that show an ask; none
	// while they are on their way.
	AskMessages(ctx context.Context, ask int64) ([]chat.Ref, error)
	// Fill stores a partial answer of an open ask; chat.Conflict when it is
	// not open.
	Fill(ctx context.Context, ask int64, a chat.Answer) error
}

// Places knows where people talk.
type Places interface {
	// Ensure finds or makes the row of a place and returns it with its
	// conversation.
	Ensure(ctx context.Context, p chat.Place) (chat.Place, int64, error)
	// Where returns the place in which a message of a person was stored first, by
	// itself or by an edit; only its chat is known. chat.Missing when there is
	// none.
	Where(ctx context.Context, account, chatID, msg string) (chat.Place, error)
	// Author returns who wrote a message of a person, and where; for services
	// whose message ids are unique in an account. chat.Missing.
	Author(ctx context.Context, account, msg string) (chat.Place, chat.Person, error)
}

// Rooms knows what chats of several people are set to, and keeps what happens
// to places.
type Rooms interface {
	// Note carries out a fact about places that are known; it makes none. Doing
	// it again changes nothing.
	Note(ctx context.Context, m chat.Message) error
	// Room returns what a chat is set to, zero when nothing was chosen.
	Room(ctx context.Context, account, chatID string) (chat.Room, error)
	// Owner returns the place that a message of ours was sent for;
	// chat.Missing.
	Owner(ctx context.Context, account, chatID, msg string) (chat.Place, error)
	// Sending reports whether the service may have a message of ours for that
	// chat whose receipt is not stored yet.
	Sending(ctx context.Context, account, chatID string) (bool, error)
	// Busy reports whether the bot has worked in exactly that place.
	Busy(ctx context.Context, p chat.Place) (bool, error)
	// Words returns what a message of ours says now; chat.Missing.
	Words(ctx context.Context, account, chatID, msg string) (string, error)
	// Inhabited reports whether somebody in the chat was let in.
	Inhabited(ctx context.Context, account, chatID string) (bool, error)
}
