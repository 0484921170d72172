package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// People and chats of these tests.
const (
	stranger = 6660
	member   = 7001
	team     = -4001
)

// verbs are all buttons that exist, naming these rows and impossible ones, and
// some that do not exist.
func verbs(rows ...int64) []string {
	var all []string
	for _, v := range []string{
		"ask:%d:0", "ask:%d:1", "ask:%d:2", "ask:%d:0:0", "ask:%d:0:ok", "stop:%d", "cont:%d", "retry:%d", "drop:%d", "run:%d", "clear:%d",
		"rm:%d", "undo:%d", "use:%d", "aged:run:%d", "aged:drop:%d", "ws:%d",
		"now:%d", "recap:%d", "renew:%d:recap", "renew:%d:empty", "rule:%d", "take:%d", "compact:%d",
	} {
		for _, row := range append(rows, -1, 0, 77, 1<<62) {
			all = append(all, fmt.Sprintf(v, row))
		}
	}
	return append(all, "agent:demo", "agent:claude", "model:sim-small", "mode:bypassPermissions", "effort:high", "allow", "yes", ":", "ask:", "ask:1", "ask:1:0:0:0", "new:1", "approve:1",
		"stop:1\n", "ask:+1:0", "ask:01:0", strings.Repeat("x", 64), "ask:1:"+strings.Repeat("0", 50), "\x00", "ask:１:0")
}

// quiet checks that nothing happened but n turns and n prompts.
func (u user) quiet(n int) {
	u.t.Helper()
	u.r.Rest()
	if turns := u.r.Count("SELECT count(*) FROM turn"); turns != n {
		u.t.Errorf("%d turns, not %d", turns, n)
	}
	if got := u.prompts(); len(got) != n {
		u.t.Errorf("prompts %q, not %d", got, n)
	}
}

func TestStrangerCausesNothing(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	tg := u.r.Telegram
	tg.AddChat(stranger, telegram.Private, "Stranger")
	c := u.r.ChatAs(stranger, stranger)
	for _, say := range []string{
		"hello", "remember the word plum", "run touch stolen", "/new run touch stolen", "/status", "/sessions", "/use 1", "/agent demo", "/approve", "/deny",
		"/help", "/whoami", "/start", "allow", "run touch stolen\nsay it",
	} {
		c.Say(say)
	}
	for i := range 8 {
		c.Say(fmt.Sprintf("/start AAAAA-AAAA%d", i)) // a guess
	}
	tg.Say(rig.Token, telegram.Say{Chat: stranger, From: stranger, Text: "a photo", Photo: true, Album: "1"})
	edited := tg.Say(rig.Token, telegram.Say{Chat: stranger, From: stranger, Text: "first"})
	tg.EditText(rig.Token, stranger, edited, "run touch stolen")
	tg.Push(rig.Token, "channel_post", map[string]any{"message_id": 5, "date": 1, "chat": map[string]any{"id": -100900, "type": "channel"}, "text": "run touch stolen"})
	tg.Push(rig.Token, "message", map[string]any{"message_id": 6, "date": 1, "chat": map[string]any{"id": rig.Owner, "type": "private"},
		"from": map[string]any{"id": stranger, "is_bot": false, "first_name": "S"}, "sender_chat": map[string]any{"id": -100900, "type": "channel"}, "text": "run touch stolen"})
	for _, data := range verbs(1, 2) {
		c.Forge("101", data)
	}
	u.quiet(0)
	if n := u.r.Count("SELECT count(*) FROM inbound"); n != 0 {
		t.Errorf("%d messages are stored", n)
	}
	if pids := u.agents(); len(pids) > 0 {
		t.Errorf("processes %v", pids)
	}
	notice := text("receive.stranger", "id", stranger)
	if got := strings.Count(c.Text(), notice); got != 1 {
		t.Errorf("the notice is shown %d times in %q", got, c.Text())
	}
	for _, m := range c.Shown() {
		if len(m.Buttons) > 0 || strings.Contains(m.Text, "/start ") {
			t.Errorf("a stranger is shown %+v", m)
		}
	}
	if _, err := os.Stat(filepath.Join(u.r.Dir, "work", "stolen")); err == nil {
		t.Error("a command ran")
	}
	u.remember("plum") // the owner is answered all the same
	u.quiet(1)
}

func TestGroupMemberWithoutRightsCausesNothing(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	tg := u.r.Telegram
	tg.AddChat(team, telegram.Group, "Team")
	boss, other := u.in(u.r.ChatAs(team, rig.Owner)), u.in(u.r.ChatAs(team, member))
	boss.Say("@rig_bot run touch allowed")
	u.r.Until("a permission is asked for", func() bool { _, _, ok := boss.Find("ask:"); return ok })
	m, allow, _ := boss.Find("ask:")

	for _, say := range []string{
		"hello @rig_bot", "@rig_bot run touch stolen", "/new@rig_bot run touch stolen", "/stop@rig_bot", "/approve@rig_bot", "/deny@rig_bot", "/steer@rig_bot run touch stolen", "/rules@rig_bot", "/handoff@rig_bot", "/mode@rig_bot plan", "/agent@rig_bot demo recap", "/status@rig_bot", "/status",
		"allow @rig_bot", "@rig_bot allow", "allow",
	} {
		other.Say(say)
	}
	var number int64
	_, _ = fmt.Sscan(m.ID, &number)
	tg.Say(rig.Token, telegram.Say{Chat: team, From: member, Text: "allow", ReplyTo: number})
	for _, b := range m.Buttons {
		other.Forge(m.ID, b.Data)
	}
	for _, data := range verbs(1, 2) {
		other.Forge(m.ID, data)
	}
	tg.Click(rig.Token, rig.Owner, number, member, allow.Data) // from another chat
	u.r.Until("everything is taken", func() bool { return tg.Pending(rig.Token) == 0 })
	if state := u.r.Values("SELECT state FROM ask"); len(state) != 1 || state[0] != "open" {
		t.Errorf("the request is %v", state)
	}
	if n := u.r.Count("SELECT count(*) FROM inbound WHERE sender = ?", fmt.Sprint(member)); n != 0 {
		t.Errorf("%d messages are stored", n)
	}
	if strings.Contains(boss.Text(), "allowed by") {
		t.Errorf("the group shows %s", boss.Text())
	}
	boss.Press("ask:", text("turn.allow"))
	boss.Await("ran:")
	u.quiet(1)
	for name, want := range map[string]bool{"allowed": true, "stolen": false} {
		if _, err := os.Stat(filepath.Join(u.r.Dir, "work", name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Talk that is not addressed to the bot is nobody's business, the owner's too.
	boss.Say("what was the word?")
	boss.Say("run touch stolen")
	u.quiet(1)
	if n := u.r.Count("SELECT count(*) FROM inbound WHERE body LIKE '%the word%'"); n != 0 {
		t.Error("talk of the group is stored")
	}
}

func TestForgedButtonsCauseNothing(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Owners: []int64{rig.Owner, 1002}})
	u.Say("run touch here")
	u.r.Until("a permission is asked for", func() bool { _, _, ok := u.Find("ask:"); return ok })
	m, allow, _ := u.Find("ask:")

	// Somebody with rights, in chats of their own: the rows belong to another.
	second, web := u.in(u.r.Chat(1002)), u.in(u.r.WebChat("room"))
	second.remember("pear")
	for i, data := range append(verbs(1), allow.Data) {
		if strings.HasPrefix(data, "agent:") || strings.HasPrefix(data, "model:") || strings.HasPrefix(data, "ws:") {
			continue // these mean the presser's own chat, whoever makes the button
		}
		web.Forge(m.ID, data)
		if i%5 == 0 { // each is answered, and Telegram is slow
			second.Forge(m.ID, data)
		}
	}
	second.Forge(m.ID, allow.Data)
	u.r.Until("everything is taken", func() bool { return u.r.Telegram.Pending(rig.Token) == 0 })
	u.r.Until("everything is looked at", func() bool { return u.r.Count("SELECT count(*) FROM inbound WHERE state = 'new'") == 0 })
	if state := u.r.Values("SELECT state FROM ask"); len(state) != 1 || state[0] != "open" {
		t.Errorf("the request is %v", state)
	}
	if state := u.r.Values("SELECT state FROM turn WHERE sender LIKE '%1001%'"); len(state) != 1 || state[0] != "waiting" {
		t.Errorf("the turn is %v", state)
	}
	if _, err := os.Stat(filepath.Join(u.r.Dir, "work", "here")); err == nil {
		t.Error("the command ran")
	}
	u.Press("ask:", text("turn.allow"))
	u.Await("ran:")
	// The button is used up: pressed again, now or by name, it does nothing.
	u.Forge(m.ID, allow.Data)
	u.quiet(2)
	if n := len(u.journal("tool")); n != 1 {
		t.Errorf("%d tools ran", n)
	}
	for _, p := range u.prompts() {
		if strings.Contains(p, "allow") || strings.Contains(p, "ask:") {
			t.Errorf("a button became the prompt %q", p)
		}
	}
}
