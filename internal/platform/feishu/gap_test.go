package feishu

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	sim "cligate/internal/sim/feishu"
)

// shelf is an inbox with a cursor.
type shelf struct {
	mu     sync.Mutex
	texts  []string
	cursor string
}

func (b *shelf) Receive(_ context.Context, x platform.Batch) ([]chat.Ack, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range x.Messages {
		if m.Kind != chat.KindText {
			continue
		}
		b.texts = append(b.texts, fmt.Sprintf("%s %s %v %v", m.Sender.ID, m.Text, m.Sender.Bot, m.Place.Direct))
	}
	if x.Cursor != "" {
		b.cursor = x.Cursor
	}
	return make([]chat.Ack, len(x.Messages)), nil
}

func (b *shelf) Cursor(context.Context, string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cursor, nil
}

func (b *shelf) got() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.texts)
}

// lives runs an adapter until end is called.
func lives(t *testing.T, s *sim.Server, b *shelf, change func(*Config)) (end func()) {
	t.Helper()
	a := adapter(t, s, change)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = a.Run(ctx, b) })
	if !s.Wait(patience, func() bool { return s.Connections(appID) == 1 }) {
		t.Fatal("no connection")
	}
	return func() { cancel(); wg.Wait() }
}

// What was said while nobody listened for hours is pushed no more.
func TestWhatWasSaidDuringALongSilenceIsReadFromTheHistory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		away  time.Duration
		scope bool
		want  []string
		told  bool
	}{
		"a long one":        {9 * time.Hour, true, []string{"ou_anna deploy it false false", "ou_anna direct words false true", "ou_ben among us false false", "ou_x from elsewhere true false"}, false},
		"without the scope": {9 * time.Hour, false, []string{"ou_anna direct words false true"}, true},
		"a short one":       {time.Minute, true, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := office(t)
			if !c.scope {
				s.Withdraw(appID, "im:message.group_msg")
			}
			last := time.Now().Add(-c.away)
			say := func(say sim.Say) string {
				say.App, say.At = appID, last
				id, _ := s.Say(say)
				return id
			}
			b := &shelf{}
			end := lives(t, s, b, nil)
			say(sim.Say{Chat: direct, From: anna, Text: "before"})
			say(sim.Say{Chat: team, From: anna, Text: "@Rig before"})
			if !s.Wait(patience, func() bool { return len(b.got()) == 2 }) {
				t.Fatalf("got %q", b.got())
			}
			end()
			last = last.Add(30 * time.Second)
			say(sim.Say{Chat: team, From: anna, Text: "@Rig deploy it", Quiet: true})
			say(sim.Say{Chat: team, From: ben, Text: "among us", Quiet: true})
			say(sim.Say{Chat: team, From: "ou_x", Text: "from elsewhere", Tenant: "another", Quiet: true})
			gone := say(sim.Say{Chat: team, From: anna, Text: "@Rig never mind", Quiet: true})
			s.Recall(appID, gone)
			say(sim.Say{Chat: direct, From: anna, Text: "direct words", Quiet: true})
			var mu sync.Mutex
			var told []string
			end = lives(t, s, b, func(cfg *Config) {
				cfg.Alarm = func(d string, _ bool) { mu.Lock(); defer mu.Unlock(); told = append(told, d) }
			})
			defer end()
			news := func() (out []string) {
				for _, x := range b.got()[2:] {
					if !strings.Contains(x, "before") {
						out = append(out, x)
					}
				}
				slices.Sort(out)
				return out
			}
			if !s.Wait(patience, func() bool { return len(news()) >= len(c.want) }) {
				t.Fatalf("read %q", news())
			}
			if c.told && !s.Wait(patience, func() bool {
				mu.Lock()
				defer mu.Unlock()
				return slices.ContainsFunc(told, func(d string) bool { return strings.Contains(d, "im:message.group_msg") })
			}) {
				t.Errorf("told %q", told)
			}
			if len(c.want) == 0 {
				s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "now"}) // what comes now comes behind it
				s.Wait(patience, func() bool { return len(news()) > 0 })
				c.want = []string{"ou_anna now false true"}
			}
			if got := news(); !slices.Equal(got, c.want) {
				t.Errorf("read %q", got)
			}
		})
	}
}

// Of more than is read, the end may have been for the bot.
func TestAHistoryThatIsTooLongIsToldOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n    int
		told bool
	}{"all of it is read": {400, false}, "more than is read": {50*gapPages + 1, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := office(t)
			b, long := &shelf{}, time.Now().Add(-9*time.Hour)
			end := lives(t, s, b, nil)
			s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "before", At: long})
			if !s.Wait(patience, func() bool { return len(b.got()) == 1 }) {
				t.Fatalf("got %q", b.got())
			}
			end()
			for i := range c.n {
				s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: fmt.Sprint("word ", i), At: long.Add(time.Duration(i+1) * time.Second), Quiet: true})
			}
			told := make(chan string, 16)
			end = lives(t, s, b, func(cfg *Config) { cfg.Alarm = func(d string, _ bool) { told <- d } })
			defer end()
			read := min(c.n, 50*gapPages-1) // the first of them is known
			if !s.Wait(4*patience, func() bool { return len(b.got()) >= 1+read }) {
				t.Fatalf("%d messages were read, want %d", len(b.got())-1, read)
			}
			if c.told {
				select {
				case d := <-told:
					if !strings.Contains(d, "may be missing") {
						t.Errorf("told %q", d)
					}
				case <-time.After(patience):
					t.Error("nobody is told")
				}
			}
		})
	}
}

func TestMarksAreBounded(t *testing.T) {
	t.Parallel()
	g := &gap{now: time.Now}
	var cursor string
	for i := range 3 * markMost {
		cursor = g.mark(taken{tenant: "t", msg: chat.Message{Kind: chat.KindText, Addressed: true, SentAt: time.Now().Add(time.Duration(i-3*markMost) * time.Hour), Place: chat.Place{Chat: fmt.Sprint("oc_", i)}}})
	}
	again := &gap{now: time.Now}
	again.begin(cursor)
	if n := len(again.marks.Chats); n != markMost || again.marks.Chats[fmt.Sprint("oc_", 3*markMost-1)].At == 0 || again.marks.Tenant != "t" {
		t.Errorf("%d chats in %s", n, cursor)
	}
	for _, odd := range []string{"", "17", "[]", "nonsense"} {
		again.begin(odd)
		again.mark(taken{msg: chat.Message{Kind: chat.KindText, Addressed: true, Place: chat.Place{Chat: "oc"}}})
	}
}
