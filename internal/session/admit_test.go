package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/session"
)

func TestAgentThatWouldActUnaskedIsNotOpened(t *testing.T) {
	t.Parallel()
	never := func(context.Context, string) (bool, error) { return false, nil }
	for name, c := range map[string]struct {
		agents session.Agents
		mode   string
		want   chat.Code
	}{
		"it asks":                            {session.Agents{Asks: func(context.Context, string) (bool, error) { return true, nil }}, "", chat.CodeNone},
		"it never asks":                      {session.Agents{Asks: never}, "", chat.Unasked},
		"it never asks, which is allowed":    {session.Agents{Asks: never, Unattended: map[string]bool{"fake": true}}, "", chat.CodeNone},
		"nobody knows":                       {session.Agents{Asks: func(context.Context, string) (bool, error) { return true, errors.New("no probe") }}, "", chat.Internal},
		"a mode without asking":              {session.Agents{}, "yolo", chat.Unasked},
		"a mode without asking, allowed":     {session.Agents{Unattended: map[string]bool{"fake": true}}, "yolo", chat.CodeNone},
		"the configured mode, not allowed":   {session.Agents{Defaults: map[string]chat.Settings{"fake": {Mode: "yolo"}}}, "", chat.Unasked},
		"the configured mode, not wished":    {session.Agents{Defaults: map[string]chat.Settings{"fake": {Mode: "yolo"}}}, "plan", chat.CodeNone},
		"another agent's permission is none": {session.Agents{Unattended: map[string]bool{"other": true}}, "yolo", chat.Unasked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, session.Config{Agents: c.agents})
			s := b.session()
			if err := b.db.Sessions().Wish(t.Context(), s.ID, chat.SettingMode, c.mode); err != nil {
				t.Fatal(err)
			}
			_, err := b.Acquire(t.Context(), s)
			if got := chat.CodeOf(err); got != c.want {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if now, _ := b.agent.Live(); err != nil && now != 0 {
				t.Error("its process lives")
			}
			if err == nil {
				b.Release(s.ID)
			}
		})
	}
}

func TestModeWithoutAskingIsNotSetUnlessAllowed(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	s := b.session()
	b.say(s, "hello")
	_, err := b.Set(t.Context(), s.ID, chat.SettingMode, "bypassPermissions")
	wantCode(t, err, chat.Unasked)
	if m := b.row(s).Mode; m != "" {
		t.Errorf("stored: %q", m)
	}
}

func TestConfiguredSettingsAreTheDefaultOfEverySession(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{Agents: session.Agents{
		Defaults: map[string]chat.Settings{"fake": {Model: "small", Effort: "low"}},
	}})
	s := b.session()
	b.say(s, "hello")
	if _, err := b.Set(t.Context(), s.ID, chat.SettingModel, "large"); err != nil {
		t.Fatal(err)
	}
	b.Forget(s.ID)
	b.say(s, "hello")
	// Back to the default: the configured one is set at once.
	if got, err := b.Set(t.Context(), s.ID, chat.SettingModel, ""); err != nil || got != chat.AppliedNow {
		t.Errorf("%q, %v", got, err)
	}
	// Where there is none, only a new process knows what it is.
	if got, err := b.Set(t.Context(), s.ID, chat.SettingMode, ""); err != nil || got != chat.AppliedReopen {
		t.Errorf("%q, %v", got, err)
	}
	b.say(s, "hello")
	opens := b.wantOpens(3)
	for i, want := range []chat.Settings{{Model: "small", Effort: "low"}, {Model: "large", Effort: "low"}, {Model: "small", Effort: "low"}} {
		if got := (chat.Settings{Model: opens[i].Model, Mode: opens[i].Mode, Effort: opens[i].Effort}); got != want {
			t.Errorf("opening %d stated %+v, want %+v", i, got, want)
		}
	}
}

func TestProcessThatDiesAtOnceIsReopenedLessAndLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{})
		s := b.session()
		var pauses []time.Duration
		for range 5 {
			begun := time.Now()
			b.acquire(s)
			pauses = append(pauses, time.Since(begun))
			b.agent.Worker(s.ID).Kill()
			b.Release(s.ID)
			synctest.Wait()
		}
		// The first death is nobody's fault: the next message does not wait.
		for i, want := range []time.Duration{0, 0, time.Second, 2 * time.Second, 4 * time.Second} {
			if pauses[i] != want {
				t.Errorf("opening %d came after %v, want %v", i, pauses[i], want)
			}
		}
		// Nothing is opened ahead meanwhile, and a stop ends the wait.
		b.Warm(t.Context(), s)
		synctest.Wait()
		if now, _ := b.agent.Live(); now != 0 {
			t.Error("opened ahead")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Acquire(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		// One that survives a turn is trusted again.
		b.say(s, "hello")
		b.Forget(s.ID)
		for range 2 {
			begun := time.Now()
			b.acquire(s)
			if d := time.Since(begun); d != 0 {
				t.Errorf("waited %v", d)
			}
			b.agent.Worker(s.ID).Kill()
			b.Release(s.ID)
			synctest.Wait()
		}
		if _, live := b.Live(s.ID); live {
			t.Error("it lives")
		}
	})
}
