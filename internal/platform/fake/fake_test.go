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
	platformtest.Run(t, func(t *testing.T) platformtest.House {
		s := fake.New(t, platform.Traits{Edits: true, Buttons: true})
		return platformtest.House{Adapter: s, Place: direct, Texts: func() []string { return s.Texts("1") }}
	})
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
