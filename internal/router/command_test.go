package router_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/router"
)

func TestEveryCommandWorksWithoutALiveProcessAndWithoutASession(t *testing.T) {
	for _, used := range []bool{false, true} {
		t.Run(fmt.Sprintf("session %v", used), func(t *testing.T) {
			play(t, nil, func(t *testing.T, h *house) {
				if used {
					h.say("hello")
				}
				for _, x := range []string{
					"/new", "/stop", "/status", "/queue", "/queue run", "/queue clear", "/queue what", "/cancel", "/cancel 77", "/cancel x", "/sessions",
					"/sessions 9", "/use", "/use 77", "/use x", "/undo", "/retry", "/continue", "/agent", "/agent nope", "/agent ../x", "/model", "/model large",
					"/workspace", "/workspace nope", "/workspace ../..", "/whoami", "/help", "/start", "/approve", "/approve 3", "/deny", "/deny because",
					"/START", "/Help", "/agents", "/agent claude recap", "/agent claude now", "/mode", "/mode plan", "/effort", "/effort high", "/verbosity", "/verbosity 3", "/verbosity 9", "/plan", "/plan the work", "/compact", "/steer", "/steer left", "/instead", "/instead left", "/rules", "/rules remove 3", "/rules x", "/handoff", "/take", "/take abcdef", "/now 5", "/recap", "/renew", "/renew 1", "/drop", "/run", "/clear",
				} {
					before := len(h.voice.texts())
					h.say(x)
					if len(h.voice.texts()) == before {
						t.Errorf("%s: nothing was said", x)
					}
				}
				for _, x := range h.voice.texts() {
					if strings.Contains(x, "went wrong") || strings.Contains(x, "command.") || strings.Contains(x, "router.") || strings.Contains(x, "{") {
						t.Errorf("said %q", x)
					}
				}
				if n := h.unrouted(); n != 0 {
					t.Errorf("%d messages without an end", n)
				}
			})
		})
	}
}

func TestNewReplacesAndUndoReturns(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("the word is plum")
		first := h.conv().Session
		h.say("/new what was the word?")
		second := h.conv().Session
		h.prompts("the word is plum", "what was the word?")
		if second == first || h.runner.last().Session != second {
			t.Fatalf("sessions %d, %d; the turn ran in %d", first, second, h.runner.last().Session)
		}
		h.click("undo:")
		if got := h.conv().Session; got != first {
			t.Errorf("undo led to session %d, want %d", got, first)
		}
		h.say("/undo") // of the undo
		if got := h.conv().Session; got != second {
			t.Errorf("undo led to session %d, want %d", got, second)
		}
		h.say("/sessions")
		h.told("Sessions: 2", fmt.Sprintf("#%d", first), "plum", "current")
		h.say(fmt.Sprintf("/use %d", first))
		h.say("and again?")
		if h.runner.last().Session != first {
			t.Error("the session was not used")
		}
	})
}

func TestWhatIsNotUnderstoodIsAnsweredWithTheUseOfItsCommand(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/use abc")
		h.told("not understood: abc\n", "/use 12")
		h.say("/rules now")
		h.told("not understood: now\n", "/rules remove 3")
		h.say("/mode a\u202eb\x1b[31m")
		h.told("not understood: ab[31m\n", "/mode – ")
		h.say("/take ../x")
		h.say("/renew x") // has no help: the sentence alone
		h.told("not understood: x")
	})
}

func TestUnusedSessionIsNotReplaced(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		h.say("/new")
		second := h.conv().Session
		h.say("/new")
		h.say("/new")
		if got := h.conv().Session; got != second {
			t.Errorf("an empty session %d was replaced by %d", second, got)
		}
	})
}

func TestChangeOfAgentOrWorkspaceReplacesTheSession(t *testing.T) {
	for _, c := range []struct{ text, told string }{
		{"/agent claude", "Agent: Claude"}, {"/workspace shop", "Workspace: shop"}, {"/workspace 2", "Workspace: shop"},
	} {
		t.Run(c.text, func(t *testing.T) {
			play(t, nil, func(t *testing.T, h *house) {
				h.say("hello")
				old := h.conv()
				h.say(c.text)
				h.told(c.told, "New session")
				now := h.conv()
				if now.Session == old.Session {
					t.Fatal("the session was kept")
				}
				h.say(c.text)
				h.told("already")
				h.say("over there")
				s, err := h.db.Sessions().SessionByID(t.Context(), h.runner.last().Session)
				must(t, err)
				if s.Agent != now.Agent || s.Workspace != now.Workspace || s.ID != now.Session {
					t.Errorf("the turn ran in %+v", s)
				}
				h.say("/undo")
				if got := h.conv(); got.Session != old.Session || got.Agent != old.Agent || got.Workspace != old.Workspace {
					t.Errorf("undo led to %+v, want %+v", got, old)
				}
				h.say(c.text) // the same change again finds the same session again
				h.told(c.told, fmt.Sprintf("Now in session #%d", now.Session))
				if got := h.conv(); got.Session != now.Session {
					t.Errorf("the change led to %+v, want %+v", got, now)
				}
				h.click("undo:")
				if got := h.conv(); got.Session != old.Session {
					t.Errorf("undo led to %+v, want %+v", got, old)
				}
			})
		})
	}
}

func TestAgentIsChosenByButtonAndItsModelIsNotCarriedOver(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/model large")
		h.say("/agent")
		h.told("Demo (demo) · current", "log in first")
		h.click("agent:claude")
		if c := h.conv(); c.Agent != "claude" || c.Model != "" {
			t.Errorf("conversation = %+v", c)
		}
		h.say("hello")
		h.say("/model opus")
		h.say("/agent demo")
		h.say("hello again")
		h.say("/undo")
		if c := h.conv(); c.Agent != "claude" || c.Model == "large" {
			t.Errorf("conversation = %+v", c)
		}
		h.say("/undo")
		if c := h.conv(); c.Agent != "demo" || c.Model == "opus" {
			t.Errorf("the other agent's model stayed: %+v", c)
		}
		h.say("/agent codex")
		h.told("not ready: log in first")
		h.say("/agent cloude")
		h.told("There is no agent cloude", "Did you mean claude?")
	})
}

func TestModelIsChangedInTheLivingSession(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		session := h.conv().Session
		h.workers.change(func(w *workers) { w.applied = chat.AppliedNow })
		h.say("/model large")
		h.told("Model: large, from now on")
		if c := h.conv(); c.Model != "large" || c.Session != session {
			t.Errorf("conversation = %+v", c)
		}
		h.workers.change(func(w *workers) { w.applied = chat.AppliedReopen })
		h.say("/model small")
		h.told("keeps its context")
		h.say("/model default")
		if c := h.conv(); c.Model != "" {
			t.Errorf("conversation = %+v", c)
		}
		h.say("/model largo") // nobody has been asked yet
		h.told("Model: largo", "shows when it runs next", "Did you mean large?")
		h.say("/model default")
		h.workers.setErr = chat.E(chat.ModelUnknown, "", nil)
		h.say("/model lrage")
		h.told("no model lrage", "large")
		if c := h.conv(); c.Model != "" || c.Session != session {
			t.Errorf("a refused model changed %+v", c)
		}
		h.workers.setErr = chat.E(chat.Unsupported, "", nil)
		h.say("/model large")
		h.told("cannot change the model", "New session")
		if c := h.conv(); c.Model != "large" || c.Session == session {
			t.Errorf("conversation = %+v", c)
		}
		h.workers.change(func(w *workers) { w.setErr = errors.New("the ledger cannot be written") })
		said := len(h.voice.texts())
		h.say("/model small")
		if c := h.conv(); c.Model != "large" || len(h.voice.texts()) > said {
			t.Errorf("a model that is not stored yet is claimed: %+v", c)
		}
		h.workers.change(func(w *workers) { w.setErr, w.applied = nil, chat.AppliedReopen })
		h.settleDown()
		h.told("Model: small")
		for _, bad := range []string{"-x", "a b", "../x", "x;y", strings.Repeat("x", 200), "$(x)", "ü"} {
			h.say("/model " + bad)
			h.told("not understood")
		}
	})
}

func TestSessionsAreShownInPages(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		for i := range 25 {
			h.say(fmt.Sprintf("/new talk %d", i))
		}
		h.say("/sessions")
		h.told("Sessions: 25", "talk 24", "talk 15", "Page 1 of 3")
		h.say("/sessions 3")
		h.told("talk 4", "talk 0")
		h.click("use:")
		h.told("Now in session")
	})
}

// A daemon that dies between the effect of a message and its end repeats it.
func TestCommandsCarriedOutTwiceHaveTheEffectOfOnce(t *testing.T) {
	type world struct {
		conv     chat.Conversation
		sessions int
		prompts  []string
	}
	run := func(t *testing.T, die int64, do func(h *house, crash func())) (w world) {
		t.Helper()
		var tr *trap
		play2(t, func(s *setup) {
			s.inbox = func(i router.Inbox) router.Inbox { tr = &trap{Inbox: i}; return tr }
		}, func(t *testing.T, h *house) {
			do(h, func() {
				tr.fails.Store(die)
			})
			h.settleDown()
			all, err := h.db.Sessions().Sessions(t.Context(), h.conv().ID)
			must(t, err)
			w = world{h.conv(), len(all), h.runner.prompts()}
			if n := h.unrouted(); n != 0 {
				t.Errorf("%d messages without an end", n)
			}
		})
		return w
	}
	for _, x := range []string{
		"/new", "/new with this", "/undo", "/use 1", "/agent claude", "/workspace shop", "/model small", "/retry", "/stop", "/queue clear", "/queue run",
		"/cancel 3", "plain words", "/compact", "/nope",
	} {
		t.Run(x, func(t *testing.T) {
			t.Parallel()
			do := func(h *house, crash func()) {
				h.say("one")
				h.say("/new")
				h.say("two")
				h.settleDown()
				crash()
				h.say(x)
				h.settleDown()
				h.say("three")
			}
			want := run(t, 0, do)
			for n := range int64(2) {
				got := run(t, n+1, do)
				if got.conv != want.conv || got.sessions != want.sessions || !slices.Equal(got.prompts, want.prompts) {
					t.Errorf("with %d crashes %+v, without %+v", n+1, got, want)
				}
			}
		})
	}
}

func TestHelpListsWhatOneMayDo(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/help")
		h.told("/new", "/stop", "/workspace", "Commands of Demo", "/review")
		h.say("/帮助") // no command: it is text
		h.prompts("/帮助")
		h.say("/help", func(m *chat.Message) { m.Sender.Lang = "zh-hans" })
		h.told("你可以在这里")
		h.say("/whoami")
		h.told("id 1", "owner")
	})
}

func TestAChatChoosesTheFormOfItsAnswers(t *testing.T) {
	usual := func(s *setup) {
		s.cfg.Commands.Rich = func(account string) chat.Choice { return map[string]chat.Choice{"bot": chat.ChoiceOff}[account] }
	}
	play(t, usual, func(t *testing.T, h *house) {
		h.say("/rich")
		h.told("plain messages", "Above is a sample")
		h.heard("| File | Lines |") // the sample goes ahead
		h.say("/rich on")
		h.told("shown as documents", "Above is a sample")
		if c := h.conv(); c.Rich != chat.ChoiceOn {
			t.Errorf("rich is %q", c.Rich)
		}
		h.press(chat.Ref{}, "rich:off")
		if c := h.conv(); c.Rich != chat.ChoiceOff {
			t.Errorf("rich is %q after Off", c.Rich)
		}
		h.say("/rich maybe")
		h.told("/rich –")
		h.say("/rich default")
		if c := h.conv(); c.Rich != "" {
			t.Errorf("rich is %q after default", c.Rich)
		}
	})
}

func TestAServiceWithOneFormSaysSo(t *testing.T) {
	play(t, nil, func(_ *testing.T, h *house) {
		h.say("/rich on")
		h.told("one form of answers only")
	})
}
