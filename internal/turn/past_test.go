package turn_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker"
	"cligate/internal/worker/fake"
)

func TestAgentThatRepeatsItselfUnaskedIsNotHeardAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Text("The build is green."))
		_, outs := h.say("build")
		wantSaid(t, outs, "build is green")
		for _, again := range []string{"The build is green.", "the build is green", " The  build is green!\n"} {
			<-h.background(fake.Text(again))
			synctest.Wait()
			h.wantState(h.newest(), chat.TurnSucceeded, "")
			if outs := h.deliver(); len(outs) != 0 {
				t.Errorf("%q: said %q", again, texts(outs))
			}
		}
		<-h.background(fake.Text("The build is red."))
		synctest.Wait()
		wantSaid(t, h.deliver(), "build is red")
		<-h.background(fake.Text("The build is green."))
		synctest.Wait()
		wantSaid(t, h.deliver(), "build is green")
		// Who asks is answered, whatever was said before.
		h.agent.Script(fake.Text("The build is green."))
		_, outs = h.say("and now?")
		wantSaid(t, outs, "build is green")
	})
}

// used is a turn after which so many of a hundred tokens are in use.
func used(n int64) []fake.Step {
	return []fake.Step{fake.Text("done"), fake.Emit(chat.Event{Kind: chat.EventUsage, Usage: &chat.Usage{In: n, Window: 100, Used: n}})}
}

func TestNearlyFullContextIsToldOnceWithWhatCanBeDone(t *testing.T) {
	t.Parallel()
	for _, can := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := build(t, turn.Config{Can: func(_ string, a worker.Ability) bool { return can && a == worker.Compact }})
			session := h.current().ID
			for i, c := range []struct {
				used int64
				told bool
			}{{79, false}, {80, true}, {95, false}, {20, false}, {85, true}} {
				h.agent.Script(used(c.used)...)
				tn, outs := h.say("go on")
				all := texts(outs)
				if got := strings.Contains(all, "of the context is in use"); got != c.told {
					t.Errorf("turn %d, %d%%: said %q", i, c.used, all)
				}
				if got := slices.Contains(buttons(outs), "compact:"+itoa(tn.ID)); got != (c.told && can) {
					t.Errorf("turn %d offers %q", i, buttons(outs))
				}
				if c.told && (!strings.Contains(all, "/new") || strings.Contains(all, "/compact") != can) {
					t.Errorf("said %q", all)
				}
			}
			if now := h.current().ID; now != session {
				t.Errorf("session %d became %d", session, now)
			}
		})
	}
}
