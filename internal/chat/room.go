package chat

// Listen says which messages of a group are for the bot.
type Listen string

// Modes of listening.
const (
	ListenMention Listen = "mention" // those that name it, reply to it, or are a command
	ListenReply   Listen = "reply"   // those that reply to it or are a command
	ListenAll     Listen = "all"     // every one
)

// Sharing says whose the session of a group is.
type Sharing string

// Modes of sharing.
const (
	SharingShared Sharing = "shared" // one for everybody in the group, or in its topic
	SharingPerson Sharing = "person" // one for each person
)

// Room is what a whole chat of several people is set to. Empty values mean the
// configured default.
type Room struct {
	Listen  Listen
	Sharing Sharing
}

// Or returns r with the values of d where r has none.
func (r Room) Or(d Room) Room {
	if r.Listen == "" {
		r.Listen = d.Listen
	}
	if r.Sharing == "" {
		r.Sharing = d.Sharing
	}
	return r
}

// Hears reports whether a message of that chat is for the bot. d is what holds
// where r has nothing: there, whoever is alone with the bot need not name it.
func (r Room) Hears(m Message, d Room) bool {
	listen := r.Or(d).Listen
	switch {
	case m.Place.Direct, listen == ListenAll:
		return true
	case listen == ListenReply:
		return m.Addressed && !m.Mentioned
	}
	return m.Addressed || r.Listen == "" && m.People == 1
}

// PlaceState says whether a place can be written to.
type PlaceState int

// States of a place.
const (
	PlaceOpen     PlaceState = 0
	PlaceParked   PlaceState = 1 // the chat cannot be reached until it speaks again
	PlaceShut     PlaceState = 2 // the topic is closed
	PlaceVanished PlaceState = 3 // the topic was deleted
)

// Seat is a place with what it leads to.
type Seat struct {
	Place
	Conversation int64
	Workspace    string // of the conversation; empty = the default
	Agent        string // likewise
	State        PlaceState
	Waiting      int // messages that wait to be sent there
}
