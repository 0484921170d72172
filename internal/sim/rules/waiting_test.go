package rules

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cligate/internal/sim/rig"
	"cligate/internal/web/client"
)

// The daemon dies when the words are stored and nobody has offered them to the
// agent.
func TestWordsMeantInPlaceOfATurnOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{NoTelegram: true})
	r.Start("CLIGATE_FAULT=turn-merged:4")
	u := user{r.WebChat("room"), t, r}
	u.remember("plum")
	u.Say("hang")
	u.runs()
	u.Say("say later")
	r.Until("it waits", func() bool { return r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 1 })
	u.Say("/instead what was the word?")
	r.Until("the point is reached", func() bool { return !r.Alive() })
	if !r.Killed() {
		t.Fatalf("not by the fault\n%s", r.Tail())
	}
	r.Start()
	u.Await("the word was plum", "later")
	r.Rest()
	all := u.Text()
	told := strings.Index(all, start("turn.replaced", ""))
	answer, last := strings.Index(all, "the word was plum"), strings.LastIndex(all, "later")
	if told < 0 || answer < told || last < answer {
		t.Errorf("shown\n%s", all)
	}
	if _, b, ok := u.Find("cont:"); ok {
		t.Errorf("what was replaced is offered: %+v", b)
	}
}

// Whether the turn begins in this life of the daemon or in the next one.
func TestNoticeOfAMessageThatWaitsNoMoreOffersNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    rig.Options
		kill bool
	}{
		"web":                        {rig.Options{NoTelegram: true}, false},
		"telegram":                   {rig.Options{}, false},
		"web, after a restart":       {rig.Options{NoTelegram: true}, true},
		"telegram, after a restart ": {rig.Options{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.o.Env = []string{"CLIGATE_QUEUE_NOTICE=text"}
			u := house(t, c.o)
			u.remember("plum")
			known := u.known()
			u.Say("hang")
			u.runs()
			u.Say("say later")
			notice := u.news(known, strings.Split(text("router.queued"), "{")[0])
			if !has(notice, "rm:") {
				t.Fatalf("the notice offers %+v", notice.Buttons)
			}
			if c.kill {
				u.r.Kill()
				u.r.Start()
			} else {
				u.Press("stop:")
				u.Press("run:")
			}
			u.news(known, "later")
			u.r.Until("the notice offers nothing", func() bool {
				for _, m := range u.Shown() {
					if m.ID == notice.ID {
						return len(m.Buttons) == 0 && m.Text == text("router.queued_over")
					}
				}
				return false
			})
			if _, b, ok := u.Find("rm:"); ok {
				t.Errorf("still offered: %+v", b)
			}
		})
	}
}

// What nobody carries out is no "one moment": the service shows the refusal
// itself, and the chat is not told once more.
func TestPressThatComesTooLateIsAnsweredByItsRefusal(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Env: []string{"CLIGATE_QUEUE_NOTICE=text"}})
	known := u.known()
	u.Say("hang")
	u.runs()
	u.Say("say later")
	notice := u.news(known, strings.Split(text("router.queued"), "{")[0])
	id, err := strconv.ParseInt(notice.ID, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	u.ask("/stop", text("error.stopped"))
	u.Press("run:")
	u.news(known, "later")
	u.r.Rest()
	before := len(u.Shown())
	for data, want := range map[string]string{
		"stop:1": text("command.stop_over"), "rm:2": text("command.cancel_late", "n", 2), "now:2": text("command.cancel_late", "n", 2),
		"run:1": text("command.queue_none_held"), "aged:run:1": text("router.aged_none"), "rm:77": text("receive.click_gone"),
	} {
		query := u.r.Telegram.Click(rig.Token, rig.Owner, id, rig.Owner, data)
		u.r.Until("the press is answered", func() bool {
			_, _, answered := u.r.Telegram.Toast(rig.Token, query)
			return answered
		})
		if toast, alert, _ := u.r.Telegram.Toast(rig.Token, query); toast != want || !alert {
			t.Errorf("%s shows %q (alert: %t), want %q", data, toast, alert, want)
		}
	}
	u.r.Rest()
	if now := u.Shown(); len(now) != before {
		t.Errorf("the chat is told, too:\n%s", u.Text())
	}
}

// A terminal shows no buttons: it names what to type.
func TestATerminalNamesWhatToTypeAboutAnInterruptedTurn(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	u.Say("hang")
	u.runs()
	u.r.Kill()
	u.r.Start()
	u.Await(start("error.daemon_died", ""))
	out := &screen{}
	in, keys := io.Pipe()
	ctx, leave := context.WithCancel(t.Context())
	c, err := client.Dial(ctx, u.r.Socket(), "en")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- c.Chat(ctx, in, out, client.Options{Chat: "room", TTY: true, Width: 80}) }() // ends with leave
	defer func() {
		leave()
		_ = keys.Close()
		<-over
		c.Close()
	}()
	n := 2 // the turn that was interrupted
	for _, want := range []string{fmt.Sprintf("/continue %d (", n), fmt.Sprintf("/retry %d (", n), fmt.Sprintf("/drop %d (", n)} {
		u.r.Until("the terminal shows "+want, func() bool { return strings.Contains(out.text(), want) })
	}
	u.r.Until("the terminal is ready", func() bool { return strings.Contains(out.text(), "> ") })
	if _, err := io.WriteString(keys, fmt.Sprintf("/drop %d\n", n)); err != nil {
		t.Fatal(err)
	}
	u.r.Until("the terminal shows what became of it", func() bool { return strings.Contains(out.text(), text("command.dropped")) })
	u.recall("plum")
}

// screen is what a terminal has shown.
type screen struct {
	mu  sync.Mutex
	all strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}
