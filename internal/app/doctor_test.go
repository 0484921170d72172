package app

import (
	"log/slog"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/config"
	"cligate/internal/store"
	"cligate/internal/worker"
	"cligate/internal/worker/fake"
)

func TestDoctorAsksNoAgentThatActsWithoutAsking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		can        []worker.Ability
		unattended bool
		mode       string
		asked      bool
	}{
		"it asks":                                {[]worker.Ability{worker.Approvals}, false, "", true},
		"it never asks":                          {[]worker.Ability{worker.Steer}, false, "", false},
		"it never asks, which is allowed":        {[]worker.Ability{worker.Steer}, true, "", true},
		"it is set not to ask":                   {[]worker.Ability{worker.Approvals}, false, "yolo", false},
		"it is set not to ask, which is allowed": {[]worker.Ability{worker.Approvals}, true, "yolo", true},
		"it is set to a mode in which it asks":   {[]worker.Ability{worker.Approvals}, false, "plan", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fake.New().Declare(c.can...)
			e := agentEntry{name: "fake", title: "Fake", driver: d, config: config.Agent{Unattended: c.unattended, Mode: c.mode}}
			checks := answers(t.Context(), []agentEntry{e})
			if len(checks) != 1 || !checks[0].OK || strings.HasPrefix(checks[0].Detail, "not asked") == c.asked {
				t.Errorf("the doctor says %+v", checks)
			}
			if asked := len(d.Prompts()) > 0; asked != c.asked {
				t.Errorf("asked: %v", d.Prompts())
			}
			if now, _ := d.Live(); now != 0 {
				t.Errorf("%d processes live", now)
			}
		})
	}
}

func TestDoctorKnowsWhatAGroupListensToThatChoseNothing(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, id := range []string{"chose", "chose nothing"} {
		if _, _, err := db.Places().Ensure(t.Context(), chat.Place{Platform: "telegram", Account: "bot", Chat: id}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Places().SetRoom(t.Context(), "bot", "chose", chat.Room{Listen: chat.ListenMention}, "test"); err != nil {
		t.Fatal(err)
	}
	for listen, all := range map[chat.Listen]bool{chat.ListenAll: true, chat.ListenMention: false} {
		a := &App{db: db, log: slog.New(slog.DiscardHandler), cfg: config.Config{Groups: config.Groups{Listen: string(listen)}}}
		q := a.known(t.Context(), "bot")
		if len(q.Groups) != 2 {
			t.Fatalf("groups %+v", q.Groups)
		}
		for _, g := range q.Groups {
			if want := all && g.Chat != "chose"; g.All != want {
				t.Errorf("the default is %s: of %q it is said that it listens to all: %v", listen, g.Chat, g.All)
			}
		}
	}
}
