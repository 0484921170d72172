// Package oracle judges a run of the daemon from outside: from what people
// sent, what the platforms show, what the agents were given, and what the
// ledger says after everything has come to rest. It knows nothing of how the
// daemon works. Its own tests seed a defect for every rule and see it found.
package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// World is everything the oracle looks at.
type World struct {
	Said     []Said
	Shown    []Shown
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
}

// Shown is one message of the bot that readers see now.
type Shown struct {
	Chat string
	ID   string
	Text string // also what is in its file
	File bool   // it carries a file: the whole of an answer whose beginning may be a message
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

func storedOnce(w World) []string {
	var out []string
	for _, s := range w.Said {
		if n := len(w.inboundOf(s)); s.Allowed && n != 1 {
			out = append(out, fmt.Sprintf("%s is stored %d times", s.Key, n))
		}
	}
	return out
}

var finalStates = []string{"succeeded", "failed", "stopped", "interrupted", "withdrawn", "expired"}

// told are ends that are told by a message of the turn.
var told = []string{"succeeded", "failed", "stopped", "interrupted"}

func settled(w World) []string {
	var out []string
	for _, s := range w.Said {
		if !s.Allowed {
			continue
		}
		for _, in := range w.inboundOf(s) {
			switch {
			case in.State == "turn":
				if why := w.unsettled(in.Turn); why != "" {
					out = append(out, s.Key+": "+why)
				}
			case slices.Contains([]string{"done", "refused", "withdrawn", "expired"}, in.State):
			default:
				out = append(out, fmt.Sprintf("%s is left in state %s", s.Key, in.State))
			}
			if in.State != "turn" && !s.Command && in.State == "done" {
				out = append(out, s.Key+" was taken for a command")
			}
		}
	}
	return out
}

// unsettled says why a turn has no visible end; empty when it has one.
func (w World) unsettled(id int64) string {
	t, ok := w.turn(id)
	if !ok {
		return fmt.Sprintf("turn %d does not exist", id)
	}
	if !slices.Contains(finalStates, t.State) {
		return fmt.Sprintf("turn %d is still %s", id, t.State)
	}
	if !slices.Contains(told, t.State) {
		return ""
	}
	for _, o := range w.Ledger.Outbox {
		if o.Turn == id && o.Class == "final" && o.State == "sent" && w.shown(o) {
			return ""
		}
	}
	return fmt.Sprintf("turn %d %s and nothing shows it", id, t.State)
}

func (w World) shown(o Outbox) bool {
	return slices.ContainsFunc(w.Shown, func(s Shown) bool { return s.Chat == o.Chat && s.ID == o.Msg && s.Text != "" })
}

// succeeded reports whether the turn of s ended well.
func (w World) succeeded(s Said) bool {
	for _, in := range w.inboundOf(s) {
		if t, ok := w.turn(in.Turn); ok && t.State == "succeeded" {
			return true
		}
	}
	return false
}

func complete(w World) []string {
	var out []string
	for _, s := range w.Said {
		if !s.Allowed || !w.succeeded(s) {
			continue
		}
		at := -1
		for _, marker := range s.Answer {
			pos := w.position(s.Chat, marker)
			switch {
			case pos < 0:
				out = append(out, fmt.Sprintf("%s of %s is not shown", marker, s.Key))
			case pos < at:
				out = append(out, fmt.Sprintf("%s of %s is out of order", marker, s.Key))
			default:
				at = pos
			}
		}
	}
	return out
}

// position is where a marker stands among everything a chat shows.
func (w World) position(chat, marker string) int {
	at := 0
	for _, m := range w.Shown {
		if m.Chat != chat {
			continue
		}
		if has(m.Text, marker) {
			return at + strings.Index(m.Text, marker)
		}
		at += len(m.Text) + 1
	}
	return -1
}

func shownOnce(w World) []string {
	var out []string
	for _, s := range w.Said {
		for _, marker := range s.Answer {
			n := map[bool]int{}
			for _, m := range w.Shown {
				if m.Chat == s.Chat {
					n[m.File] += count(m.Text, marker)
				}
			}
			for file, n := range n {
				if n > 1+s.Again {
					out = append(out, fmt.Sprintf("%s of %s is shown %d times (in files: %t)", marker, s.Key, n, file))
				}
			}
		}
	}
	return out
}

func inPlace(w World) []string {
	var out []string
	for _, s := range w.Said {
		for _, m := range w.Shown {
			if m.Chat == s.Chat {
				continue
			}
			for _, marker := range append([]string{s.Key}, s.Answer...) {
				if has(m.Text, marker) {
					out = append(out, fmt.Sprintf("%s of chat %s is shown in chat %s", marker, s.Chat, m.Chat))
				}
			}
		}
	}
	return out
}

func promptedOnce(w World) []string {
	var out []string
	for _, s := range w.Said {
		n := 0
		for _, p := range w.Prompts {
			n += min(1, count(p.Text, s.Key))
		}
		if n > 1+s.Again {
			out = append(out, fmt.Sprintf("%s was given %d times", s.Key, n))
		}
	}
	return out
}

// asked sees that the prompts were looked at at all.
func asked(w World) []string {
	var out []string
	for _, s := range w.Said {
		given := func(p Prompt) bool { return has(p.Text, s.Key) }
		if s.Allowed && w.succeeded(s) && !slices.ContainsFunc(w.Prompts, given) {
			out = append(out, s.Key+" succeeded and no agent was given it")
		}
	}
	return out
}

func ordered(w World) []string {
	var out []string
	last := map[string]int{}
	for _, s := range w.Said {
		if !s.Allowed || s.Again > 0 || len(s.Answer) == 0 || !w.succeeded(s) {
			continue
		}
		pos := w.position(s.Chat, s.Answer[0])
		if pos < 0 {
			continue
		}
		if before, ok := last[s.Chat]; ok && pos < before {
			out = append(out, fmt.Sprintf("%s is answered before an earlier message", s.Key))
		}
		last[s.Chat] = pos
	}
	return out
}

func strangers(w World) []string {
	var out []string
	for _, s := range w.Said {
		if s.Allowed {
			continue
		}
		if len(w.inboundOf(s)) > 0 {
			out = append(out, s.Key+" is in the inbox")
		}
		for _, p := range w.Prompts {
			if has(p.Text, s.Key) {
				out = append(out, s.Key+" reached an agent")
			}
		}
	}
	return out
}

func atRest(w World) []string {
	var out []string
	active := map[int64]int64{}
	for _, t := range w.Ledger.Turns {
		if !slices.Contains(finalStates, t.State) {
			out = append(out, fmt.Sprintf("turn %d is %s", t.ID, t.State))
		}
		if t.State == "running" || t.State == "waiting" {
			if other, ok := active[t.Session]; ok {
				out = append(out, fmt.Sprintf("turns %d and %d run in session %d", other, t.ID, t.Session))
			}
			active[t.Session] = t.ID
		}
	}
	for _, o := range w.Ledger.Outbox {
		if o.State == "pending" || o.State == "sending" {
			out = append(out, fmt.Sprintf("outbox row %d is %s", o.ID, o.State))
		}
		if o.State == "sent" && o.Msg == "" {
			out = append(out, fmt.Sprintf("outbox row %d is sent without a message id", o.ID))
		}
	}
	for _, a := range w.Ledger.Asks {
		if a.State == "open" {
			out = append(out, fmt.Sprintf("ask %d is open", a.ID))
		}
	}
	return out
}

func sound(w World) []string {
	if w.Ledger.Integrity != "ok" {
		return []string{w.Ledger.Integrity}
	}
	return nil
}
