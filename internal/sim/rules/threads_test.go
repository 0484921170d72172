package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// hall is a group without topics, in which replies have thread ids all the same.
const hall = int64(-1000000004003)

// TestWhateverIsSentStaysInItsThread has everything sent that a turn can send,
// from each kind of place.
func TestWhateverIsSentStaysInItsThread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chat, thread int64
		reply        bool
		private      bool
	}{
		"a topic":                        {chat: lobby, thread: plums},
		"General":                        {chat: lobby},
		"a reply in a group without any": {chat: hall, reply: true},
		"a private topic":                {chat: rig.Owner, private: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := forum(t, rig.Options{})
			tg := u.r.Telegram
			tg.AddChat(hall, telegram.Supergroup, "Hall")
			if c.private {
				u.r.Stop()
				tg.SetFlags(rig.Token, map[string]any{"has_topics_enabled": true})
				u.r.Start()
				c.thread = tg.MakeTopic(rig.Token, rig.Owner, rig.Owner, "Plums")
			}
			if err := os.WriteFile(filepath.Join(u.r.Dir, "work", "notes.txt"), []byte("noted"), 0o600); err != nil {
				t.Fatal(err)
			}
			var first int64
			if c.reply {
				first = tg.Say(rig.Token, telegram.Say{Chat: c.chat, From: rig.Owner, Text: "a word before"})
			}
			say := func(words string) int64 {
				if !c.private {
					words = "@rig_bot " + words
				}
				return tg.Say(rig.Token, telegram.Say{Chat: c.chat, From: rig.Owner, Thread: c.thread, ReplyTo: first, Text: words})
			}
			here := u.in(rig.Topic(u.r, c.chat, c.thread, rig.Owner))
			g := u.gate()
			say(fmt.Sprintf("run while [ ! -e %s ]; do sleep 0.02; done\nsay the answer", g))
			here.Press("ask:", text("turn.allow"))
			u.r.Until("it is shown at work", func() bool { return here.has("stop:") })
			waits := say("say the next answer")
			done := func(method string) bool {
				return slices.ContainsFunc(tg.Calls(), func(k telegram.Call) bool { return k.Method == method && k.Chat == c.chat && k.OK })
			}
			u.r.Until("it is shown that the next one waits", func() bool {
				return slices.ContainsFunc(tg.Calls(), func(k telegram.Call) bool {
					return k.Method == "setMessageReaction" && k.Params["message_id"] == fmt.Sprint(waits) && k.OK
				})
			})
			u.r.Until("the progress is edited, and something is typed", func() bool { return done("editMessageText") && done("sendChatAction") })
			g.open(t)
			here.Await("the answer", "the next answer")
			say("/file get notes.txt")
			here.Await("noted")
			u.r.Rest()
			u.stays(c.chat, c.thread, waits)
			u.sound()
		})
	}
}

// has reports whether a message has a button with this verb.
func (u user) has(verb string) bool {
	_, _, ok := u.Find(verb)
	return ok
}

// stays checks every call about a chat: where it goes is this thread.
func (u user) stays(chat, thread, waits int64) {
	u.t.Helper()
	threads := map[int64]int64{}
	for _, m := range u.r.Telegram.Messages(rig.Token, chat) {
		threads[m.ID] = m.Thread
	}
	want := ""
	if thread != 0 {
		want = fmt.Sprint(thread)
	}
	kinds := map[string]int{}
	for _, c := range u.r.Telegram.Calls() {
		if c.Chat != chat || !c.OK {
			continue
		}
		var id int64
		_, _ = fmt.Sscan(c.Params["message_id"], &id)
		switch c.Method {
		case "sendMessage", "sendDocument", "sendPhoto", "sendChatAction":
			if got := c.Params["message_thread_id"]; got != want {
				u.t.Errorf("%s goes to thread %q: %.60s", c.Method, got, c.Text)
			}
		case "editMessageText", "deleteMessage", "setMessageReaction":
			if threads[id] != thread {
				u.t.Errorf("%s is about message %d in thread %d", c.Method, id, threads[id])
			}
		default:
			continue
		}
		kinds[c.Method]++
		if c.Method == "setMessageReaction" && id == waits {
			kinds["on the one that waits"]++
		}
	}
	for _, k := range []string{"sendMessage", "sendDocument", "sendChatAction", "editMessageText", "setMessageReaction", "on the one that waits"} {
		if kinds[k] == 0 {
			u.t.Errorf("no %s", k)
		}
	}
}
