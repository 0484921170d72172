package command

import (
	"context"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Conversations keeps conversations and their sessions; described at
// router.Conversations.
type Conversations interface {
	ConversationByID(ctx context.Context, id int64) (chat.Conversation, error)
	Change(ctx context.Context, before, after chat.Conversation) error
	SessionByID(ctx context.Context, id int64) (chat.Session, error)
	Sessions(ctx context.Context, conversation int64) ([]chat.Session, error)
	StartSession(ctx context.Context, n chat.NewSession) (chat.Session, error)
	UseSession(ctx context.Context, conversation, session int64) (chat.Session, error)
	Recap(ctx context.Context, session int64) error
	Recapped(ctx context.Context, session int64) error
	Lose(ctx context.Context, session int64) (chat.Session, error)
	Park(ctx context.Context, session int64, at time.Time) error
	Natives(ctx context.Context, agent, workspace string) ([]string, error)
}

// Rules keeps what is allowed beyond one request.
type Rules interface {
	// Rules returns those of a conversation, and of the given session.
	Rules(ctx context.Context, conversation, session int64) ([]chat.Rule, error)
	// Drop ends one; chat.Missing.
	Drop(ctx context.Context, conversation, rule int64, by chat.Person) error
}

// Turns is what commands read about turns; described at router.Turns.
type Turns interface {
	Queued(ctx context.Context, session int64) ([]chat.Turn, error)
	Active(ctx context.Context, session int64) (chat.Turn, error)
	TurnByID(ctx context.Context, id int64) (chat.Turn, error)
	// LastTurn returns the newest turn of a session; chat.Missing.
	LastTurn(ctx context.Context, session int64) (chat.Turn, error)
	// LastRun is LastTurn without what was taken back before it ran.
	LastRun(ctx context.Context, session int64) (chat.Turn, error)
	// CutOff returns the newest turn of a session that did not come to its
	// natural end, though nobody stopped it, and about which nothing was chosen;
	// chat.Missing.
	CutOff(ctx context.Context, session int64) (chat.Turn, error)
}

// Spending is what was used up; described at turn.Spending.
type Spending interface {
	Spent(ctx context.Context, session int64, since time.Time) (chat.Usage, error)
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
	Bound   bool  // the call's message is the input
	Instead bool  // of Steer: what the agent does at that moment is ended
}

// Steering is what became of words for a running turn.
type Steering int

// Outcomes of steering.
const (
	SteerTried  Steering = iota // what becomes of it is told when it is known
	SteerIdle                   // no turn runs: it is a turn like others
	SteerCannot                 // the agent takes none: it waits its turn
)

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
	// Steer queues a turn as Submit does and gives its words to the turn that
	// runs in its session. What the agent does not take waits its turn.
	Steer(ctx context.Context, r Request) (session int64, s Steering, err error)
	// Give does so with a turn that is queued already; chat.Conflict: it is not
	// any more.
	Give(ctx context.Context, t chat.Turn) (Steering, error)
	// Takes reports whether a turn runs in a session whose agent takes words.
	Takes(session int64) bool
	// Replaces reports whether a turn runs in the session whose agent drops what
	// it does for other words.
	Replaces(session int64) bool
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
	// Set changes one setting of a session, and of the conversation in which it
	// is current, and says when that applies; an empty value is the default.
	Set(ctx context.Context, session int64, k chat.Setting, value string) (chat.Applied, error)
	// Forget closes the session's process and waits for its end.
	Forget(session int64)
}

// Agent is one configured coding agent.
type Agent struct {
	Name  string
	Title string
	Ready bool
	Hint  string           // why it is not ready, for people
	Can   worker.Abilities // empty while that is not known
	Info  worker.Info      // what it said about itself when it was opened last
	// Defaults and Unattended are what the operator set.
	Defaults   chat.Settings
	Unattended bool // may act without asking anybody
}

// Steers reports whether the agent takes words while it works.
func (a Agent) Steers() bool { return a.Can.Has(worker.Steer) }

// Replaces reports whether the agent drops what it does for other words.
func (a Agent) Replaces() bool { return a.Can.Has(worker.Replace) }

// Agents knows the configured agents. It answers from what is known and never
// waits for a process.
type Agents interface {
	// List returns the agents in the order in which they are offered.
	List() []Agent
	// Commands returns the agent's own slash commands, those of the session's
	// live process or else the last ones heard of.
	Commands(agent string, session int64) []worker.Command
	// Natives lists the agent's own sessions of a workspace, newest first.
	// chat.Unsupported: it keeps no list. Unlike the rest it may read files, or
	// ask a process, within ctx.
	Natives(ctx context.Context, agent, workspace string) ([]worker.Native, error)
	// Terminal is the command line that goes on with a session; empty where
	// there is none.
	Terminal(agent, nativeID string) []string
}

// Where is a path of a workspace, and for whom it is looked at.
type Where struct {
	Workspace string
	Path      string // as a person gave it
	Lang      string
	Account   string // of the chat that gets the file
}

// Files finds files of workspaces.
type Files interface {
	// Fetch makes the reply that sends a file, or that says why it is not sent.
	// An error is a defect, ours or the disk's. It may be asked again.
	Fetch(ctx context.Context, w Where) (chat.Reply, error)
	// List lists what of a folder may be fetched, or says why nothing is.
	List(ctx context.Context, w Where) Listing
}

// Listing is what a person may have of a folder.
type Listing struct {
	Text    string // in words
	Entries []FileEntry
}

// FileEntry is a file or a folder in a listing.
type FileEntry struct {
	Path string // from the workspace
	Dir  bool
}

// Rooms knows the chats of several people and the topics of chats.
type Rooms interface {
	// Room returns what a chat is set to, zero when nothing was chosen.
	Room(ctx context.Context, account, chatID string) (chat.Room, error)
	// SetRoom sets a chat; by is noted in the audit trail.
	SetRoom(ctx context.Context, account, chatID string, r chat.Room, by string) error
	// Seats returns the places of a chat, oldest first, without those that went
	// on elsewhere.
	Seats(ctx context.Context, account, chatID string) ([]chat.Seat, error)
	// Seat returns a place; chat.Missing.
	Seat(ctx context.Context, place int64) (chat.Seat, error)
	// Redirect sends on to another place what waits for one, and what will; the
	// conversations of both stay theirs. Doing it again changes nothing.
	Redirect(ctx context.Context, from, to int64) error
	// Discard drops what waits for a place and returns how much that was.
	Discard(ctx context.Context, place int64) (int64, error)
}
