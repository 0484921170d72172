package router

import (
	"context"
	"time"

	"cligate/internal/chat"
)

// Inbox is what the router reads and settles.
type Inbox interface {
	// Unrouted returns stored messages in state new, oldest first.
	Unrouted(ctx context.Context, limit int) ([]chat.Inbound, error)
	// Settle moves messages from new or asked to s and writes outs with it, in
	// one transaction. Messages that have moved on already stay as they are;
	// outs are written all the same (a known key is not stored again).
	Settle(ctx context.Context, ids []int64, s chat.InboundState, reason chat.Code, outs []chat.Out) error
	// Aged returns the messages of a place that are in state asked.
	Aged(ctx context.Context, place int64) ([]chat.Inbound, error)
	// Revise replaces the words and files of a queued turn's piece that came
	// from the given platform message by those of now. chat.Missing: nothing
	// queued came from it (it runs already, or is done).
	Revise(ctx context.Context, place int64, msg string, now chat.Message) (turn int64, err error)
	// Led reports whether a turn was made in a place before.
	Led(ctx context.Context, place int64) (bool, error)
	// Versions returns what was stored of a person's platform message, oldest
	// first: the message, then its edits. None when it is not known.
	Versions(ctx context.Context, place int64, msg string) ([]chat.Inbound, error)
	// Recall removes a message's piece from its queued turn, and the turn when
	// nothing is left. chat.Missing as for Revise.
	Recall(ctx context.Context, place int64, msg string) (turn int64, err error)
}

// Turns is the queue.
type Turns interface {
	// NewTurn stores a turn and binds its inputs, which are in state new or
	// asked, in one transaction. chat.Conflict: an input was bound already, or the cause has made a turn;
	// then nothing was written.
	NewTurn(ctx context.Context, n chat.NewTurn) (chat.Turn, error)
	// NextTurn returns the oldest queued turn of a session that may start: not
	// held, and the turn that it waits for, or that one before it waits for, has
	// ended or is held itself. One that is meant in place of another comes first.
	// chat.Missing when there is none.
	NextTurn(ctx context.Context, session int64) (chat.Turn, error)
	// Queued returns the queued turns of a session, in order.
	Queued(ctx context.Context, session int64) ([]chat.Turn, error)
	// Active returns the running or waiting turn of a session; chat.Missing.
	Active(ctx context.Context, session int64) (chat.Turn, error)
	// TurnByID returns a turn.
	TurnByID(ctx context.Context, id int64) (chat.Turn, error)
	// LastRun and CutOff are described at command.Turns.
	LastRun(ctx context.Context, session int64) (chat.Turn, error)
	CutOff(ctx context.Context, session int64) (chat.Turn, error)
	// WaitingSessions returns the sessions that have queued turns which may
	// start now.
	WaitingSessions(ctx context.Context) ([]int64, error)
}

// QueueControl changes what is queued.
type QueueControl interface {
	// Withdraw moves a queued turn to withdrawn, compare-and-set; chat.Conflict
	// when it is not queued any more.
	Withdraw(ctx context.Context, turn int64, outs []chat.Out) error
	// Hold holds all queued turns of a session and returns how many there are.
	Hold(ctx context.Context, session int64) (int, error)
	// Release lets the held turns of a session run.
	Release(ctx context.Context, session int64) (int, error)
	// Offer notes that the words of a queued turn are being given to the one
	// that runs: it does not start meanwhile, and Release does not let it.
	// chat.Conflict: it is not queued, or given already.
	Offer(ctx context.Context, turn int64) error
	// Return lets a turn run whose words were not taken.
	Return(ctx context.Context, turn int64) error
	// Join notes that the running turn into has taken the words of a queued
	// one: its messages are inputs of into from now on, and it is withdrawn.
	// chat.Conflict: it is not queued any more; nothing was written.
	Join(ctx context.Context, turn, into int64, outs []chat.Out) error
	// Undecided holds and returns the turns of which an earlier life of the
	// daemon did not learn whether their words were taken.
	Undecided(ctx context.Context) ([]chat.Turn, error)
	// Choose notes the choice made about an interrupted or failed turn; once.
	// chat.Conflict when one was made before.
	Choose(ctx context.Context, turn int64, choice string) error
}

// Endings ends turns that the ledger takes for running and nobody runs.
type Endings interface {
	// Finish is described at turn.Ledger.
	Finish(ctx context.Context, e chat.Ending) error
}

// Conversations keeps conversations and their sessions.
type Conversations interface {
	ConversationByID(ctx context.Context, id int64) (chat.Conversation, error)
	// Change stores the wishes (agent, workspace, model, mode, effort, lang,
	// verbosity, rich) in which after differs from before. What the caller did
	// not change stays as it is by then, which may not be as in before.
	Change(ctx context.Context, before, after chat.Conversation) error
	SessionByID(ctx context.Context, id int64) (chat.Session, error)
	// Sessions returns the sessions of a conversation, last used first.
	Sessions(ctx context.Context, conversation int64) ([]chat.Session, error)
	// StartSession makes a session current; the one that was current is kept
	// and becomes the conversation's Previous.
	StartSession(ctx context.Context, n chat.NewSession) (chat.Session, error)
	// UseSession makes an existing open session current, with its agent,
	// workspace and settings, and counts as a use of it (Session.UsedAt); the one that was
	// current becomes Previous. When it is current already nothing changes.
	// chat.Missing: not of this conversation. chat.NoSession: lost.
	UseSession(ctx context.Context, conversation, session int64) (chat.Session, error)
	// Recap has the next prompt of a session carry a recap; Recapped takes that
	// back.
	Recap(ctx context.Context, session int64) error
	Recapped(ctx context.Context, session int64) error
	// Lose marks a session as lost by its agent and returns the one that takes
	// over from it: in the conversation, and for what is queued. Losing it again
	// finds the same one.
	Lose(ctx context.Context, session int64) (chat.Session, error)
	// Park notes when a session was handed over to a terminal; zero = it is back.
	Park(ctx context.Context, session int64, at time.Time) error
	// Natives returns the agent's own ids of all sessions of an agent in a
	// workspace, of whichever conversation.
	Natives(ctx context.Context, agent, workspace string) ([]string, error)
}

// Asks finds what waits for a person.
type Asks interface {
	// OpenAsks returns the open asks of a place, oldest first.
	OpenAsks(ctx context.Context, place int64) ([]chat.Ask, error)
	// AskOfMessage returns the ask that the given platform message shows;
	// chat.Missing.
	AskOfMessage(ctx context.Context, place int64, msg string) (chat.Ask, error)
	// Decide is described at receive.Asks.
	Decide(ctx context.Context, d chat.Decision) (chat.Ask, error)
	// Fill stores a partial answer of an open ask (one of several questions);
	// chat.Conflict when it is not open.
	Fill(ctx context.Context, ask int64, a chat.Answer) error
}

// History is what was said.
type History interface {
	// Lines returns the last lines of a conversation, oldest first; before is
	// exclusive (zero = now).
	Lines(ctx context.Context, conversation int64, before time.Time, limit int) ([]chat.Line, error)
	// TurnOfMessage returns the turn whose answer or input the given platform
	// message is; chat.Missing.
	TurnOfMessage(ctx context.Context, place int64, msg string) (chat.Turn, error)
	// LastTurn returns the newest turn of a session; chat.Missing.
	LastTurn(ctx context.Context, session int64) (chat.Turn, error)
}

// Places keeps the names of topics, and knows whose messages are.
type Places interface {
	// Owner returns the place that a message of ours was sent for;
	// chat.Missing.
	Owner(ctx context.Context, account, chatID, msg string) (chat.Place, error)
	// Named notes that a topic has its name.
	Named(ctx context.Context, place int64, title string) error
}
