package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/session"
	"cligate/internal/worker"
)

func TestSettingsAreStatedAtEveryOpening(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	s := b.session()
	set := func(k chat.Setting, v string, want chat.Applied) {
		t.Helper()
		got, err := b.Set(t.Context(), s.ID, k, v)
		if err != nil || got != want {
			t.Fatalf("set %s %s: %q, %v; want %q", k, v, got, err, want)
		}
	}
	set(chat.SettingModel, "small", chat.AppliedReopen) // nothing lives
	b.say(s, "remember the word plum")
	set(chat.SettingMode, "plan", chat.AppliedNow)
	b.Forget(s.ID)
	b.say(s, "hello")

	b.agent.Applies(chat.AppliedReopen, nil)
	b.acquire(s)
	set(chat.SettingModel, "large", chat.AppliedReopen)
	if now, _ := b.agent.Live(); now != 1 {
		t.Fatal("the running turn lost its worker")
	}
	b.Release(s.ID)
	if got := b.say(s, "what was the word?"); got != "the word was plum" {
		t.Errorf("got %q", got)
	}
	opens := b.wantOpens(3)
	for i, want := range []chat.Settings{{Model: "small"}, {Model: "small", Mode: "plan"}, {Model: "large", Mode: "plan"}} {
		if got := (chat.Settings{Model: opens[i].Model, Mode: opens[i].Mode}); got != want {
			t.Errorf("opening %d stated %+v, want %+v", i, got, want)
		}
	}

	// A worker that does not answer takes nothing away: the next one is told.
	for _, err := range []error{chat.E(chat.Crashed, "", nil), context.DeadlineExceeded} {
		b.agent.Applies("", err)
		b.say(s, "hello")
		set(chat.SettingModel, "tiny", chat.AppliedReopen)
		b.say(s, "hello")
		if n := len(b.agent.Opens()); b.agent.Opens()[n-1].Model != "tiny" || b.row(s).Model != "tiny" {
			t.Errorf("after %v the model is %q", err, b.agent.Opens()[n-1].Model)
		}
		b.agent.Applies(chat.AppliedReopen, nil)
		set(chat.SettingModel, "large", chat.AppliedReopen)
	}

	b.say(s, "hello")
	b.agent.Applies("", chat.E(chat.ModelUnknown, "huge", nil))
	_, err := b.Set(t.Context(), s.ID, chat.SettingModel, "huge")
	wantCode(t, err, chat.ModelUnknown)
	if m := b.row(s).Model; m != "large" {
		t.Errorf("a refused model was stored: %q", m)
	}
}

func TestAgentsOwnTurnKeepsItsWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		b := setup(t, session.Config{
			WorkerIdle: time.Minute,
			Uninvited: func(int64) func(context.Context) (worker.Host, func(error)) {
				return func(context.Context) (worker.Host, func(error)) {
					return &host{}, func(err error) { ended <- err }
				}
			},
		})
		s := b.session()
		b.say(s, "hello")
		in := b.agent.Opens()[0].Uninvited
		_, end := in(t.Context())
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, live := b.Live(s.ID); !live {
			t.Fatal("closed while the agent works")
		}
		end(nil)
		end(nil)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if _, live := b.Live(s.ID); live {
			t.Error("the worker lives on")
		}

		b.say(s, "hello")
		in = b.agent.Opens()[1].Uninvited
		in(t.Context())
		b.agent.Worker(s.ID).Kill()
		synctest.Wait()
		wantCode(t, <-ended, chat.Crashed) // the process is gone: so is its turn
	})
}
