package turn_test

import (
	"context"
	"testing"
	"testing/synctest"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker/fake"
)

func planned() chat.Question {
	return chat.Question{
		Key: "p1", Kind: chat.AskPlan, Tool: "ExitPlanMode", Detail: "1. look\n2. leap",
		Options: []chat.Option{{ID: "go", Label: "Go", Effect: chat.EffectAllow}, {ID: "no", Label: "No", Effect: chat.EffectDeny}},
	}
}

// wish stores a mode as the /mode command does: for the session, and for the
// conversation.
func (h *house) wish(mode string) {
	h.t.Helper()
	if err := h.db.Sessions().Wish(h.t.Context(), h.session.ID, chat.SettingMode, mode); err != nil {
		h.t.Fatal(err)
	}
}

// modes are those stored for the session and for the conversation.
func (h *house) modes() [2]string {
	h.t.Helper()
	c, err := h.db.Sessions().ConversationByID(h.t.Context(), h.session.Conversation)
	if err != nil {
		h.t.Fatal(err)
	}
	return [2]string{h.current().Mode, c.Mode}
}

func TestModeThatAnAcceptedPlanLeadsToIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wish   string
		says   string // about the plan
		leads  string // the mode that the agent goes to
		change string // of the wish, while the turn runs
		want   [2]string
	}{
		"accepted":                         {"plan", "go", "default", "", [2]string{"default", "default"}},
		"accepted, and it goes on in plan": {"plan", "go", "plan", "", [2]string{"plan", "plan"}},
		"refused":                          {"plan", "no", "default", "", [2]string{"plan", "plan"}},
		"it would ask nobody then":         {"plan", "go", "bypassPermissions", "", [2]string{"plan", "plan"}},
		"a person has chosen meanwhile":    {"plan", "go", "default", "acceptEdits", [2]string{"acceptEdits", "acceptEdits"}},
		"nobody had chosen plan":           {"", "go", "default", "", [2]string{"default", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t, turn.Config{})
				h.wish(c.wish)
				h.agent.Script(fake.Mode("plan"), fake.Ask(planned()), fake.Mode(c.leads), fake.Wait(nil))
				ctx, stop := context.WithCancelCause(t.Context())
				tn, done := h.run(ctx, "make a plan")
				if err := h.decide(h.openAsks()[0].ID, c.says, ann); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if c.change != "" {
					h.wish(c.change)
				}
				stop(chat.E(chat.Stopped, "", nil))
				<-done
				h.wantState(tn, chat.TurnStopped, chat.Stopped)
				if got := h.modes(); got != c.want {
					t.Errorf("stored are %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestProcessIsOpenedInTheModeThatThePlanLedTo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.wish("plan")
		h.agent.Script(fake.Ask(planned()), fake.Mode("default"), fake.Text("done"))
		tn, done := h.run(t.Context(), "make a plan")
		if err := h.decide(h.openAsks()[0].ID, "go", ann); err != nil {
			t.Fatal(err)
		}
		<-done
		h.wantState(tn, chat.TurnSucceeded, "")
		h.mgr.Forget(h.session.ID)
		if tn, _ := h.say("hello"); tn.State != chat.TurnSucceeded {
			t.Fatalf("turn %+v", tn)
		}
		opens := h.agent.Opens()
		if got := opens[len(opens)-1].Mode; got != "default" {
			t.Errorf("opened again in mode %q", got)
		}
	})
}
