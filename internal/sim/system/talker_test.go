package system

import (
	"fmt"
	"strings"

	"cligate/internal/sim/rig"
)

// talker is one person of a crowd, who says this and that.
type talker struct {
	*storm
	c        *rig.Talk
	name     string
	n        int
	stopping bool // said stop; says nothing until what was held is dealt with
}

func (k *talker) words() rig.Words { return k.r.Words() }

func (k *talker) key() string {
	k.n++
	return fmt.Sprintf("%sx%d", k.name, k.n)
}

func (k *talker) say(write func(key string) (string, []string)) {
	key := k.key()
	text, answer := write(key)
	k.c.Tell(text, key, answer...)
}

func (k *talker) slow(key string) (string, []string) { return k.words().Slow(key, 1+k.rnd.IntN(2)) }
func (k *talker) stream(key string) (string, []string) {
	return k.words().Stream(key, 10+k.rnd.IntN(50))
}
func (k *talker) long(key string) (string, []string) { return k.words().Long(key, 20+k.rnd.IntN(170)) }

// most is how many messages of one chat may be under way.
const most = 4

// speak says something at random.
func (k *talker) speak() {
	if k.busy() {
		return
	}
	switch k.rnd.IntN(14) {
	case 0, 1, 2:
		k.say(k.words().Echo)
	case 3, 4:
		k.say(k.stream)
	case 5, 6:
		k.say(k.words().Ask)
	case 7:
		k.say(k.long)
	case 8, 9: // several at once
		for range 2 + k.rnd.IntN(2) {
			k.say(k.words().Echo)
		}
	case 10: // something to stop, and something behind it
		k.say(k.slow)
		k.say(k.words().Echo)
		k.c.Say("/stop")
		k.stopping = true
	case 11, 12:
		k.say(func(key string) (string, []string) { return k.words().Files(key, 1+k.rnd.IntN(4), k.rnd.IntN(2) == 0) })
	case 13:
		k.c.Say([]string{"/new", "/status", "/queue"}[k.rnd.IntN(3)])
	}
}

// busy reports whether enough is under way in this chat.
func (k *talker) busy() bool {
	return k.stopping || most <= k.r.Count(`SELECT (SELECT count(*) FROM inbound i JOIN place p ON p.id = i.place LEFT JOIN turn_input x ON x.inbound = i.id
LEFT JOIN turn t ON t.id = x.turn WHERE p.chat = ?1 AND (i.state = 'new' OR t.state IN ('queued', 'running', 'waiting')))
+ (SELECT count(*) FROM outbox o JOIN place p ON p.id = o.place WHERE p.chat = ?1 AND o.state IN ('pending', 'sending'))`, k.c.Chat)
}

// look presses what there is to press, mostly.
func (k *talker) look() {
	if k.rnd.IntN(8) > 0 {
		return
	}
	verbs := []string{"run:", "clear:", "rm:", "cont:", "retry:", "drop:"}
	b, ok := k.c.Take(func(b rig.Button) bool {
		if strings.HasPrefix(b.Data, "ask:") {
			return b.Label == "Allow" || b.Label == "Deny" && k.rnd.IntN(3) == 0
		}
		for _, v := range verbs {
			if strings.HasPrefix(b.Data, v) {
				return k.rnd.IntN(len(verbs)) == 0 && (v != "retry:" || k.hopeful(b.Data))
			}
		}
		return false
	})
	if !ok {
		return
	}
	switch verb, _, _ := strings.Cut(b.Data, ":"); verb {
	case "retry", "cont": // to go on quotes what was asked, when more was said since
		again(k.t, k.r, b)
	case "run", "clear":
		k.stopping = false
	}
}

// hopeful reports whether a turn was not retried before: who tries the same
// for ever never comes to rest.
func (k *talker) hopeful(data string) bool {
	_, turn, _ := strings.Cut(data, ":")
	return k.r.Count("SELECT count(*) FROM turn WHERE id = ? AND names > 0", turn) == 0
}
