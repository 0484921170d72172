package router_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/router"
	"cligate/internal/worker"
)

// gesture is a sign that somebody puts on m.
func (h *house) gesture(m chat.Message, g chat.Gesture, change ...func(*chat.Message)) {
	h.t.Helper()
	h.say("", append([]func(*chat.Message){func(x *chat.Message) { x.Kind, x.Ref, x.Data = chat.KindGesture, m.Ref, string(g) }}, change...)...)
}

// takes has the agent take the words that it is given while it runs.
func (h *house) takes() (given func() []string) {
	var mu sync.Mutex
	var words []string
	h.agents.change(func(a *agents) { a.can = append(a.can, worker.Steer) })
	h.runner.steer = func(_ context.Context, _ int64, in chat.Input) error {
		mu.Lock()
		defer mu.Unlock()
		words = append(words, in.Text())
		return nil
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), words...)
	}
}

func TestAGestureGivesAWaitingMessageToTheRunningTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		given := h.takes()
		h.runner.holds("long")
		h.say("long")
		synctest.Wait()
		m := h.say("also this")
		synctest.Wait()
		h.gesture(m, chat.GestureNow)
		h.gesture(m, chat.GestureNow) // twice is harmless
		synctest.Wait()
		if got := given(); len(got) != 1 || got[0] != "also this" {
			t.Errorf("given %q", got)
		}
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d messages are left", n)
		}
	})
}

func TestAGestureTakesAWaitingMessageBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.runner.holds("long")
		h.say("long")
		synctest.Wait()
		m := h.say("not this")
		h.say("but this")
		synctest.Wait()
		h.gesture(m, chat.GestureRemove)
		synctest.Wait()
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		synctest.Wait()
		h.prompts("long", "but this")
	})
}

func TestGesturesOfOthersAndOnOtherMessagesMeanNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		given := h.takes()
		_, err := h.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Person: bob.ID, Role: chat.RoleMember, By: "test"})
		must(t, err)
		h.runner.holds("long")
		running := h.say("long")
		synctest.Wait()
		m := h.say("mine")
		synctest.Wait()
		before := len(h.voice.texts())
		h.gesture(m, chat.GestureNow, from(bob))
		h.gesture(m, chat.GestureRemove, from(bob))
		h.gesture(running, chat.GestureNow)
		h.gesture(running, chat.GestureRemove)
		h.gesture(chat.Message{Ref: chat.Ref{ID: "nobody's"}}, chat.GestureRemove)
		synctest.Wait()
		if len(given()) != 0 || len(h.voice.texts()) != before {
			t.Errorf("given %q, said %q", given(), h.voice.texts()[before:])
		}
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		synctest.Wait()
		h.prompts("long", "mine")
	})
}

func TestAnEditThatChangesNothingIsNoEdit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.runner.holds("see https://example.org")
		m := h.say("see https://example.org")
		synctest.Wait()
		edit := func(text string) {
			h.say(text, func(e *chat.Message) { e.Kind, e.Ref = chat.KindEdit, m.Ref })
			synctest.Wait()
		}
		edit("see https://example.org ") // a link preview came
		if n := len(h.voice.texts()); n != 0 {
			t.Errorf("said %q", h.voice.texts())
		}
		edit("see https://example.com")
		h.told("already being worked on")
		n := len(h.voice.texts())
		edit("see https://example.com") // its preview
		edit("see https://example.net") // told once
		if len(h.voice.texts()) != n {
			t.Errorf("said %q", h.voice.texts())
		}
	})
}

func TestAnEditOfARunningTurnCanBeGivenToIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		given := h.takes()
		h.runner.holds("say plum")
		m := h.say("say plum")
		synctest.Wait()
		for _, text := range []string{"say pear", "say apple"} {
			h.say(text, func(e *chat.Message) { e.Kind, e.Ref = chat.KindEdit, m.Ref })
			synctest.Wait()
		}
		h.click("edit:steer:")
		h.click("edit:steer:") // twice is once
		h.click("edit:again:") // and so is the other button of the question
		synctest.Wait()
		if got := given(); len(got) != 1 || !strings.HasSuffix(got[0], "now reads]\nsay apple") {
			t.Errorf("given %q", got)
		}
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		synctest.Wait()
		h.prompts("say plum")
	})
}

func TestAnEditOfARunningTurnCanBeRunAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.runner.holds("say plum")
		m := h.say("say plum")
		synctest.Wait()
		h.say("say pear", func(e *chat.Message) { e.Kind, e.Ref = chat.KindEdit, m.Ref })
		synctest.Wait()
		turn := h.runner.last().ID
		h.click("edit:again:", func(c *chat.Message) { c.Sender = chat.Person{ID: "9", Name: "Eve"} }) // a stranger
		h.click("edit:again:")
		synctest.Wait()
		h.prompts("say plum")
		h.runner.end(turn, chat.TurnSucceeded)
		synctest.Wait()
		h.prompts("say plum", "say pear")
		if got := h.runner.last(); got.Names != turn || got.Session != h.turn(turn).Session {
			t.Errorf("turn %+v", got)
		}
		for _, data := range []string{"edit:again:x:m1", "edit:again:999:m1", "edit:dance:1:m1", "edit:again:1:nobody", "edit:"} {
			h.press(m.Ref, data)
		}
		synctest.Wait()
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d messages are left", n)
		}
	})
}

func TestAnEditThatReplacesAFileReplacesItWhereverTheMessageIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(s *setup) { s.cfg.Burst = time.Second })
		file := func(id string, size int64) []chat.FileRef {
			return []chat.FileRef{{ID: id, Kind: chat.MediaPhoto, Size: size}}
		}
		files := func() (ids []string) {
			for _, p := range h.turn(h.runner.last().ID).Input.Pieces {
				for _, f := range p.Files {
					ids = append(ids, f.ID)
				}
			}
			return ids
		}
		edit := func(m chat.Message, text, id string, size int64) {
			h.say(text, func(e *chat.Message) { e.Kind, e.Ref, e.Files = chat.KindEdit, m.Ref, file(id, size) })
		}
		h.runner.holds("what is it?")
		m := h.say("what is it?", func(e *chat.Message) { e.Files = file("plum", 1) })
		edit(m, "what is it?", "pear", 2) // still waiting for companions
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := files(); !slices.Equal(got, []string{"pear"}) {
			t.Errorf("the turn has %q", got)
		}
		edit(m, "what is it?", "apple", 3)
		edit(m, "and this?", "apple", 3)
		synctest.Wait()
		h.click("edit:again:")
		synctest.Wait()
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		synctest.Wait()
		if got := files(); !slices.Equal(got, []string{"apple"}) {
			t.Errorf("run again, the turn has %q", got)
		}
		h.prompts("what is it?", "and this?")
	})
}

func TestAGroupMessageThatNamesTheBotAfterwardsIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say("fix it", func(e *chat.Message) { e.Kind, e.Place, e.Ref = chat.KindEdit, team, chat.Ref{ID: "77"} })
		h.say("not in a direct chat", func(e *chat.Message) { e.Kind, e.Ref = chat.KindEdit, chat.Ref{ID: "78"} })
		synctest.Wait()
		if ps := h.runner.prompts(); len(ps) != 1 || !strings.HasSuffix(ps[0], "fix it") {
			t.Errorf("prompts %q", ps)
		}
	})
}

func TestAnEditOfOldTalkStartsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		must(t, h.db.Places().SetRoom(t.Context(), "bot", team.Chat, chat.Room{Listen: chat.ListenAll}, "test"))
		h.say("the old talk", in(team), func(e *chat.Message) { e.Kind, e.Ref, e.Addressed = chat.KindEdit, chat.Ref{ID: "77"}, false })
		synctest.Wait()
		h.prompts()
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d messages are left", n)
		}
	})
}

func TestAnEditAfterAChangeOfSharingRunsNothingAgain(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]chat.MessageKind{"a message": chat.KindText, "an edit that was one": chat.KindEdit} {
		for _, first := range []chat.Sharing{chat.SharingShared, chat.SharingPerson} {
			t.Run(name+" "+string(first), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h := open(t, nil)
					share := func(s chat.Sharing) {
						must(t, h.db.Places().SetRoom(t.Context(), "bot", team.Chat, chat.Room{Sharing: s}, "test"))
					}
					share(first)
					h.say("fix it", in(team), func(m *chat.Message) { m.Kind, m.Ref = kind, chat.Ref{ID: "77"} })
					synctest.Wait()
					if first == chat.SharingShared {
						share(chat.SharingPerson)
					} else {
						share(chat.SharingShared)
					}
					h.say("fix it, please", in(team), func(m *chat.Message) { m.Kind, m.Ref = chat.KindEdit, chat.Ref{ID: "77"} })
					synctest.Wait()
					if ps := h.runner.prompts(); len(ps) != 1 {
						t.Errorf("prompts %q", ps)
					}
				})
			})
		}
	}
}

// fetcher prepares inputs as the inbox does.
type fetcher struct {
	mu    sync.Mutex
	turns []int64
	fail  error
}

func (f *fetcher) Prepare(_ context.Context, t chat.Turn, workspace, _ string) (chat.Input, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if workspace != "/w/main" {
		return chat.Input{}, chat.E(chat.Invalid, workspace, nil)
	}
	f.turns = append(f.turns, t.ID)
	in := t.Input
	in.Pieces = append([]chat.Piece(nil), in.Pieces...)
	for i := range in.Pieces {
		in.Pieces[i].Files = []chat.FileRef{{ID: "v", Kind: chat.MediaVoice, Heard: "spoken words"}}
	}
	return in, f.fail
}

var _ router.Incoming = (*fetcher)(nil)

func TestWhatWaitsIsFetchedMeanwhileAndGivenAsWords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{}
		h := open(t, func(s *setup) { s.incoming = f })
		given := h.takes()
		voice := func(m *chat.Message) { m.Files = []chat.FileRef{{ID: "v", Kind: chat.MediaVoice}} }
		h.runner.holds("long")
		h.say("long")
		synctest.Wait()
		if len(f.turns) != 0 {
			t.Error("a turn without files was looked at")
		}
		m := h.say("", voice)
		synctest.Wait()
		if len(f.turns) != 1 {
			t.Errorf("fetched for %v", f.turns)
		}
		h.gesture(m, chat.GestureNow)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := given(); len(got) != 1 || got[0] != "spoken words" {
			t.Errorf("given %q", got)
		}
	})
}
