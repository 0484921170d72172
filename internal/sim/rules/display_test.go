package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// What people see of a turn, and what they can choose of it.

// calls are what the daemon asked of Telegram by one method in the owner's chat.
func (u user) calls(method string) (out []telegram.Call) {
	for _, c := range u.r.Telegram.Calls() {
		if c.Method == method && c.Chat == rig.Owner && c.OK {
			out = append(out, c)
		}
	}
	return out
}

func TestVerbosityIsChosenPerChatAndKept(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Env: []string{"CLIGATE_DISPLAY_VERBOSITY=1"}})
	edits := func() string {
		var all []string
		for _, m := range []string{"sendMessage", "editMessageText"} {
			for _, c := range u.calls(m) {
				all = append(all, c.Text)
			}
		}
		return strings.Join(all, "\n")
	}
	// The configured one: a line, and no text before the answer.
	u.Say("stream 30 100\nsay first answer")
	u.Await("first answer")
	u.r.Rest()
	if got := edits(); !strings.Contains(got, text("reply.doing")) || strings.Count(got, "first answer") != 1 {
		t.Errorf("one line was asked for:\n%s", got)
	}
	u.ask("/verbosity 0", text("command.verbosity_0"))
	posts := len(u.calls("sendMessage"))
	u.Say("stream 30 100\nsay second answer")
	u.Await("second answer")
	u.r.Rest()
	if n := len(u.calls("sendMessage")) - posts; n != 1 {
		t.Errorf("%d messages where only the answer was asked for", n)
	}
	u.r.Kill()
	u.r.Start()
	m := u.ask("/verbosity", text("command.verbosity_now", "level", "0"))
	if len(m.Buttons) != 4 {
		t.Errorf("buttons %+v", m.Buttons)
	}
	u.Press("verbosity:3")
	u.Await(text("command.verbosity_3"))
	u.Say("think carefully\nrun sleep 3\nsay third answer")
	u.Press("ask:", text("turn.allow"))
	u.r.Until("the log of the tools is folded", func() bool {
		return slices.ContainsFunc(append(u.calls("sendMessage"), u.calls("editMessageText")...), func(c telegram.Call) bool {
			return strings.Contains(c.Params["entities"], "expandable_blockquote") && strings.Contains(c.Text, text("reply.panel_tools"))
		})
	})
	u.Await("third answer")
	u.r.Rest()
	u.r.Judge()
}

func TestAnAnswerEndsWithItsFigures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  string
		want func(answer string) bool
	}{
		"all": {"", func(s string) bool {
			return strings.Contains(s, "sim-large · ") && strings.Contains(s, text("turn.footer.tokens", "in", "", "out", "")[:3])
		}},
		"some": {"CLIGATE_DISPLAY_FOOTER=time", func(s string) bool { return strings.HasSuffix(s, "\n\n<1s") }},
		"none": {"CLIGATE_DISPLAY_FOOTER=off", func(s string) bool { return s == "apple" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := rig.Options{}
			if c.env != "" {
				o.Env = []string{c.env}
			}
			u := house(t, o)
			if m := u.ask("say apple", "apple"); !c.want(m.Text) {
				t.Errorf("answered %q", m.Text)
			}
		})
	}
}

// reactions are what the messages of the owner's chat showed, in order.
func (u user) reactions() (out []string) {
	for _, c := range u.calls("setMessageReaction") {
		_, emoji, _ := strings.Cut(c.Params["reaction"], `"emoji":"`)
		emoji, _, _ = strings.Cut(emoji, `"`)
		out = append(out, c.Params["message_id"]+emoji)
	}
	return out
}

func TestAMessageShowsHowItsTurnStands(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.Say("say warm")
	u.Await("warm")
	u.r.Rest()
	before := len(u.reactions()) // a slow start may have been shown
	id := u.r.Telegram.Say(rig.Token, telegram.Say{Chat: rig.Owner, From: rig.Owner, Text: "stream 40 100\nsay long"})
	u.runs()
	second := u.r.Telegram.Say(rig.Token, telegram.Say{Chat: rig.Owner, From: rig.Owner, Text: "hang"})
	u.Await("long")
	u.r.Until("the second turn is shown to run", func() bool { return slices.Contains(u.reactions(), fmt.Sprint(second, "✍")) })
	u.Say("/stop")
	u.r.Until("it is shown to be stopped", func() bool { return slices.Contains(u.reactions(), fmt.Sprint(second, "🫡")) })
	u.r.Rest()
	of := func(id int64) (out []string) {
		for _, r := range u.reactions()[before:] {
			if emoji, ok := strings.CutPrefix(r, fmt.Sprint(id)); ok {
				out = append(out, emoji)
			}
		}
		return out
	}
	if got := of(id); !slices.Equal(got, []string{"✍", "👌"}) {
		t.Errorf("the first message showed %q", got)
	}
	if got := of(second); !slices.Equal(got, []string{"😴", "✍", "🫡"}) {
		t.Errorf("the second message showed %q", got)
	}
}

func TestWhatIsAnsweredAtOnceCostsOneCall(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.Say("say warm")
	u.Await("warm")
	u.r.Rest()
	before := len(u.r.Telegram.Calls())
	u.Say("say apple")
	u.Await("apple")
	u.r.Rest()
	for _, c := range u.r.Telegram.Calls()[before:] {
		if c.Chat == rig.Owner && c.Method != "sendMessage" && c.Method != "sendChatAction" {
			t.Errorf("also %s", c.Method)
		}
	}
}

func TestWhereReactionsAreNotAllowedWaitingIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env     []string
		forbid  bool
		refused int
	}{
		"by the chat":     {nil, true, 1},
		"by the operator": {[]string{"CLIGATE_DISPLAY_REACTIONS=false"}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := house(t, rig.Options{Env: c.env})
			if c.forbid {
				telegram.AllowReactions(u.r.Telegram, rig.Owner, "👍")
			}
			u.Say("stream 60 100\nsay long")
			u.runs()
			u.Say("say one")
			u.Await(text("router.queued", "n", 1))
			u.Say("say two")
			u.Await(text("router.queued", "n", 2))
			u.Await("long", "one", "two")
			u.r.Rest()
			tries := 0
			for _, call := range u.r.Telegram.Calls() {
				if call.Method == "setMessageReaction" {
					tries++
				}
			}
			// What was under way when the first was refused is refused, too; one a
			// message would be three or more.
			if tries < c.refused || tries > 2*c.refused {
				t.Errorf("%d tries to react", tries)
			}
			if !c.forbid { // the one try is an offence in the eyes of the judge
				u.r.Judge()
			}
		})
	}
}

func TestTheCommandForATerminalCanBeCopied(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.remember("plum")
	u.r.Rest()
	m := u.ask("/handoff", "claude")
	if len(m.Buttons) != 1 || m.Buttons[0].Data != "" {
		t.Errorf("buttons %+v", m.Buttons)
	}
	var line string
	u.r.Until("the call is in the journal", func() bool { // a moment after people see the message
		for _, c := range u.calls("sendMessage") {
			if _, after, ok := strings.Cut(c.Params["reply_markup"], `"copy_text":{"text":"`); ok {
				line, _, _ = strings.Cut(after, `"}`)
			}
		}
		return line != ""
	})
	if !strings.Contains(m.Text, strings.ReplaceAll(line, `\u0026`, "&")) {
		t.Errorf("%q is copied, %q is shown", line, m.Text)
	}
}
