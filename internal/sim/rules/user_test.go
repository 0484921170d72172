package rules

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cligate/internal/i18n"
	"cligate/internal/sim/claude"
	"cligate/internal/sim/rig"
	"cligate/internal/web/client"
)

// user is somebody who talks with the daemon through one chat.
type user struct {
	*rig.Talk
	t *testing.T
	r *rig.Rig
}

// house starts a daemon and returns its owner in a chat: of Telegram, or, where
// there is no Telegram, of Feishu or of the web chat.
func house(t *testing.T, o rig.Options) user {
	t.Helper()
	r := rig.New(t, o)
	r.Start()
	switch {
	case o.NoTelegram && o.Feishu != "":
		return user{r.FeishuChat(rig.Owner), t, r}
	case o.NoTelegram:
		return user{r.WebChat("room"), t, r}
	}
	return user{r.Chat(rig.Owner), t, r}
}

// in is the same person in another chat.
func (u user) in(c *rig.Talk) user { return user{c, u.t, u.r} }

// known are the messages that the chat shows now.
func (u user) known() map[string]bool {
	ids := map[string]bool{}
	for _, m := range u.Shown() {
		ids[m.ID] = true
	}
	return ids
}

// news waits for a message that is not among known and shows want, letters of
// either case.
func (u user) news(known map[string]bool, want string) (found rig.Message) {
	u.t.Helper()
	want = strings.ToLower(want)
	ok := u.r.Within(rig.Limit, func() bool {
		for _, m := range u.Shown() {
			if !known[m.ID] && strings.Contains(strings.ToLower(strings.ReplaceAll(m.Text, "**", "")), want) {
				found = m
				return true
			}
		}
		return false
	})
	if !ok {
		u.t.Fatalf("chat %s shows no new %q but\n%s\n%s", u.Chat, want, u.Text(), u.r.Tail())
	}
	return found
}

// ask says something and waits for a new message that shows want.
func (u user) ask(text, want string) rig.Message {
	u.t.Helper()
	known := u.known()
	u.Say(text)
	return u.news(known, want)
}

// remember and recall are a conversation that only a session with its context
// can hold.
func (u user) remember(word string) {
	u.t.Helper()
	u.ask("remember the word "+word, word)
}

func (u user) recall(word string) {
	u.t.Helper()
	u.ask("what was the word?", "the word was "+word)
}

// forgot checks that the session knows no word.
func (u user) forgot() {
	u.t.Helper()
	want := "the word was nothing"
	if u.status().agent == titles[rig.Demo] {
		want = text("demo.forgot")[:40]
	}
	u.ask("what was the word?", want)
}

// status is what /status tells about the session.
type status struct {
	agent   string
	model   string
	session int
	native  string // the agent's own id
	live    bool   // its process runs
	text    string
}

func (u user) status() status {
	u.t.Helper()
	m := u.ask("/status", strings.Split(text("command.status_workspace"), "{")[0])
	s := status{text: m.Text}
	head := find(m.Text, "command.status_agent", "agent", `(.+)`, "model", `(.+)`)
	if head == nil {
		u.t.Fatalf("no agent in %q", m.Text)
	}
	s.agent, s.model = head[1], head[2]
	if line := find(m.Text, "command.status_session", "session", `(\d+)`, "native", `(.+?)`, "worker", `(.+)`); line != nil {
		s.session, _ = strconv.Atoi(line[1])
		s.native, s.live = line[2], line[3] == text("command.status_live")
	}
	return s
}

// titles are the agents' names for people.
var titles = map[string]string{rig.Claude: "Claude Code", rig.Demo: "Demo agent"}

// text is a text of the catalogue in the language of these chats.
func text(key string, args ...any) string { return i18n.T("en", key, args...) }

// find matches a text of the catalogue in which every placeholder stands for a
// pattern; nil when it is not there.
func find(in, key string, args ...any) []string {
	form := regexp.QuoteMeta(text(key))
	for i := 0; i+1 < len(args); i += 2 {
		form = strings.ReplaceAll(form, regexp.QuoteMeta("{"+args[i].(string)+"}"), args[i+1].(string))
	}
	return regexp.MustCompile(`(?m)` + form + `$`).FindStringSubmatch(in)
}

// kept checks that the session is the one from before, also for the agent, and
// that it still has its context.
func (u user) kept(before status, word string) {
	u.t.Helper()
	u.recall(word)
	if now := u.status(); now.session != before.session || now.native != before.native {
		u.t.Errorf("session %d (%s) became %d (%s)", before.session, before.native, now.session, now.native)
	}
}

// runs waits until a turn of the chat runs and its agent has the prompt.
func (u user) runs() {
	u.t.Helper()
	u.r.Until("a turn runs", func() bool {
		return u.r.Count("SELECT count(*) FROM attempt a JOIN turn t ON t.id = a.turn WHERE a.state = 'sent' AND t.state = 'running'") > 0
	})
}

// agents are the processes of coding agents that live at the same time: while
// a list is read one may end and the next begin, so all are looked at again.
func (u user) agents() []int {
	u.t.Helper()
	gone := func(pid int) bool {
		line := cmdline(pid)
		return !strings.Contains(line, "demo-agent") && !strings.Contains(line, "--input-format")
	}
	return slices.DeleteFunc(slices.DeleteFunc(u.r.Processes(), gone), gone)
}

// process is the one process of an agent. Right after the start there may be
// another for a moment: the daemon asks each agent what it can do.
func (u user) process() (pid int) {
	u.t.Helper()
	u.r.Until("one agent runs", func() bool {
		pids := u.agents()
		if len(pids) == 1 {
			pid = pids[0]
		}
		return len(pids) == 1
	})
	return pid
}

// murder kills the agents' processes as the kernel does when memory is short.
func (u user) murder() {
	u.t.Helper()
	pids := u.agents()
	if len(pids) == 0 {
		u.t.Fatalf("no agent runs\n%s", u.r.Tail())
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			u.t.Fatal(err)
		}
	}
}

// asleep kills the agents and waits until the daemon has noticed.
func (u user) asleep() {
	u.t.Helper()
	u.murder()
	c := client.New(u.r.Socket(), "en")
	defer c.Close()
	u.r.Until("the end of the process is noticed", func() bool {
		s, err := c.Status(u.t.Context())
		return err == nil && s.Workers == 0
	})
}

// journal is what the stand-in of Claude Code wrote down, of these kinds.
func (u user) journal(kinds ...string) (out []claude.Entry) {
	u.t.Helper()
	all, err := claude.Journal(filepath.Join(u.r.Home(), ".claude"))
	if err != nil {
		u.t.Fatal(err)
	}
	for _, e := range all {
		for _, k := range kinds {
			if e.Kind == k {
				out = append(out, e)
			}
		}
	}
	return out
}

// prompts are the texts that agents were given.
func (u user) prompts() (out []string) {
	u.t.Helper()
	for _, p := range u.r.World().Prompts {
		out = append(out, p.Text)
	}
	return out
}
