package reply

import (
	"context"
	"time"

	"cligate/internal/chat"
)

// Outbox is what waits to be sent.
type Outbox interface {
	// Enqueue stores rows; a known Key is not stored again.
	Enqueue(ctx context.Context, outs []chat.Out) error
	// Channels returns the channels that have open rows and are not parked.
	Channels(ctx context.Context) ([]string, error)
	// NextOut returns the channel's next open row, whatever its due time: a
	// row in state sending first, then the oldest one that is not about a live
	// message, then the oldest one that is. chat.Missing when none.
	NextOut(ctx context.Context, channel string) (chat.Out, error)
	// Sending writes the intent of a send: state sending, one more try, and the
	// highest known number of the id space. For a row that was sending already
	// it returns what is known about the id space since the first intent.
	Sending(ctx context.Context, id int64) (*chat.Unsure, error)
	// Sent stores the receipt and the state sent.
	Sent(ctx context.Context, id int64, ref chat.Ref) error
}

// Waits is what services asked us to wait.
type Waits interface {
	// Told notes that a channel was told to wait, so that a later process heeds
	// it.
	Told(ctx context.Context, channel string, until time.Time) error
	// Waits returns until when channels were told to wait, also when the row that
	// was told so is closed by now. It may be past.
	Waits(ctx context.Context) (map[string]time.Time, error)
}

// Trouble is what happens to rows that could not be sent.
type Trouble interface {
	// Later puts a row back to pending, due at t. With sure false the earlier
	// try may have arrived: the row stays in state sending.
	Later(ctx context.Context, id int64, t time.Time, sure bool, reason string) error
	// Replace changes the part of an open row (a degraded form).
	Replace(ctx context.Context, id int64, p chat.Part) error
	// Bury gives a row up (dead) or drops it (dropped), with the reason.
	Bury(ctx context.Context, id int64, s chat.OutState, reason string) error
	// Park holds all rows of a channel until something comes in from there.
	Park(ctx context.Context, channel string, reason string) error
	// Shown returns the receipt of a turn's live message, of the newest one that
	// no row with a Target has ended; chat.Missing.
	Shown(ctx context.Context, turn int64) (chat.Ref, error)
	// Loose stores an end, part, of each live message of an account whose turn
	// went back to the queue with the process that showed it, and has none.
	Loose(ctx context.Context, account string, part chat.Part) error
}

// Topics is what happens to rows whose topic or chat is not where it was.
type Topics interface {
	// Move carries everything of a chat over to its new address (Chat and Space
	// of to): places with their conversations, rights, settings, open rows.
	// Doing it again changes nothing.
	Move(ctx context.Context, account, from string, to chat.Place) error
	// Shut puts a row back, as Later does, holds all rows of its topic, and
	// writes outs with it. PlaceShut: until the topic opens again.
	// PlaceVanished: until somebody says where they are to go.
	Shut(ctx context.Context, id int64, s chat.PlaceState, sure bool, reason string, outs []chat.Out) error
	// Near returns a place where it can be told that o waits: its chat outside
	// of topics, else the direct chat of who asked; chat.Missing when neither
	// can be written to.
	Near(ctx context.Context, o chat.Out) (chat.Place, error)
}
