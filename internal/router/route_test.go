package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/router"
)

// play runs a test with a house in a bubble where time is faked.
func play(t *testing.T, change func(*setup), f func(t *testing.T, h *house)) {
	t.Parallel()
	play2(t, change, f)
}

// play2 is play for tests that run it more than once.
func play2(t *testing.T, change func(*setup), f func(t *testing.T, h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, change)
		f(t, h)
		h.stop()
	})
}

func TestEndOfATurnIsNotTheEndOfItsSession(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("fails", "crashes", "stops")
		h.say("works")
		first := h.conv().Session
		h.say("fails")
		h.runner.end(h.runner.last().ID, chat.TurnFailed)
		h.say("crashes")
		h.runner.end(h.runner.last().ID, chat.TurnInterrupted)
		h.say("stops")
		h.say("/stop")
		time.Sleep(7 * 24 * time.Hour)
		h.say("continues")
		if got := h.conv().Session; got != first {
			t.Errorf("session %d became %d", first, got)
		}
		for _, q := range h.runner.ran {
			if q.Session != first {
				t.Errorf("turn %d ran in session %d", q.ID, q.Session)
			}
		}
		h.prompts("works", "fails", "crashes", "stops", "continues")
	})
}

func TestSessionIsKeptAcrossARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var first int64
	for n := range 3 {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, func(s *setup) { s.dir = dir; s.cfg.Agent = []string{"demo", "claude", "codex"}[n] })
			h.keys.Add(int64(100 * n))
			h.say("hello")
			if first == 0 {
				first = h.conv().Session
			}
			if c := h.conv(); c.Session != first || c.Agent != "demo" {
				t.Errorf("start %d: session %d, agent %s; want session %d of the agent it began with", n, c.Session, c.Agent, first)
			}
			h.stop()
		})
	}
}

func TestEightMessagesInTwoSecondsRunInOrder(t *testing.T) {
	for _, window := range []time.Duration{0, 150 * time.Millisecond} {
		t.Run(window.String(), func(t *testing.T) {
			play(t, func(s *setup) { s.cfg.Burst = window }, func(t *testing.T, h *house) {
				h.runner.holds("0")
				var want []string
				for i := range 8 {
					want = append(want, fmt.Sprint(i))
					h.receive(h.message(want[i]))
					time.Sleep(250 * time.Millisecond)
				}
				synctest.Wait()
				h.prompts("0")
				h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
				h.prompts(want...)
				if h.runner.clash {
					t.Error("two turns of one session ran at once")
				}
			})
		})
	}
}

func TestCommentAndForwardsBecomeOneTurn(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Burst = 150 * time.Millisecond }, func(t *testing.T, h *house) {
		h.receive(h.message("look at these"))
		for i := range 5 {
			time.Sleep(100 * time.Millisecond)
			h.receive(h.message("", func(m *chat.Message) { m.Quote = fmt.Sprintf("forward %d", i) }))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(h.runner.ran); n != 1 {
			t.Fatalf("%d turns: %q", n, h.runner.prompts())
		}
		pieces := h.runner.last().Input.Pieces
		if len(pieces) != 6 || pieces[0].Text != "look at these" || pieces[5].Quote != "forward 4" {
			t.Errorf("pieces = %+v", pieces)
		}
	})
}

func TestAlbumIsOneTurnInTheOrderOfSending(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		sent := time.Now()
		for _, at := range []int{0, 20, -10} { // they arrive out of order
			h.receive(h.message("", album("a"), func(m *chat.Message) {
				m.SentAt = sent.Add(time.Duration(at) * time.Millisecond)
				m.Files = []chat.FileRef{{ID: fmt.Sprint(at)}}
			}))
			time.Sleep(900 * time.Millisecond)
		}
		h.receive(h.message("and then?")) // nobody's message is dropped for being late
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(h.runner.ran); n != 2 {
			t.Fatalf("%d turns", n)
		}
		var order []string
		for _, p := range h.runner.ran[0].Input.Pieces {
			order = append(order, p.Files[0].ID)
		}
		if !slices.Equal(order, []string{"-10", "0", "20"}) {
			t.Errorf("files = %v", order)
		}
	})
}

func TestWindowOffMeansAtOnce(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		begin := time.Now()
		h.say("now")
		if d := time.Since(begin); d != 0 {
			t.Errorf("took %v", d)
		}
		h.prompts("now")
	})
}

func TestWorkerIsOpenedWhileTheMessageWaits(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Burst = time.Second }, func(t *testing.T, h *house) {
		h.say("first")
		time.Sleep(time.Minute)
		h.say("second")
		if len(h.workers.warmed) != 1 || h.workers.warmed[0] != h.conv().Session {
			t.Errorf("warmed %v", h.workers.warmed)
		}
		h.prompts("first")
	})
}

func TestCommandsDoNotWaitAndKeepTheOrder(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Burst = time.Hour }, func(t *testing.T, h *house) {
		h.say("in the first session")
		h.prompts()
		h.say("/new") // what was said before it runs before it
		h.prompts("in the first session")
		if first := h.runner.last().Session; first == h.conv().Session {
			t.Error("the message ran in the session that came after it")
		}
		h.say("never mind")
		h.say("/stop") // it is stopped, or has not even begun
		time.Sleep(time.Second)
		for _, q := range h.runner.ran[1:] {
			if s := h.turn(q.ID).State; s != chat.TurnSucceeded && s != chat.TurnStopped {
				t.Errorf("turn is %s", s)
			}
		}
	})
}

func TestMessagesOfOnePersonDoNotWaitForAnother(t *testing.T) {
	bob := chat.Person{ID: "2", Name: "Bob"}
	play(t, func(s *setup) { s.cfg.Burst = 150 * time.Millisecond }, func(t *testing.T, h *house) {
		_, err := h.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Chat: "g1", Person: "2", Role: chat.RoleMember, By: "1"})
		must(t, err)
		h.receive(h.message("from ann", in(team)), h.message("from bob", in(team), from(bob)))
		time.Sleep(time.Second)
		synctest.Wait()
		h.prompts("[message from Ann (id 1)]\nfrom ann", "[message from Bob (id 2)]\nfrom bob")
	})
}

func TestWhatLayAroundIsAnsweredInOrder(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Burst = 150 * time.Millisecond }, func(t *testing.T, h *house) {
		// Sent while the daemon was down, three seconds apart, read in one poll.
		h.receive(h.message("a", sentAgo(9*time.Second)), h.message("b", sentAgo(6*time.Second)), h.message("c", sentAgo(3*time.Second)))
		time.Sleep(time.Second)
		synctest.Wait()
		h.prompts("a", "b", "c")
	})
}

func TestStartFindsWhatACrashLeftBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(s *setup) { s.dir, s.idle = dir, true })
		h.receive(h.message("left behind"), h.message("/new then this"))
		h.stop()
	})
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(s *setup) { s.dir = dir })
		synctest.Wait()
		h.prompts("left behind", "then this")
		h.stop()
	})
}

func TestQueuedTurnsRunAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(s *setup) { s.dir = dir })
		h.runner.holds("one")
		h.say("one")
		h.say("two")
		h.say("three")
		h.stop() // drains with limit 0
		h.prompts("one")
	})
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(s *setup) { s.dir = dir })
		synctest.Wait()
		h.prompts("two", "three")
		h.stop()
	})
}

func TestOldMessagesAreAskedAboutOnce(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.receive(h.message("minute", sentAgo(time.Minute)), h.message("day 1", sentAgo(20*time.Hour)),
			h.message("day 2", sentAgo(19*time.Hour)), h.message("hour", sentAgo(time.Hour)))
		h.receive(h.message("day 3", sentAgo(18*time.Hour)))
		synctest.Wait()
		h.prompts("minute", "hour")
		asked := 0
		for _, x := range h.voice.texts() {
			if strings.Contains(x, "older than 6 h") {
				asked++
			}
		}
		if asked != 1 {
			t.Fatalf("asked %d times: %q", asked, h.voice.texts())
		}
		h.click("aged:run")
		h.prompts("minute", "hour", "day 1", "day 2", "day 3")
		h.click("aged:run") // nothing is left: nothing runs twice
		h.prompts("minute", "hour", "day 1", "day 2", "day 3")
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d messages have no end", n)
		}
	})
}

func TestOldMessagesCanBeDropped(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("old", sentAgo(20*time.Hour))
		h.click("aged:drop")
		h.told("1 older message")
		h.prompts()
		h.say("new")
		h.prompts("new")
	})
}

func TestOldCommandsAreNotCarriedOutUnasked(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		before := h.conv().Session
		h.say("/new", sentAgo(20*time.Hour))
		if h.conv().Session != before {
			t.Error("a day-old /new replaced the session")
		}
		h.click("aged:run")
		if h.conv().Session == before {
			t.Error("it was not carried out when asked for")
		}
	})
}

func TestWhatAnOldCommandSaysIsHeard(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/whoami", sentAgo(20*time.Hour))
		h.click("aged:run")
		h.heard(owner.ID, "Ann")
	})
}

func TestAgeIsNeverComparedWithTheStart(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Age = time.Minute }, func(t *testing.T, h *house) {
		time.Sleep(time.Hour) // the daemon has been up for long
		h.say("slow network", sentAgo(50*time.Second))
		h.prompts("slow network")
		h.say("too old", sentAgo(61*time.Second))
		h.prompts("slow network")
	})
}

func TestSomebodyElsesOldMessagesAreNotTheirs(t *testing.T) {
	bob := chat.Person{ID: "2", Name: "Bob"}
	play(t, nil, func(t *testing.T, h *house) {
		_, err := h.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Chat: "g1", Person: "2", Role: chat.RoleMember, By: "1"})
		must(t, err)
		h.say("old", in(team), sentAgo(20*time.Hour))
		h.refused(h.click("aged:run", in(team), from(bob)), "somebody else")
		h.prompts()
		h.click("aged:run", in(team))
		h.prompts("[message from Ann (id 1)]\nold")
	})
}

func TestUnknownCommandStartsNothing(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/stauts")
		h.told("/stauts", "/status")
		h.say("/frobnicate the thing")
		h.told("no command /frobnicate")
		h.prompts()
		h.say("/etc/passwd is a file") // a path is no command
		h.prompts("/etc/passwd is a file")
	})
}

func TestCommandsOfTheAgentGoToIt(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/compact now")
		h.prompts("/compact now")
	})
}

func TestQuotedTextIsNeverACommand(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		before := h.conv().Session
		h.say("", func(m *chat.Message) { m.Quote = "/new" })
		if h.conv().Session != before {
			t.Error("a forwarded command was carried out")
		}
		if !strings.Contains(h.runner.prompts()[1], "[quoted text]") {
			t.Errorf("prompt = %q", h.runner.prompts()[1])
		}
	})
}

func TestViewersReadStatusOnly(t *testing.T) {
	eve := chat.Person{ID: "3", Name: "Eve"}
	play(t, nil, func(t *testing.T, h *house) {
		_, err := h.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Chat: "g1", Person: "3", Role: chat.RoleViewer, By: "1"})
		must(t, err)
		for _, x := range []string{"do it", "/new", "/stop", "/approve", "/compact", "/agent claude"} {
			h.say(x, in(team), from(eve))
			h.told("not allowed")
		}
		h.say("/status", in(team), from(eve))
		h.told("Agent: Demo")
		h.prompts()
	})
}

func TestOneMessageThatCannotBeRoutedDoesNotStopTheOthers(t *testing.T) {
	play(t, func(s *setup) {
		s.inbox = func(i router.Inbox) router.Inbox { return &trap{Inbox: i, poison: "poison"} }
	}, func(t *testing.T, h *house) {
		other := chat.Place{Platform: "test", Account: "bot", Chat: "c2", Direct: true}
		ms := []chat.Message{h.message("before"), h.message("poison", func(m *chat.Message) { m.Kind = chat.KindEdit })}
		for range 600 { // more than are looked at together
			ms = append(ms, h.message("x", func(m *chat.Message) { m.Kind = chat.KindRecall }))
		}
		h.receive(append(ms, h.message("behind"))...)
		h.receive(h.message("elsewhere", in(other)))
		synctest.Wait()
		h.prompts("before") // order is kept
		time.Sleep(time.Minute)
		got := h.runner.prompts()
		slices.Sort(got) // the two conversations do not wait for each other
		if !slices.Equal(got, []string{"before", "behind", "elsewhere"}) {
			t.Errorf("prompts %q", got)
		}
		if !strings.Contains(strings.Join(h.voice.texts(), "\n"), "Something went wrong inside CliGate (id m2)") {
			t.Errorf("the author was not told: %q", h.voice.texts())
		}
	})
}

func TestMessageWithNothingToReadIsNotPassedOn(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		for _, text := range []string{"  \n\t", "\u200b", "\u2028\u2029\u0085", "\ufeff\u2060\u00ad", "\u3164\u2800", "\ufe0f\u200d"} {
			said := len(h.voice.texts())
			h.say(text)
			if len(h.voice.texts()) > said {
				h.told("nothing to read")
			}
		}
		h.told("nothing to read")
		h.say("", func(m *chat.Message) { m.Files = []chat.FileRef{{ID: "f", Name: "a.png"}} })
		h.say("\u200b", func(m *chat.Message) { m.Quote = "forwarded" })
		h.say("🙂\ufe0f")
		if n := len(h.runner.prompts()); n != 3 {
			t.Errorf("prompts %q", h.runner.prompts())
		}
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d messages without an end", n)
		}
	})
}
