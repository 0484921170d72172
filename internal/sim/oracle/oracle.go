// Package oracle judges a run of the daemon from outside: from what people
// sent, what the platforms show, what the agents were given, and what the
// ledger says after everything has come to rest. It knows nothing of how the
// daemon works. Its own tests seed a defect for every rule and see it found.
package oracle

import (
	"slices"
	"strings"
	"time"
)

// World is everything the oracle looks at.
type World struct {
	Said     []Said
	Shown    []Shown
	Presses  []Press
	Prompts  []Prompt
	Overlaps []string // two live agents on one session, as the agents noticed
	Orphans  []string // processes of the daemon that outlived it
	Rates    []string // offences against a platform's rates, and calls that a strict fake refused
	Leaks    []string // places where a secret was found
	Ledger   Ledger
}

// Said is one message of a person that the platform handed over and the
// daemon acknowledged.
type Said struct {
	Chat    string
	Key     string   // a marker that stands in the prompt and nowhere else
	Answer  []string // markers that a complete answer shows, in this order
	Allowed bool     // false: a stranger; nothing may come of it
	Again   int      // how often a person asked to run it again (Retry)
	Command bool     // not a prompt: no turn is expected

	// When the platform first handed it over, and when that was acknowledged.
	// Zero means that the platform keeps the order itself.
	Pushed, Taken time.Time
}

// Shown is one message of the bot that readers see now.
type Shown struct {
	Chat string
	ID   string
	Text string // also what is in its file
	File bool   // it carries a file: the whole of an answer whose beginning may be a message
	Open bool   // it is shown as still growing
}

// Press is a button that a person pressed where the platform waits for the
// answer.
type Press struct {
	Chat    string
	Data    string
	At      time.Time
	Code    int           // what the client shows; 0 = fine
	Took    time.Duration // until the answer
	Within  time.Duration // how long the platform waits for it
	Why     string        // when it was no good answer
	Excused bool          // the daemon was not there, or died meanwhile
}

// Prompt is one prompt as an agent got it.
type Prompt struct {
	Session string
	Text    string
}

// Ledger is what the daemon wrote down.
type Ledger struct {
	Integrity string // of PRAGMA integrity_check, "ok" when sound
	Inbound   []Inbound
	Turns     []Turn
	Outbox    []Outbox
	Asks      []Ask
}

// Inbound is a stored message.
type Inbound struct {
	ID    int64
	Chat  string
	Text  string
	State string
	Turn  int64 // the turn it is an input of, 0 = none
}

// Turn is a stored turn.
type Turn struct {
	ID      int64
	Session int64
	State   string
	Tries   int
}

// Outbox is a stored message to send.
type Outbox struct {
	ID    int64
	Turn  int64
	Chat  string
	Class string
	State string
	Msg   string // the platform's id of it, once there is one
}

// Ask is a stored question.
type Ask struct {
	ID    int64
	State string
}

// Rule is one thing that must hold.
type Rule struct {
	Name  string
	Check func(World) []string
}

// Rules are all of them.
func Rules() []Rule {
	return []Rule{
		{"accepted messages are stored once", storedOnce},
		{"every message comes to one visible end", settled},
		{"a complete answer arrives completely", complete},
		{"no answer text is shown twice", shownOnce},
		{"nothing is shown in another chat", inPlace},
		{"no prompt is given twice", promptedOnce},
		{"what was answered was asked", asked},
		{"answers keep the order of the questions", ordered},
		{"no card is left open", closed},
		{"presses are answered in time", answered},
		{"strangers cause nothing", strangers},
		{"one live agent a session", func(w World) []string { return w.Overlaps }},
		{"no process is left", func(w World) []string { return w.Orphans }},
		{"the platform's rules are kept", func(w World) []string { return w.Rates }},
		{"no secret leaks", func(w World) []string { return w.Leaks }},
		{"the ledger is at rest", atRest},
		{"the ledger is sound", sound},
	}
}

// Judge returns every offence, with the rule it is against.
func Judge(w World) []string {
	var out []string
	for _, r := range Rules() {
		for _, s := range r.Check(w) {
			out = append(out, r.Name+": "+s)
		}
	}
	return out
}

func (w World) inboundOf(s Said) []Inbound {
	var out []Inbound
	for _, in := range w.Ledger.Inbound {
		if in.Chat == s.Chat && has(in.Text, s.Key) {
			out = append(out, in)
		}
	}
	return out
}

func (w World) turn(id int64) (Turn, bool) {
	i := slices.IndexFunc(w.Ledger.Turns, func(t Turn) bool { return t.ID == id })
	if i < 0 {
		return Turn{}, false
	}
	return w.Ledger.Turns[i], true
}

// has looks for a marker as a whole word, so that k1 is not found in k10.
func has(text, marker string) bool { return count(text, marker) > 0 }

func count(text, marker string) int {
	n := 0
	for rest := text; ; {
		i := strings.Index(rest, marker)
		if i < 0 {
			return n
		}
		end := i + len(marker)
		if (i == 0 || !wordByte(rest[i-1])) && (end == len(rest) || !wordByte(rest[end])) {
			n++
		}
		rest = rest[end:]
	}
}

func wordByte(b byte) bool {
	return b == '-' || b == '.' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
