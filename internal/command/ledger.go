package command

import (
	"context"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Conversations keeps conversations and their sessions; described at
// router.Conversations.
type Conversations interface {
	Set(ctx context.Context, c chat.Conversation) error
	SessionByID(ctx context.Context, id int64) (chat.Session, error)
	Sessions(ctx context.Context, conversation int64) ([]chat.Session, error)
	StartSession(ctx context.Context, n chat.NewSession) (chat.Session, error)
	UseSession(ctx context.Context, conversation, session int64) (chat.Session, error)
}

// Turns is what commands read about turns; described at router.Turns.
type Turns interface {
	Queued(ctx context.Context, session int64) ([]chat.Turn, error)
	Active(ctx context.Context, session int64) (chat.Turn, error)
	TurnByID(ctx context.Context, id int64) (chat.Turn, error)
	// LastTurn returns the newest turn of a session; chat.Missing.
	LastTurn(ctx context.Context, session int64) (chat.Turn, error)
}

// QueueControl changes what is queued; described at router.QueueControl.
type QueueControl interface {
	Withdraw(ctx context.Context, turn int64, outs []chat.Out) error
	Release(ctx context.Context, session int64) (int, error)
	Choose(ctx context.Context, turn int64, choice string) error
}

// Asks finds what waits for a person; described at router.Asks.
type Asks interface {
	OpenAsks(ctx context.Context, place int64) ([]chat.Ask, error)
	AskOfMessage(ctx context.Context, place int64, msg string) (chat.Ask, error)
}

// Request asks for one turn that no message is the input of.
type Request struct {
	Call  Call
	Input chat.Input
	// Session is where it must run; 0 = the conversation's current one, or a
	// new one by the session rule.
	Session int64
	Names   int64 // the earlier turn that it continues or repeats
}

// Desk is where turns are ordered and stopped.
type Desk interface {
	// Submit queues a turn whose cause is the call's message (asked twice, made
	// once) and returns the session to wake. chat.Full: not taken.
	Submit(ctx context.Context, r Request) (session int64, err error)
	// Stop ends the running turn of a session, and no other than only (0 =
	// whichever runs), and holds what is queued behind it. It does not wait for
	// the end: the turn itself tells that it has stopped.
	Stop(ctx context.Context, session, only int64) (Stopping, error)
	// Running returns the sessions of a conversation that have a running turn,
	// the current one first.
	Running(ctx context.Context, c chat.Conversation) ([]int64, error)
	// Decide answers an ask and tells the turn that waits for it.
	Decide(ctx context.Context, d chat.Decision) (chat.Ask, error)
	// Retire closes the process of a session that was replaced, unless a turn
	// of it runs or waits. It returns at once.
	Retire(session int64)
}

// Stopping is what a stop found.
type Stopping struct {
	Running bool // a turn was told to stop
	Freed   bool // none ran, but the ledger said so: that is put right
	Held    int  // turns that wait behind it, now held
}

// Workers knows the live processes.
type Workers interface {
	Live(session int64) (worker.Info, bool)
	// Set changes the settings of a session and says when they apply.
	Set(ctx context.Context, session int64, s chat.Settings) (chat.Applied, error)
	// Forget closes the session's process and waits for its end.
	Forget(session int64)
}

// Agent is one configured coding agent.
type Agent struct {
	Name   string
	Title  string
	Ready  bool
	Hint   string // why it is not ready, for people
	Models []string
}

// Agents knows the configured agents. It answers from what is known and never
// waits for a process.
type Agents interface {
	// List returns the agents in the order in which they are offered.
	List() []Agent
	// Commands returns the agent's own slash commands, those of the session's
	// live process or else the last ones heard of.
	Commands(agent string, session int64) []worker.Command
}
