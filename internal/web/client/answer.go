package client

import (
	"strconv"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// requests are what the agent asks and nobody has answered, oldest first.
type requests struct{ open []api.Message }

func (q *requests) find(id string) int {
	for i, m := range q.open {
		if m.ID == id {
			return i
		}
	}
	return -1
}

// put adds a request, or its newer form.
func (q *requests) put(m api.Message) {
	if i := q.find(m.ID); i >= 0 {
		q.open[i] = m
		return
	}
	q.open = append(q.open, m)
}

// drop forgets a request and reports whether it was open.
func (q *requests) drop(id string) bool {
	i := q.find(id)
	if i < 0 {
		return false
	}
	q.open = append(q.open[:i:i], q.open[i+1:]...)
	return true
}

// choice is the button that a typed answer means: its number, its label, or y,
// n, a for yes, no, yes from now on.
func choice(m api.Message, line string) (chat.Button, bool) {
	bs := flat(m)
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(bs) {
		return bs[n-1], true
	}
	for _, b := range bs {
		if strings.EqualFold(b.Label, line) {
			return b, true
		}
	}
	i, ok := letters(bs)[strings.ToLower(line)]
	if !ok {
		return chat.Button{}, false
	}
	return bs[i], true
}

// letters are the short answers to a request for permission: one that can be
// denied.
func letters(bs []chat.Button) map[string]int {
	l := map[string]int{}
	for i, b := range bs {
		switch {
		case b.Style == "danger":
			l["n"] = i
		case i == 0:
			l["y"] = i
		case i == 1:
			l["a"] = i
		}
	}
	if _, deniable := l["n"]; !deniable {
		return nil
	}
	return l
}

// choices names the answers that choice knows.
func choices(m api.Message) string {
	bs := flat(m)
	var all []string
	for i := range bs {
		all = append(all, strconv.Itoa(i+1))
	}
	l := letters(bs)
	for _, c := range []string{"y", "a", "n"} {
		if _, ok := l[c]; ok {
			all = append(all, c)
		}
	}
	return strings.Join(all, ", ")
}
