package oracle

import (
	"fmt"
	"strings"
)

// Rules about what the chats show.

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

// ordered compares each message with those before it. A platform that pushes
// again what was not acknowledged may hand over a later message first; then no
// order is asked for.
func ordered(w World) []string {
	var out []string
	type answer struct {
		said Said
		at   int
	}
	last := map[string][]answer{}
	for _, s := range w.Said {
		if !s.Allowed || s.Again > 0 || len(s.Answer) == 0 || !w.succeeded(s) {
			continue
		}
		pos := w.position(s.Chat, s.Answer[0])
		if pos < 0 {
			continue
		}
		for _, b := range last[s.Chat] {
			if pos < b.at && !b.said.Taken.After(s.Pushed) {
				out = append(out, fmt.Sprintf("%s is answered before %s, an earlier message", s.Key, b.said.Key))
				break
			}
		}
		last[s.Chat] = append(last[s.Chat], answer{s, pos})
	}
	return out
}

func closed(w World) []string {
	var out []string
	for _, m := range w.Shown {
		if m.Open {
			out = append(out, fmt.Sprintf("message %s of chat %s is shown as growing: %.60q", m.ID, m.Chat, m.Text))
		}
	}
	return out
}

func answered(w World) []string {
	var out []string
	for _, p := range w.Presses {
		if !p.Excused && (p.Code != 0 || p.Took > p.Within) {
			out = append(out, fmt.Sprintf("%s in chat %s at %s: after %s the client shows %d (%s)", p.Data, p.Chat, p.At.Format("05.000"), p.Took, p.Code, p.Why))
		}
	}
	return out
}
