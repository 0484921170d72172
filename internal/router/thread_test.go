package router_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
)

// sessionOf is the session in which a turn ran whose words contain text.
func (h *house) sessionOf(text string) int64 {
	h.t.Helper()
	h.runner.mu.Lock()
	defer h.runner.mu.Unlock()
	for _, t := range h.runner.ran {
		if strings.Contains(t.Input.Text(), text) {
			return t.Session
		}
	}
	h.t.Fatalf("%q did not run", text)
	return 0
}

func TestAReplyToAnEarlierSessionsMessageGoesOnWithThatOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		first := h.say("about apples")
		synctest.Wait()
		old := h.conv().Session
		h.say("/new")
		h.say("about pears")
		synctest.Wait()
		now := h.conv().Session
		if now == old {
			t.Fatal("no new session")
		}
		h.say("and these?", func(m *chat.Message) { m.Reply = first.Ref })
		h.say("and those?")
		synctest.Wait()
		h.prompts("about apples", "about pears", "and these?", "and those?")
		want := map[string]int64{"and these?": old, "and those?": now}
		for text, session := range want {
			if got := h.sessionOf(text); got != session {
				t.Errorf("%q ran in session %d, want %d", text, got, session)
			}
		}
		if h.conv().Session != now {
			t.Error("the current session was exchanged")
		}
	})
}

func TestAReplyRunsBesideTheCurrentSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		first := h.say("about apples")
		synctest.Wait()
		h.say("/new")
		h.runner.holds("about pears")
		h.say("about pears")
		synctest.Wait()
		h.say("and these?", func(m *chat.Message) { m.Reply = first.Ref })
		synctest.Wait()
		h.prompts("about apples", "about pears", "and these?")
	})
}

func TestAReplyAndWhatFollowsItBelongTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(s *setup) { s.cfg.Burst = 150 * time.Millisecond })
		first := h.say("about apples")
		time.Sleep(time.Second)
		old := h.conv().Session
		h.say("/new")
		h.say("to the new one")
		h.say("to the old one", func(m *chat.Message) { m.Reply = first.Ref })
		h.say("", func(m *chat.Message) {
			m.Quote, m.Source = "a forward", chat.Source{Kind: chat.SourceForward, Name: "Bob"}
		})
		time.Sleep(time.Second)
		synctest.Wait()
		ps := h.runner.prompts()
		if len(ps) != 3 || h.sessionOf("to the new one") == old || h.sessionOf("to the old one") != old {
			t.Fatalf("prompts %q", ps)
		}
		if !strings.Contains(strings.Join(ps, "|"), "to the old one\n\n[quoted text, forwarded from \"Bob\"]\n> a forward") {
			t.Errorf("prompts %q", ps)
		}
	})
}

func TestAReplyToALostSessionIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		first := h.say("about apples")
		synctest.Wait()
		old := h.conv().Session
		h.say("/new")
		h.say("about pears")
		synctest.Wait()
		now := h.conv().Session
		next, err := h.db.Sessions().Lose(t.Context(), old)
		must(t, err)
		h.say("and these?", func(m *chat.Message) { m.Reply = first.Ref })
		synctest.Wait()
		if got := h.sessionOf("and these?"); got != next.ID || got == old || got == now {
			t.Errorf("it ran in session %d; lost %d, its successor %d, current %d", got, old, next.ID, now)
		}
		h.heard("took its place")
	})
}

func TestOwnWordsAreRepeatedOnlyWhereTheAgentMayNotKnowThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		own := func(of chat.Message, quote string) func(*chat.Message) {
			return func(m *chat.Message) { m.Reply, m.Quote, m.Source = of.Ref, quote, chat.Source{Kind: chat.SourceOwn} }
		}
		first := h.say("one")
		synctest.Wait()
		h.say("two", own(first, "the last answer"))
		synctest.Wait()
		h.say("three", own(first, "an older answer"))
		synctest.Wait()
		h.say("four", own(chat.Message{Ref: chat.Ref{ID: "notice"}}, "a notice"))
		synctest.Wait()
		h.say("five", own(chat.Message{Ref: chat.Ref{ID: "notice"}}, "a piece"), func(m *chat.Message) { m.Source.Kind = chat.SourceOwnPart })
		synctest.Wait()
		ps := h.runner.prompts()
		if len(ps) != 5 || ps[1] != "two" || ps[3] != "four" {
			t.Fatalf("prompts %q", ps)
		}
		for i, words := range map[int]string{2: "an older answer", 4: "a piece"} {
			if !strings.Contains(ps[i], "an earlier message of yours") || !strings.Contains(ps[i], "> "+words) {
				t.Errorf("prompt %q", ps[i])
			}
		}
	})
}

func TestAnAnswerToSomebodyElseIsRepeatedForTheAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		_, err := h.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Chat: team.Chat, Person: bob.ID, Role: chat.RoleMember, By: "test"})
		must(t, err)
		must(t, h.db.Places().SetRoom(t.Context(), "bot", team.Chat, chat.Room{Sharing: chat.SharingPerson}, "test"))
		h.say("one", in(team))
		synctest.Wait()
		answer := chat.Ref{ID: fmt.Sprintf("b%d", h.voice.n)}
		h.say("/whoami", in(team))
		synctest.Wait()
		notice := chat.Ref{ID: fmt.Sprintf("b%d", h.voice.n)}
		reply := func(text string, to chat.Ref) {
			h.say(text, in(team), from(bob), func(m *chat.Message) {
				m.Reply, m.Quote, m.Source = to, "words of the bot", chat.Source{Kind: chat.SourceOwn}
			})
			synctest.Wait()
		}
		reply("is that so?", answer)
		reply("who is that?", notice)
		ps := h.runner.prompts()
		if len(ps) != 3 || !strings.Contains(ps[1], "> words of the bot") || strings.Contains(ps[2], "words of the bot") {
			t.Errorf("prompts %q", ps)
		}
	})
}

func TestContentThatNobodyReadsIsToldAndNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say("", func(m *chat.Message) { m.Unread = "story" })
		synctest.Wait()
		h.told("(story)")
		h.prompts()
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d messages are left", n)
		}
	})
}
