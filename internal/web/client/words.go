package client

import (
	"fmt"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// typed are the commands that do what buttons do, by the verb of their data.
// The data's argument follows, unless the command takes none.
var typed = map[string]struct {
	command string
	bare    bool
}{
	"stop": {"/stop", true}, "run": {"/queue run", true}, "clear": {"/queue clear", true}, "compact": {"/compact", true},
	"cont": {"/continue", false}, "retry": {"/retry", false}, "drop": {"/drop", false}, "renew": {"/renew", false},
	"rm": {"/cancel", false}, "now": {"/now", false}, "use": {"/use", false}, "undo": {"/use", false}, "take": {"/take", false},
	"agent": {"/agent", false}, "model": {"/model", false}, "effort": {"/effort", false}, "mode": {"/mode", false},
	"verbosity": {"/verbosity", false}, "rich": {"/rich", false}, "ws": {"/workspace", false}, "file": {"/file", false},
	"listen": {"/listen", false}, "sharing": {"/sharing", false}, "rule": {"/rules remove", false},
}

// words is what somebody types who cannot press b: a command, or the number
// that the button has in its message.
func words(b chat.Button, n int) string {
	verb, arg, _ := strings.Cut(b.Data, ":")
	w, ok := typed[verb]
	switch {
	case !ok:
		return fmt.Sprintf("#%d", n)
	case w.bare:
		return w.command
	}
	return w.command + " " + arg
}

// offers is the line below a message of ours: what can be done, and the words
// for it. A request is answered by numbers.
func offers(m api.Message) string {
	var all []string
	for i, b := range flat(m) {
		switch {
		case m.Kind == string(chat.ReplyAsk):
			all = append(all, fmt.Sprintf("%d) %s", i+1, b.Label))
		case b.Data != "": // text to copy is in the message
			all = append(all, fmt.Sprintf("%s (%s)", words(b, i+1), b.Label))
		}
	}
	return strings.Join(all, "   ")
}

// pending reports whether a message tells of a turn that was cut off and about
// which nothing was chosen yet.
func pending(m api.Message) bool {
	return slices.ContainsFunc(flat(m), func(b chat.Button) bool { return strings.HasPrefix(b.Data, "cont:") })
}

// numbered is the button that #n stands for, in the newest message that has
// one without a command.
func numbered(m api.Message, line string) (chat.Button, bool) {
	for i, b := range flat(m) {
		if b.Data != "" && line == fmt.Sprintf("#%d", i+1) && words(b, i+1) == line {
			return b, true
		}
	}
	return chat.Button{}, false
}
