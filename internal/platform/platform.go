// Package platform holds the contract of a chat service. Each service lives in
// its own folder below and is the only importer of its SDK. An adapter knows
// its service and the vocabulary of package chat; it knows no agent, no
// session and no store.
package platform

import (
	"context"
	"io"
	"os"
	"time"

	"cligate/internal/chat"
)

// Adapter is one bot account on one chat service.
type Adapter interface {
	// Run receives until ctx ends. It reconnects by itself and returns nil only
	// when ctx ended; any other return means the account cannot work until the
	// operator changes something (a revoked token).
	Run(ctx context.Context, in Inbound) error
	// Render formats and splits r for this service. It never fails and never
	// loses text: what cannot be formatted stays plain.
	Render(r chat.Reply) []chat.Part
	// Send carries out one outbox row. The returned Ref is what later edits
	// need. The code of an error (chat.CodeOf) says what it obliges the caller
	// to do: Wait, Degrade, GiveUp, Uncertain, Park, Gone, Shut, Vanished,
	// Moved; any other code means that nothing arrived and that it may be tried
	// again.
	//
	// With chat.OpTopic it is Denied (the bot lacks the right), Unsupported (the
	// chat has no topics), Uncertain, Wait, Park or Network; any other is final.
	//
	// With o.Unsure set, Degrade and GiveUp also mean that no copy is there,
	// Uncertain that it cannot be found out; after every other error the doubt
	// stands as it was, and o has to come again with Unsure.
	Send(ctx context.Context, o chat.Out) (chat.Ref, error)
	// Signal gives a sign of life. Best effort: an error is only logged.
	Signal(ctx context.Context, to chat.Place, ref chat.Ref, s chat.Signal) error
	// Fetch writes an inbound file to w, after its message was acknowledged.
	Fetch(ctx context.Context, f chat.FileRef, w io.Writer) error
	Traits() Traits
}

// Inbound takes what an adapter received.
type Inbound interface {
	// Receive returns when every message of b and b.Cursor are durable; then,
	// and only then, they may be acknowledged to the service. There is one Ack
	// per message. After an error nothing may be acknowledged.
	Receive(ctx context.Context, b Batch) ([]chat.Ack, error)
	// Cursor returns the last stored cursor of an account, empty at first.
	Cursor(ctx context.Context, account string) (string, error)
}

// Batch is what one poll or one push brought.
type Batch struct {
	Account  string
	Messages []chat.Message
	Cursor   string // stored with the messages; empty = unchanged
	// Unread is what the adapter could not understand. It is kept for whoever
	// looks into it, and acknowledged with the rest.
	Unread []chat.Unread
}

// Traits is what a service can do, as data.
type Traits struct {
	Edits   bool // messages can be changed in place
	Buttons bool
	Typing  bool
	React   bool
	Local   bool // no network between us and the reader: no pacing needed
	// Rich is whether answers are shown as documents (chat.Reply.Rich) where the
	// reply does not say; empty = there is no such form.
	Rich    chat.Choice
	Settles bool // Send can settle an unsure post (chat.Out.Unsure)
	// MaxUpload is the size of the largest file that can be sent, in bytes; 0 =
	// no limit.
	MaxUpload int64
	// Self names who the account is at the service, without secrets. With another
	// name on the same configuration, ids of messages known so far mean nothing.
	// Empty where ids are the service's own.
	Self   string
	Topics bool // it has topics, where the chat has them (chat.OpTopic, chat.SignalTitle)
	// Overhears says that the bot is given messages of groups that do not
	// concern it.
	Overhears bool
	// Unheard is the text of the catalogue that says, where it is not, what to do
	// about it.
	Unheard string
	// Finishes says that a turn's live message grows at its end only, and becomes
	// its last word; elsewhere the last word is a message of its own.
	Finishes bool
	// LiveFor is how long such a message grows; then another one goes on. 0 = no
	// limit.
	LiveFor time.Duration
	// Rates are budgets of posts and edits together. Zero = no limit.
	PerChat    Rate // a direct chat
	PerGroup   Rate // a chat of several people, all its threads together
	PerAccount Rate
	// ProgressEvery is the least time between two edits of a live message.
	ProgressEvery      time.Duration
	ProgressEveryGroup time.Duration
}

// Rate allows Burst at once and then one per Every.
type Rate struct {
	Every time.Duration
	Burst int
}

// Files opens files in the spool that are to be sent.
type Files interface {
	// Open returns the file of that name; the caller closes it. The error is
	// fs.ErrNotExist when it is not there any more.
	Open(name string) (*os.File, error)
}

// Health is what an adapter tells about its connection.
type Health struct {
	Connected bool
	Detail    string    // one sentence for the operator, without secrets
	LastOK    time.Time // the last completed exchange
}

// Healther is the optional interface of adapters that hold a connection.
type Healther interface{ Health() Health }
