package turn

import (
	"context"
	"time"

	"cligate/internal/chat"
)

// Ledger is where a turn's life is written.
type Ledger interface {
	// Claim moves a queued turn to running and makes its next attempt in the
	// given state. chat.Conflict: it is not queued any more, or another turn of
	// the session is active.
	Claim(ctx context.Context, turn int64, s chat.AttemptState) (chat.Attempt, error)
	// Advance moves an attempt on and stores its runner identity (empty keeps
	// the known one).
	Advance(ctx context.Context, attempt int64, s chat.AttemptState, runner string) error
	// Finish writes the end of a turn: state, attempt, native id, usage and the
	// last word, in one transaction; open asks become void. chat.Conflict:
	// somebody else ended it; nothing was written.
	Finish(ctx context.Context, e chat.Ending) error
	// Rebind moves a running turn to another session.
	Rebind(ctx context.Context, turn, session int64) error
	// Uninvited makes a running turn of origin agent with an attempt in state
	// sent. chat.Conflict: a turn of the session is active.
	Uninvited(ctx context.Context, session int64, place int64) (chat.Turn, chat.Attempt, error)
}

// Asks stores what a turn asks.
type Asks interface {
	// Ask stores a question and moves the turn to waiting; outs are its
	// messages (their Ask is filled in). The same turn, key and digest find the
	// same row: then nothing is written and the row is returned as it is. A
	// rule of the session that matches the digest answers it at once: the
	// returned ask is answered and nothing is written.
	Ask(ctx context.Context, a chat.Ask, outs func(id int64) []chat.Out) (chat.Ask, error)
	// Close moves an open ask to expired or void; chat.Conflict when it is not
	// open any more: the returned ask says what it is.
	CloseAsk(ctx context.Context, id int64, s chat.AskState) (chat.Ask, error)
	// Resume moves a waiting turn back to running when no ask of it is open.
	Resume(ctx context.Context, turn int64) error
	// AskByID returns an ask as it is now.
	AskByID(ctx context.Context, id int64) (chat.Ask, error)
}

// Recovery is what boot needs.
type Recovery interface {
	// Unfinished returns every turn in state running or waiting.
	Unfinished(ctx context.Context) ([]chat.Unfinished, error)
	// Requeue puts a running turn whose attempt the agent never saw back to
	// queued.
	Requeue(ctx context.Context, turn int64) error
	// AskMessages returns the receipts of the messages that show an ask.
	AskMessages(ctx context.Context, ask int64) ([]chat.Ref, error)
	// Expiring returns the open asks that expire before t.
	Expiring(ctx context.Context, t time.Time) ([]chat.Ask, error)
	// Offering returns recent asks that are over though their messages still
	// offer the buttons.
	Offering(ctx context.Context) ([]chat.Ask, error)
}

// Threads is what a turn reads and writes about its session.
type Threads interface {
	SessionByID(ctx context.Context, id int64) (chat.Session, error)
	ConversationByID(ctx context.Context, id int64) (chat.Conversation, error)
	// Bind and Lose are described at session.Ledger.
	Bind(ctx context.Context, session int64, nativeID string, s chat.Settings) error
	Lose(ctx context.Context, session int64) (chat.Session, error)
	// Park with a zero time notes that a session is back from a terminal.
	Park(ctx context.Context, session int64, at time.Time) error
	// Recapped notes that the agent was given the recap that the session asked
	// for; Session.Recap is false from then on.
	Recapped(ctx context.Context, session int64) error
	// Briefed notes whether the agent was told where to put files for its chat.
	Briefed(ctx context.Context, session int64, told bool) error
}

// History is what was said before.
type History interface {
	// Lines returns the last lines of a conversation, oldest first; before is
	// exclusive (zero = now).
	Lines(ctx context.Context, conversation int64, before time.Time, limit int) ([]chat.Line, error)
	// LastTurn returns the newest turn of a session; chat.Missing.
	LastTurn(ctx context.Context, session int64) (chat.Turn, error)
}

// Queue is what waits behind a turn.
type Queue interface {
	// Hold is described at router.QueueControl.
	Hold(ctx context.Context, session int64) (int, error)
}

// Spending is what was used up.
type Spending interface {
	// Spent sums up the figures (tokens in, tokens out, money) of the turns that
	// ended since then: of one session, or of all (0).
	Spent(ctx context.Context, session int64, since time.Time) (chat.Usage, error)
}

// Outbox takes the edits of messages that show an ask.
type Outbox interface {
	// Enqueue stores rows; a known Key is not stored again.
	Enqueue(ctx context.Context, outs []chat.Out) error
}

// Incoming sees to what people sent beside words.
type Incoming interface {
	// Prepare fetches what belongs to a turn, which works in that directory, and
	// returns the input that the agent is to get. chat.Nothing: nothing is left
	// of it. What cannot be had is told by then.
	Prepare(ctx context.Context, t chat.Turn, workspace, lang string) (chat.Input, error)
}
