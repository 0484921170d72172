package claude

import (
	"slices"
	"strings"
)

// answer follows the text of one run, so that each word is shown once: text
// comes as a stream, again as a finished block and again in the result; and a
// call of the model that is repeated may begin with the words of the first
// try.
type answer struct {
	any     bool     // the run has shown text
	seen    []string // ids of messages that were streamed
	current strings.Builder
	inText  bool

	lost  string // shown text of a try that was given up
	match int    // how much of lost the new try has repeated
}

// piece is text to show, or the end of a block.
type piece struct {
	text string
	ends bool
}

// begin starts a message that will be streamed.
func (a *answer) begin(id string) {
	a.seen = append(a.seen, id)
	a.inText = false
}

func (a *answer) streamed(id string) bool { return slices.Contains(a.seen, id) }

// open starts a block of a message.
func (a *answer) open(text bool) {
	a.inText = text
	a.current.Reset()
}

// add takes a piece of streamed text and returns what to show.
func (a *answer) add(text string) []piece {
	if text == "" {
		return nil
	}
	a.inText = true
	if a.lost == "" {
		a.current.WriteString(text)
		a.any = true
		return []piece{{text: text}}
	}
	rest := a.lost[a.match:]
	if n := min(len(rest), len(text)); rest[:n] == text[:n] {
		a.match += n
		if a.match < len(a.lost) {
			return nil
		}
		a.current.WriteString(a.lost) // all of it came again: go on from there
		a.lost, a.match = "", 0
		return a.add(text[n:])
	}
	text = a.lost[:a.match] + text // another answer: it begins anew
	a.lost, a.match = "", 0
	return append([]piece{{ends: true}}, a.add(text)...)
}

// close ends the block that is open and returns what to show.
func (a *answer) close() []piece {
	if !a.inText {
		return nil
	}
	a.inText = false
	a.current.Reset()
	a.lost, a.match = "", 0
	return []piece{{ends: true}}
}

// restart notes that the call of the model failed and is made again: the block
// that is open will not be finished.
func (a *answer) restart() {
	if a.inText && a.lost == "" {
		a.lost, a.match = a.current.String(), 0
	}
	a.match = 0
	a.inText = false
}

// whole takes a block that was not streamed and returns what to show.
func (a *answer) whole(text string) []piece {
	if text == "" {
		return nil
	}
	a.any = true
	return []piece{{text: text}, {ends: true}}
}
