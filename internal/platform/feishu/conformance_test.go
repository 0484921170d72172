package feishu

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/platformtest"
	sim "cligate/internal/sim/feishu"
)

func adapter(t *testing.T, s *sim.Server, change func(*Config)) *Adapter {
	t.Helper()
	cfg := Config{Account: "feishu", AppID: appID, AppSecret: secret, BaseURL: s.URL, Lang: "en", PingEvery: time.Second}
	if change != nil {
		change(&cfg)
	}
	a, err := Open(cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func texts(s *sim.Server, place string) (out []string) {
	for _, m := range s.Shown(place) {
		if m.FromBot && !m.Recalled {
			out = append(out, m.Text)
		}
	}
	return out
}

func TestTheAdapterConforms(t *testing.T) {
	t.Parallel()
	platformtest.Run(t, func(t *testing.T) platformtest.House {
		t.Helper()
		s := service(t)
		s.Ladder(10*time.Second, 20*time.Millisecond, 20*time.Millisecond, 20*time.Millisecond, 20*time.Millisecond)
		return platformtest.House{
			Adapter: adapter(t, s, nil),
			Place:   chat.Place{Platform: Name, Account: "feishu", Chat: direct, Direct: true},
			Texts:   func() []string { return texts(s, direct) },
			Say: func(ctx context.Context, text string) error {
				end, _ := ctx.Deadline()
				if !s.Wait(time.Until(end), func() bool { return s.Connections(appID) > 0 }) {
					return errors.New("no connection")
				}
				_, id := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: text})
				if !s.Wait(time.Until(end), func() bool { return delivery(s, id).Acked }) {
					return errors.New("the event is not acknowledged")
				}
				return nil
			},
		}
	})
}

// What a bucket holds and what it gets within a second may be sent in that
// second; one more may arrive in it that was sent before.
func TestNoSecondLetsMoreMessagesThroughThanTheServiceTakes(t *testing.T) {
	t.Parallel()
	const most = 5
	tr := adapter(t, service(t), nil).Traits()
	for name, r := range map[string]platform.Rate{"direct": tr.PerChat, "group": tr.PerGroup} {
		if n := r.Burst + int(time.Second/r.Every) + 1; n > most {
			t.Errorf("%s chats: %d in a second, the service takes %d", name, n, most)
		}
	}
}
