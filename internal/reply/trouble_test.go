package reply_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform/fake"
	"cligate/internal/reply"
)

// flaky is a ledger on a disk that is full every now and then.
type flaky struct {
	reply.Ledger
	mu  sync.Mutex
	rnd *rand.Rand
}

var errDisk = errors.New("disk full")

func (f *flaky) fails() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rnd.IntN(3) == 0
}

// NextOut implements reply.Outbox.
func (f *flaky) NextOut(ctx context.Context, channel string) (chat.Out, error) {
	if f.fails() {
		return chat.Out{}, errDisk
	}
	return f.Ledger.NextOut(ctx, channel)
}

// Sending implements reply.Outbox.
func (f *flaky) Sending(ctx context.Context, id int64) (*chat.Unsure, error) {
	if f.fails() {
		return nil, errDisk
	}
	return f.Ledger.Sending(ctx, id)
}

// Sent implements reply.Outbox.
func (f *flaky) Sent(ctx context.Context, id int64, ref chat.Ref) error {
	if f.fails() {
		return errDisk
	}
	return f.Ledger.Sent(ctx, id, ref)
}

// Later implements reply.Trouble.
func (f *flaky) Later(ctx context.Context, id int64, at time.Time, sure bool, reason string) error {
	if f.fails() {
		return errDisk
	}
	return f.Ledger.Later(ctx, id, at, sure, reason)
}

// Replace implements reply.Trouble.
func (f *flaky) Replace(ctx context.Context, id int64, p chat.Part) error {
	if f.fails() {
		return errDisk
	}
	return f.Ledger.Replace(ctx, id, p)
}

// Channels implements reply.Outbox.
func (f *flaky) Channels(ctx context.Context) ([]string, error) {
	if f.fails() {
		return nil, errDisk
	}
	return f.Ledger.Channels(ctx)
}

func TestAFailingLedgerAndPlatformLoseAndDoubleNothing(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, traits, func(h *house) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				var mu sync.Mutex
				h.stop()
				h.cfg.SettleTries = 20 // so that chance never ends the looking
				h.ledger = &flaky{Ledger: h.db.Outbox(), rnd: rand.New(rand.NewPCG(seed, 2))}
				h.start()
				h.tg.Script(func(o chat.Out) fake.Outcome {
					mu.Lock()
					defer mu.Unlock()
					switch rnd.IntN(8) {
					case 0:
						return fake.Outcome{Err: coded(chat.Network)}
					case 1:
						return fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: 3 * time.Second}}
					case 2:
						return fake.Outcome{Err: coded(chat.Uncertain), Arrives: rnd.IntN(2) == 0}
					case 3:
						return fake.Outcome{Delay: time.Duration(rnd.IntN(3000)) * time.Millisecond}
					default:
						return fake.Outcome{}
					}
				})
				want := map[string][]string{}
				for i := range 60 {
					if i%20 == 19 {
						h.stop()
						time.Sleep(time.Second) // a new process takes its time
						h.start()
					}
					id := fmt.Sprint(i % 4)
					text := fmt.Sprintf("message %d", i)
					outs := h.voice.Compose(h.place(id, true), 0, fmt.Sprintf("k/%d", i), chat.OutNotice, chat.Reply{Markdown: text})
					h.enqueue(outs)
					want[id] = append(want[id], text)
					mu.Lock()
					pause := time.Duration(rnd.IntN(1500)) * time.Millisecond
					mu.Unlock()
					time.Sleep(pause)
				}
				sleep(time.Hour)
				for id, texts := range want {
					h.want(id, texts...)
				}
			})
		})
	}
}

func TestAWaitThatWasToldToADyingProcessIsNotOverrun(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		h.stop()
		h.ledger = forgetful{h.db.Outbox()}
		h.start()
		h.tg.Script(failing("", 1, fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: time.Second}}))
		h.say(p, "a", "first")
		synctest.Wait()
		told := time.Now()
		h.stop()
		h.ledger = nil
		h.start()
		sleep(time.Minute)
		h.want("1", "first")
		for _, c := range h.tg.Calls()[1:] {
			if c.At.Sub(told) < time.Second {
				t.Errorf("a call after %v", c.At.Sub(told))
			}
		}
	})
}

// forgetful is the ledger of a process that dies before it can write when to
// try again.
type forgetful struct{ reply.Ledger }

// Later implements reply.Trouble.
func (forgetful) Later(context.Context, int64, time.Time, bool, string) error { return errDisk }

func TestTheEndWaitsForACallUnderWayButNotForEver(t *testing.T) {
	for delay, most := range map[time.Duration]time.Duration{3 * time.Second: 4 * time.Second, time.Hour: 11 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			bubble(t, traits, func(h *house) {
				h.tg.Script(func(chat.Out) fake.Outcome { return fake.Outcome{Delay: delay} })
				p := h.place("1", true)
				h.say(p, "a", "first")
				l := h.voice.Begin(turnOf(p, 1), chat.Look{Lang: "en", Agent: "demo"})
				sleep(time.Second)
				began := time.Now()
				h.stop()
				if d := time.Since(began); d > most {
					t.Errorf("took %v", d)
				}
				if delay < time.Minute {
					h.want("1", "first")
				}
				l.End("over", chat.SignDone)
			})
		})
	}
}

func TestALiveMessageOutsideARunningVoiceOnlyCollects(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		h.stop()
		voice, err := reply.New(h.db.Outbox(), nil, reply.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []*reply.Voice{voice, h.voice} { // not begun, and over
			l := v.Begin(turnOf(p, 1), chat.Look{Lang: "en", Agent: "demo"})
			l.Event(chat.Event{Kind: chat.EventText, Text: "text"})
			sleep(time.Minute)
			l.End("line", chat.SignDone)
			l.End("line", chat.SignDone)
			l.Event(chat.Event{Kind: chat.EventText, Text: " and more"})
			if got := l.Text(); got != "text and more" {
				t.Errorf("%q", got)
			}
		}
	})
}

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := reply.New(nil, nil, reply.Config{Quiet: -1, SettleTries: -1}); err == nil {
		t.Error("accepted")
	}
}
