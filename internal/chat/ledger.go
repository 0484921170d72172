package chat

import "time"

// Recorded is what became of one message that was to be stored.
type Recorded struct {
	ID    int64
	Fresh bool // false: it was known, nothing was stored
	Twin  bool // it was known under another event key
}

// NewTurn is what a turn is made from.
type NewTurn struct {
	Conversation int64
	Session      int64
	Place        Place
	Origin       Origin
	Input        Input
	Inbound      []int64 // become turn inputs and move from new to turn, or nothing happens
	By           Person
	ReplyTo      Ref
	Names        int64
	After        int64
	// Cause is the click or command that asked for a turn without being its
	// input; the same cause makes one turn only. 0 = none.
	Cause int64
	// Instead says that the words are meant in place of what runs in the
	// session. Until they were offered to it the turn stands before all others
	// that wait there; should what runs be cut off by the end of the daemon,
	// they run in its place.
	Instead bool
}

// NewSession is what a session is made from. It becomes the conversation's
// current one.
type NewSession struct {
	Conversation int64
	Agent        string
	Workspace    string
	Model        string
	Mode         string
	Effort       string
	Title        string
	Recap        bool
	NativeID     string // a session of the agent's own that goes on here; empty = a new one
	Fork         string // the agent's id of a session whose memory the new one begins with; empty = with none
	Cause        int64  // the inbound that asked for it; the same cause makes one session only
}

// Ending is everything that is written when a turn ends, in one transaction.
type Ending struct {
	Turn     int64
	Attempt  int64
	From     TurnState // compare-and-set; zero = running or waiting
	State    TurnState
	Reason   Code
	NativeID string // empty keeps the known one
	Model    string // that the session wished for; chat.ModelUnknown takes the one before back
	Usage    Usage
	Outs     []Out       // the last word, ready for the sender
	Mode     *ModeChange // of the session, and of the conversation; nil = none
}

// ModeChange is a mode that a session left for another, by itself, after a
// person had said yes to its plan. It holds only where From is still wished
// for.
type ModeChange struct{ From, To string }

// Decision is a person's choice about an ask.
type Decision struct {
	Ask     int64
	Answer  Answer
	Place   Place // where it was made; must be the ask's own
	Role    Role
	Inbound int64 // the event that carried it, settled with it; 0 = none
	At      time.Time
}

// Rule is a permission of ours: the same request, byte for byte, is allowed
// without asking again.
type Rule struct {
	ID      int64
	Session int64 // the one that it holds in; 0 = in all of its conversation, agent and workspace
	Agent   string
	// Question is the request that it was made from.
	Question Question
	By       Person
	At       time.Time
}

// Unfinished is a turn found at boot that had not ended.
type Unfinished struct {
	Turn    Turn
	Attempt Attempt // zero when it was never claimed
	Asks    []Ask   // asks of the turn that were open or whose answer may not have arrived
	Instead Turn    // queued, to run in its place: its words were not offered to it yet. Zero = none
}

// Stranger is somebody without a grant who wrote.
type Stranger struct {
	ID      int64
	Account string
	Chat    string
	Direct  bool
	Person  Person
	FirstAt time.Time
	LastAt  time.Time
	Count   int
}

// Grant is a role of a person in one account and chat.
type Grant struct {
	ID      int64
	Account string
	Chat    string // empty = direct chats
	Person  string // "*" = everybody in that chat
	Role    Role
	By      string
	At      time.Time
}

// Line is one entry of a conversation's history.
type Line struct {
	Inbound int64  // either this
	Outbox  int64  // or that
	Key     string // the event's key, or the outbox row's
	Turn    int64
	Ask     int64  // the ask that it shows, ours only
	From    Person // zero for ours
	Class   OutClass
	Text    string
	Part    Part // ours: as it was sent
	Ref     Ref
	At      time.Time
}

// Mark is a position in a chat's history: rows of both tables, because a
// chat's lines are drawn from two.
type Mark struct {
	Inbound int64
	Outbox  int64
}

// Fate is what became of one message.
type Fate struct {
	Inbound int64
	State   InboundState
	Reason  Code      // why it was refused
	Turn    int64     // the turn that it is an input of or that it caused, 0 when none
	Ended   bool      // nothing more will come of it
	As      TurnState // the turn's state, empty without a turn
}

// Login is a secret that opens the web chat, known by its hash only.
type Login struct {
	Hash    string // hexadecimal SHA-256
	Person  string
	Expires time.Time
}
