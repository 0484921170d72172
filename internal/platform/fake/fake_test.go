package fake_test

import (
	"context"
	"fmt"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/fake"
	"cligate/internal/platform/platformtest"
)

var direct = chat.Place{ID: 1, Platform: "fake", Account: "acc", Chat: "1", Direct: true}

func TestTheFakeKeepsTheRulesOfAdapters(t *testing.T) {
	t.Parallel()
	for name, traits := range map[string]platform.Traits{
		"able":  {Edits: true, Buttons: true, Settles: true},
		"plain": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			platformtest.Run(t, func(t *testing.T) platformtest.House { return house(t, traits) })
		})
	}
}

func house(t *testing.T, traits platform.Traits) platformtest.House {
	t.Helper()
	s := fake.New(t, traits)
	return platformtest.House{
		Adapter: s, Place: direct,
		Texts: func() []string { return s.Texts("1") },
		Say: func(ctx context.Context, text string) error {
			m := chat.Message{
				Key: "key of " + text, Kind: chat.KindText, Text: text, Place: direct,
				Sender: chat.Person{ID: "p"}, Ref: chat.Ref{ID: "7"},
			}
			for {
				if _, err := s.Say(ctx, "acc", m); err == nil || ctx.Err() != nil {
					return err
				}
			}
		},
	}
}

// complaints counts what the service objects to.
type complaints struct{ said []string }

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

func TestTheFakeComplainsAboutMisuse(t *testing.T) {
	t.Parallel()
	c := &complaints{}
	s := fake.New(c, platform.Traits{PerChat: platform.Rate{Every: 1 << 40, Burst: 2}})
	post := func(text string) {
		if _, err := s.Send(context.Background(), chat.Out{Place: direct, Op: chat.OpPost, Part: chat.Part{Text: text}}); err != nil {
			t.Fatal(err)
		}
	}
	post("a")
	post("b")
	if len(c.said) != 0 {
		t.Fatalf("complained too early: %q", c.said)
	}
	post("over the budget")
	post(" ")
	if len(c.said) != 3 { // the budget twice, and the empty text
		t.Errorf("complaints: %q", c.said)
	}
}
