package codex

import "strings"

// answer follows the text of one turn, so that each word is shown once: text
// comes in pieces and again as a whole, and a call of the model that is repeated
// may begin with the words of the first try. A message that was cut counts as
// finished before the call is repeated; so the end of one is told when it is
// clear that something else follows.
type answer struct {
	item    string          // the message that is open
	ended   bool            // one has ended, which was not told yet
	seen    map[string]bool // messages of which pieces came
	text    strings.Builder // of the message that is open or has ended
	thought bool            // the thought that is open came in pieces

	lost string // shown text of a try that was given up
	echo string // what the new try has repeated of it
}

// piece is text to show, or the end of a block.
type piece struct {
	text string
	ends bool
}

// add takes a piece of a message and returns what to show.
func (a *answer) add(item, text string) (out []piece) {
	if text == "" {
		return nil
	}
	if item != a.item {
		out = a.settle()
		a.item = item
		if a.seen == nil {
			a.seen = map[string]bool{}
		}
		a.seen[item] = true
	}
	if a.lost != "" {
		a.echo += text
		switch {
		case strings.HasPrefix(a.lost, a.echo):
			return out
		case strings.HasPrefix(a.echo, a.lost): // all of it came again: go on from there
			text = a.echo[len(a.lost):]
			a.text.WriteString(a.lost)
		default: // another answer: it begins anew
			out, text = append(out, piece{ends: true}), a.echo
		}
		a.lost, a.echo = "", ""
	}
	a.text.WriteString(text)
	return append(out, piece{text: text})
}

// whole takes a finished message and returns what to show.
func (a *answer) whole(item, text string) []piece {
	if a.seen[item] {
		if item == a.item {
			a.item, a.ended = "", true
		}
		return nil
	}
	if text == "" {
		return nil
	}
	return append(a.finish(), piece{text: text}, piece{ends: true})
}

// settle ends the message before something else: another message, a tool. What
// a given up try showed is not ended before a new one has come.
func (a *answer) settle() []piece {
	if a.lost != "" && a.echo == "" {
		return nil
	}
	return a.finish()
}

// finish ends whatever is open.
func (a *answer) finish() []piece {
	if a.item == "" && a.lost == "" && !a.ended {
		return nil
	}
	a.item, a.ended, a.lost, a.echo = "", false, "", ""
	a.text.Reset()
	return []piece{{ends: true}}
}

// restart notes that the call of the model is made again: its message will come
// anew.
func (a *answer) restart() {
	switch {
	case a.lost != "": // the new try failed as well
	case a.item != "", a.ended:
		a.lost = a.text.String()
	}
	a.item, a.ended, a.echo = "", false, ""
	a.text.Reset()
}
