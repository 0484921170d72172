package system

import (
	"fmt"
	"strings"
	"testing"

	"cligate/internal/sim/oracle"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

const (
	stranger = 6666
	group    = -100500
	small    = -70
)

// TestPeopleWithoutRightsCauseNothing lets people who may nothing try
// everything, while somebody who may waits for an answer to a request.
func TestPeopleWithoutRightsCauseNothing(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Telegram.AddChat(stranger, telegram.Private, "Stranger")
	r.Telegram.AddChat(group, telegram.Supergroup, "Team")
	r.Telegram.AddChat(small, telegram.Group, "Few")
	r.Start()
	owner := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "o"}
	owner.last()
	owner.tell(r.Words().Ask)
	ask, button := wait(t, r, owner.c, "ask:")
	before := rows(r)
	processes := len(r.Processes())

	key := 0
	for _, c := range []*rig.Talk{r.Chat(stranger), r.ChatAs(group, stranger), r.ChatAs(small, stranger)} {
		for _, text := range []string{
			"long 1 %s", "/start %s", "/new %s", "/stop %s", "/approve %s", "/deny %s", "/status@rig_bot %s", "@rig_bot long 1 %s",
			"allow %s", "yes %s", "/agent demo %s", "/unheard %s", "/queue clear %s", "/retry %s", "/continue %s",
		} {
			key++
			name := fmt.Sprintf("s%d", key)
			c.Put(fmt.Sprintf(text, name), oracle.Said{Key: name})
		}
		for _, data := range forged(button.Data) {
			c.Forge(ask.ID, data)
		}
	}
	// A press on the owner's own message, by somebody else: clients can be forged.
	r.ChatAs(rig.Owner, stranger).Forge(ask.ID, button.Data)
	r.Until("everything is taken", func() bool { return r.Telegram.Pending(rig.Token) == 0 })

	if after := rows(r); after != before {
		t.Errorf("rows changed from %s to %s", before, after)
	}
	if n := len(r.Processes()); n > processes {
		t.Errorf("%d more processes", n-processes)
	}
	if got := r.Values("SELECT state FROM ask"); len(got) != 1 || got[0] != "open" {
		t.Errorf("the request is %v", got)
	}
	// Their id, and that their code of /start is wrong.
	if n := len(r.Telegram.Visible(rig.Token, stranger)); n > 2 {
		t.Errorf("the stranger was told %d things", n)
	}
	for _, g := range []int64{group, small} {
		if ms := r.Telegram.Visible(rig.Token, g); len(ms) > 0 {
			t.Errorf("the group %d was told %q", g, ms[0].Text)
		}
	}
	owner.settle()
	owner.last()
	r.Judge()
	finish(t, r)
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
	r := rig.New(t, rig.Options{Owners: []int64{rig.Owner, 1002}})
	r.Start()
	owner := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "o"}
	owner.last()
	owner.tell(r.Words().Ask)
	ask, button := wait(t, r, owner.c, "ask:")
	other := r.Chat(1002)
	other.Say("/status")
	other.Await("Agent")
	turns := r.Count("SELECT count(*) FROM turn")
	for _, data := range forged(button.Data) {
		other.Forge(ask.ID, data) // right numbers, another chat
	}
	r.Until("everything is taken", func() bool {
		return r.Telegram.Pending(rig.Token) == 0 && r.Count("SELECT count(*) FROM inbound WHERE state = 'new'") == 0
	})
	if n := r.Count("SELECT count(*) FROM turn"); n != turns {
		t.Errorf("%d turns came of it", n-turns)
	}
	if got := r.Values("SELECT state FROM ask"); len(got) != 1 || got[0] != "open" {
		t.Errorf("the request is %v", got)
	}
	owner.settle()
	r.Judge()
	finish(t, r)
}
