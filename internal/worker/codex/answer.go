package codex

import "strings"

// answer follows the text of one turn, so that each word is shown once: text
// comes in pieces and again as a whole, and a call of the model that is repeated
// may begin with the words of the first try.
type answer struct {
	item    string          // the message that is open
	seen    map[string]bool // messages of which pieces came
	text    strings.Builder // of the open message
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
		out = a.close()
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
		return a.close()
	}
	if text == "" {
		return nil
	}
	return append(a.close(), piece{text: text}, piece{ends: true})
}

// close ends the message that is open. What a given up try showed is not
// closed before a new one has come.
func (a *answer) close() []piece {
	if a.item == "" {
		return nil
	}
	return a.finish()
}

// finish ends whatever is open: nothing comes any more.
func (a *answer) finish() []piece {
	if a.item == "" && a.lost == "" {
		return nil
	}
	a.item, a.lost, a.echo = "", "", ""
	a.text.Reset()
	return []piece{{ends: true}}
}

// restart notes that the call of the model is made again: the message that is
// open will not be finished.
func (a *answer) restart() {
	if a.item != "" && a.lost == "" {
		a.lost = a.text.String()
	}
	a.item, a.echo = "", ""
	a.text.Reset()
}
