package system

import (
	"fmt"
	"strings"
	"testing"

	"cligate/internal/sim/feishu"
	"cligate/internal/sim/oracle"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

const (
	stranger = 6666
	group    = -100500
	small    = -70
)

// outsiders are people on one platform who may nothing.
type outsiders struct {
	chats  []*rig.Talk     // where they write
	spying *rig.Talk       // the owner's chat, in which they press
	idle   func() bool     // everything was handed over
	told   func() []string // what was said to them alone
	aloud  func() []string // what was said in groups
}

func onTelegram(r *rig.Rig) outsiders {
	r.Telegram.AddChat(stranger, telegram.Private, "Stranger")
	r.Telegram.AddChat(group, telegram.Supergroup, "Team")
	r.Telegram.AddChat(small, telegram.Group, "Few")
	texts := func(chats ...int64) (out []string) {
		for _, c := range chats {
			for _, m := range r.Telegram.Visible(rig.Token, c) {
				out = append(out, m.Text)
			}
		}
		return out
	}
	return outsiders{
		chats:  []*rig.Talk{r.Chat(stranger), r.ChatAs(group, stranger), r.ChatAs(small, stranger)},
		spying: r.ChatAs(2001, stranger),
		idle:   func() bool { return r.Telegram.Pending(rig.Token) == 0 },
		told:   func() []string { return texts(stranger) },
		aloud:  func() []string { return texts(group, small) },
	}
}

func outsidersOnFeishu(r *rig.Rig) outsiders {
	r.Feishu.AddPerson(nobody, "Stranger")
	r.Feishu.AddChat(feishuStranger, feishu.P2P, "", []string{rig.App}, nobody)
	r.Feishu.AddChat(feishuTeam, feishu.Group, "Team", []string{rig.App}, nobody)
	team := r.FeishuAs(feishuTeam, nobody)
	team.To = "@" + rig.AppName
	// A program, and somebody of another company, even under the owner's id.
	for i, say := range []feishu.Say{{Kind: "app"}, {Tenant: "another"}} {
		key := fmt.Sprintf("other%d", i)
		r.Expect(oracle.Said{Chat: rig.Direct(2001), Key: key})
		say.App, say.Chat, say.From, say.Text = rig.App, rig.Direct(2001), rig.Person(2001), "long 1 "+key
		r.Feishu.Say(say)
	}
	texts := func(c *rig.Talk) func() []string {
		return func() (out []string) {
			for _, m := range c.Shown() {
				out = append(out, m.Text)
			}
			return out
		}
	}
	alone := r.FeishuAs(feishuStranger, nobody)
	return outsiders{
		chats:  []*rig.Talk{alone, team},
		spying: r.FeishuAs(rig.Direct(2001), nobody),
		idle:   func() bool { return r.Feishu.Pending(rig.App) == 0 && alone.Idle() && team.Idle() },
		told:   texts(alone),
		aloud:  texts(team),
	}
}

// TestPeopleWithoutRightsCauseNothing lets people who may nothing try
// everything, while somebody who may waits for an answer to a request.
func TestPeopleWithoutRightsCauseNothing(t *testing.T) {
	t.Parallel()
	for platform, come := range map[string]func(*rig.Rig) outsiders{"telegram": onTelegram, "feishu": outsidersOnFeishu} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, on(platform, rig.Options{Owners: []int64{2001}}))
			r.Start()
			owner := &person{t: t, r: r, c: place(r, platform, 0), name: "o"}
			owner.last()
			owner.tell(r.Words().Ask)
			ask, button := wait(t, r, owner.c, "ask:")
			before, processes := rows(r), len(r.Processes())
			out := come(r)
			out.tryEverything(r, ask.ID, button.Data)

			if after := rows(r); after != before {
				t.Errorf("rows changed from %s to %s", before, after)
			}
			if n := len(r.Processes()); n > processes {
				t.Errorf("%d more processes", n-processes)
			}
			if got := r.Values("SELECT state FROM ask"); len(got) != 1 || got[0] != "open" {
				t.Errorf("the request is %v", got)
			}
			if said := out.told(); len(said) > 2 { // their id, and that their code of /start is wrong
				t.Errorf("the stranger was told %q", said)
			}
			if said := out.aloud(); len(said) > 0 {
				t.Errorf("a group was told %q", said)
			}
			owner.settle()
			owner.last()
			r.Judge()
			finish(t, r)
		})
	}
}

// tryEverything writes and presses whatever might cause something; ask and data
// are a message and a button that somebody else may press.
func (o outsiders) tryEverything(r *rig.Rig, ask, data string) {
	key := 0
	for _, c := range o.chats {
		for _, text := range []string{
			"long 1 %s", "/start %s", "/new %s", "/stop %s", "/approve %s", "/deny %s", "/status@rig_bot %s", "@rig_bot long 1 %s",
			"allow %s", "yes %s", "/agent demo %s", "/unheard %s", "/queue clear %s", "/retry %s", "/continue %s",
		} {
			key++
			name := fmt.Sprintf("s%d", key)
			c.Put(fmt.Sprintf(text, name), oracle.Said{Key: name})
		}
		for _, data := range forged(data) {
			c.Forge(ask, data)
		}
	}
	// A press on the owner's own message, by somebody else: clients can be forged.
	o.spying.Forge(ask, data)
	r.Until("everything is taken", func() bool { return o.idle() && o.spying.Idle() })
}

// rows counts what strangers must not add to.
func rows(r *rig.Rig) string {
	return strings.Join(r.Values(`SELECT (SELECT count(*) FROM turn) || ' turns ' || (SELECT count(*) FROM inbound) || ' messages '
|| (SELECT count(*) FROM session) || ' sessions ' || (SELECT count(*) FROM attempt) || ' attempts'`), "")
}

// wait returns the newest button that begins with verb, when there is one.
func wait(t *testing.T, r *rig.Rig, c *rig.Talk, verb string) (m rig.Message, b rig.Button) {
	t.Helper()
	r.Until("there is a button "+verb, func() (ok bool) {
		m, b, ok = c.Find(verb)
		return ok
	})
	return m, b
}

// forged are things that a changed client may press.
func forged(genuine string) []string {
	return []string{
		genuine, "ask:1:0", "ask:1:1", "ask:999:0", "ask:-1:0", "ask:1:0:0", "ask:1:ok", "stop:1", "cont:1", "retry:1", "drop:1",
		"run:1", "clear:1", "rm:1", "undo:1", "use:1", "aged:run:1", "aged:drop:1", "ws:0", "agent:demo", "model:x",
		"ask:1' OR 1=1--", "ask", ":", "ask:99999999999999999999:0", strings.Repeat("x", 64), "retry:1\n", "retry: 1", "RETRY:1",
	}
}

// TestForgedButtonsOfAPersonWithRightsDoNothing presses, as somebody who may
// talk, buttons that were never shown.
func TestForgedButtonsOfAPersonWithRightsDoNothing(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{"telegram", "feishu"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, on(platform, rig.Options{Owners: []int64{2001, 2002}}))
			r.Start()
			owner := &person{t: t, r: r, c: place(r, platform, 0), name: "o"}
			owner.last()
			owner.tell(r.Words().Ask)
			ask, button := wait(t, r, owner.c, "ask:")
			other := place(r, platform, 1)
			other.Say("/status")
			other.Await("Agent")
			target := ask.ID // right numbers, another chat
			if platform == "feishu" {
				target = other.Shown()[0].ID // the service itself says where a message is
			}
			turns := r.Count("SELECT count(*) FROM turn")
			for _, data := range forged(button.Data) {
				other.Forge(target, data)
			}
			r.Until("everything is taken", func() bool {
				return other.Idle() && (platform != "telegram" || r.Telegram.Pending(rig.Token) == 0) && r.Count("SELECT count(*) FROM inbound WHERE state = 'new'") == 0
			})
			if n := r.Count("SELECT count(*) FROM turn"); n != turns {
				t.Errorf("%d turns came of it", n-turns)
			}
			if got := r.Values("SELECT state FROM ask"); len(got) != 1 || got[0] != "open" {
				t.Errorf("the request is %v", got)
			}
			if n := r.Count("SELECT count(*) FROM session s JOIN conversation c ON c.session = s.id WHERE s.conversation <> c.id"); n != 0 {
				t.Errorf("%d conversations have the session of another", n)
			}
			owner.settle()
			r.Judge()
			finish(t, r)
		})
	}
}
